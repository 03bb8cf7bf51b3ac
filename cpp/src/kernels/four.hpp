// Four doubles that are added and multiplied together. Loops over plain arrays are left to the compiler's
// vectoriser where it does well; dot products of several rows at once it turns into permutations.
#pragma once

#include <cstring>

#include "kernels/dispatch.hpp"

namespace svmgsu::kernels {

#if defined(__GNUC__)

typedef double Four __attribute__((vector_size(32)));

// Spelt out, for gcc makes one instruction of this, and four of __builtin_convertvector.
SVMGSU_INLINE void read(const float* p, Four& out) {
  out =
      Four{static_cast<double>(p[0]), static_cast<double>(p[1]), static_cast<double>(p[2]), static_cast<double>(p[3])};
}

#if defined(__clang__)
#define SVMGSU_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef long long FourPlaces __attribute__((vector_size(32)));
#define SVMGSU_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (FourPlaces{i, j, k, l}))
#endif

// The sums (a₀ + a₂) + (a₁ + a₃) of four vectors at once.
SVMGSU_INLINE Four sums_of(const Four& a, const Four& b, const Four& c, const Four& d) {
  const Four ab_even = SVMGSU_SHUFFLE(a, b, 0, 4, 2, 6), ab_odd = SVMGSU_SHUFFLE(a, b, 1, 5, 3, 7);
  const Four cd_even = SVMGSU_SHUFFLE(c, d, 0, 4, 2, 6), cd_odd = SVMGSU_SHUFFLE(c, d, 1, 5, 3, 7);
  const Four even = SVMGSU_SHUFFLE(ab_even, cd_even, 0, 1, 4, 5) + SVMGSU_SHUFFLE(ab_even, cd_even, 2, 3, 6, 7);
  const Four odd = SVMGSU_SHUFFLE(ab_odd, cd_odd, 0, 1, 4, 5) + SVMGSU_SHUFFLE(ab_odd, cd_odd, 2, 3, 6, 7);
  return even + odd;
}
#undef SVMGSU_SHUFFLE

SVMGSU_INLINE Four four_times(double x) { return Four{x, x, x, x}; }
SVMGSU_INLINE double sum_of(const Four& a) { return (a[0] + a[2]) + (a[1] + a[3]); }

#else

struct Four {
  double at[4] = {};
};

inline Four operator*(const Four& a, const Four& b) {
  Four out;
  for (int k = 0; k < 4; ++k) out.at[k] = a.at[k] * b.at[k];
  return out;
}

inline void operator+=(Four& a, const Four& b) {
  for (int k = 0; k < 4; ++k) a.at[k] += b.at[k];
}

inline Four operator+(Four a, const Four& b) {
  a += b;
  return a;
}

inline Four four_times(double x) { return {{x, x, x, x}}; }
inline double sum_of(const Four& a) { return (a.at[0] + a.at[2]) + (a.at[1] + a.at[3]); }

inline Four sums_of(const Four& a, const Four& b, const Four& c, const Four& d) {
  return {{sum_of(a), sum_of(b), sum_of(c), sum_of(d)}};
}

inline void read(const float* p, Four& out) {
  for (int k = 0; k < 4; ++k) out.at[k] = static_cast<double>(p[k]);
}

#endif

SVMGSU_INLINE void read(const double* p, Four& out) { std::memcpy(&out, p, sizeof out); }
SVMGSU_INLINE void write(const Four& four, double* p) { std::memcpy(p, &four, sizeof four); }

}  // namespace svmgsu::kernels
