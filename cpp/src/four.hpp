// Four doubles that are added and multiplied together. Loops over plain arrays are left to the compiler's
// vectoriser where it does well; dot products of several rows at once it turns into permutations.
#pragma once

#include <cstring>

#include "dispatch.hpp"

namespace svmgsu::kernels {

#if defined(__GNUC__)

typedef double Four __attribute__((vector_size(32)));

SVMGSU_INLINE void read(const float* p, Four& out) {
  typedef float FourFloats __attribute__((vector_size(16)));
  FourFloats f;
  std::memcpy(&f, p, sizeof f);
  out = __builtin_convertvector(f, Four);
}

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

inline void read(const float* p, Four& out) {
  for (int k = 0; k < 4; ++k) out.at[k] = static_cast<double>(p[k]);
}

#endif

SVMGSU_INLINE void read(const double* p, Four& out) { std::memcpy(&out, p, sizeof out); }
SVMGSU_INLINE void write(const Four& four, double* p) { std::memcpy(p, &four, sizeof four); }

}  // namespace svmgsu::kernels
