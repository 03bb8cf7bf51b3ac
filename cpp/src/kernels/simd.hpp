// Vectors of four and of sixteen doubles, by the vector extensions of gcc and clang. Loops over plain arrays are left
// to the compiler's vectoriser where it does well; dot products of several rows at once it turns into permutations.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/dispatch.hpp"

namespace svmgsu::kernels {

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

SVMGSU_INLINE void read(const double* p, Four& out) { std::memcpy(&out, p, sizeof out); }
SVMGSU_INLINE void write(const Four& four, double* p) { std::memcpy(p, &four, sizeof four); }

// For kernels that are templates over their number: a double, a vector of four, or four such vectors side by side,
// where the others go on while one waits for its last result.
SVMGSU_INLINE void read(const double* p, double& out) { out = *p; }
SVMGSU_INLINE void write(double x, double* p) { *p = x; }
SVMGSU_INLINE double if_less(double a, double b, double yes, double no) { return a < b ? yes : no; }
SVMGSU_INLINE std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
SVMGSU_INLINE double of_bits(std::uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

typedef std::uint64_t FourBits __attribute__((vector_size(32)));

SVMGSU_INLINE Four if_less(const Four& a, const Four& b, const Four& yes, const Four& no) { return a < b ? yes : no; }
SVMGSU_INLINE FourBits bits_of(const Four& x) { return reinterpret_cast<FourBits>(x); }
SVMGSU_INLINE Four of_bits(const FourBits& x) { return reinterpret_cast<Four>(x); }

template <class Vector>
struct Sixteen {
  Vector a, b, c, d;
};

#define SVMGSU_SIXTEEN(op)                                                                        \
  template <class Vector>                                                                         \
  SVMGSU_INLINE Sixteen<Vector> operator op(const Sixteen<Vector>& x, const Sixteen<Vector>& y) { \
    return {x.a op y.a, x.b op y.b, x.c op y.c, x.d op y.d};                                      \
  }                                                                                               \
  template <class Vector, class Scalar>                                                           \
  SVMGSU_INLINE Sixteen<Vector> operator op(const Sixteen<Vector>& x, Scalar y) {                 \
    return {x.a op y, x.b op y, x.c op y, x.d op y};                                              \
  }                                                                                               \
  template <class Vector, class Scalar>                                                           \
  SVMGSU_INLINE Sixteen<Vector> operator op(Scalar x, const Sixteen<Vector>& y) {                 \
    return {x op y.a, x op y.b, x op y.c, x op y.d};                                              \
  }
SVMGSU_SIXTEEN(+)
SVMGSU_SIXTEEN(-)
SVMGSU_SIXTEEN(*)
SVMGSU_SIXTEEN(/)
SVMGSU_SIXTEEN(&)
SVMGSU_SIXTEEN(<<)
SVMGSU_SIXTEEN(>>)
#undef SVMGSU_SIXTEEN

typedef Sixteen<Four> SixteenDoubles;

SVMGSU_INLINE SixteenDoubles if_less(const SixteenDoubles& x, const SixteenDoubles& y, const SixteenDoubles& yes,
                                     const SixteenDoubles& no) {
  return {if_less(x.a, y.a, yes.a, no.a), if_less(x.b, y.b, yes.b, no.b), if_less(x.c, y.c, yes.c, no.c),
          if_less(x.d, y.d, yes.d, no.d)};
}
SVMGSU_INLINE Sixteen<FourBits> bits_of(const SixteenDoubles& x) {
  return {bits_of(x.a), bits_of(x.b), bits_of(x.c), bits_of(x.d)};
}
SVMGSU_INLINE SixteenDoubles of_bits(const Sixteen<FourBits>& x) {
  return {of_bits(x.a), of_bits(x.b), of_bits(x.c), of_bits(x.d)};
}
SVMGSU_INLINE void read(const double* p, SixteenDoubles& out) {
  read(p, out.a);
  read(p + 4, out.b);
  read(p + 8, out.c);
  read(p + 12, out.d);
}
SVMGSU_INLINE void write(const SixteenDoubles& x, double* p) {
  write(x.a, p);
  write(x.b, p + 4);
  write(x.c, p + 8);
  write(x.d, p + 12);
}

}  // namespace svmgsu::kernels
