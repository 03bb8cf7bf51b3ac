// Eight doubles that are added and multiplied together, one for each lane.
#pragma once

#include <cstring>

#include "kernels/simd.hpp"
#include "population/reader.hpp"

namespace svmgsu::lanes {

using Half = kernels::Four;

struct Eight {
  Half low, high;
};

SVMGSU_INLINE Eight read(const double* p) {
  Eight out;
  std::memcpy(&out.low, p, sizeof out.low);
  std::memcpy(&out.high, p + 4, sizeof out.high);
  return out;
}
SVMGSU_INLINE void write(const Eight& x, double* p) {
  std::memcpy(p, &x.low, sizeof x.low);
  std::memcpy(p + 4, &x.high, sizeof x.high);
}
SVMGSU_INLINE Eight all(double x) { return {kernels::four_times(x), kernels::four_times(x)}; }
SVMGSU_INLINE Eight operator+(const Eight& x, const Eight& y) { return {x.low + y.low, x.high + y.high}; }
SVMGSU_INLINE Eight operator-(const Eight& x, const Eight& y) { return {x.low - y.low, x.high - y.high}; }
SVMGSU_INLINE Eight operator*(const Eight& x, const Eight& y) { return {x.low * y.low, x.high * y.high}; }
SVMGSU_INLINE Eight operator/(const Eight& x, const Eight& y) { return {x.low / y.low, x.high / y.high}; }
SVMGSU_INLINE Half root_of(const Half& x) {
  return Half{__builtin_sqrt(x[0]), __builtin_sqrt(x[1]), __builtin_sqrt(x[2]), __builtin_sqrt(x[3])};
}
SVMGSU_INLINE Eight square_root(const Eight& x) { return {root_of(x.low), root_of(x.high)}; }
SVMGSU_INLINE Eight larger(const Eight& x, const Eight& y) {
  return {x.low > y.low ? x.low : y.low, x.high > y.high ? x.high : y.high};
}

// sum ∓ Σ_p a_p b_p over `count` entries that stand `da` and `db` lanes apart; two sums that take turns, since an
// addition waits for the last one.
template <bool kSubtract>
SVMGSU_INLINE Eight folded(Eight sum, const double* a, Index da, const double* b, Index db, Index count) {
  Eight other = all(0.0);
  Index p = 0;
  for (; p + 2 <= count; p += 2) {
    const Eight first = read(a) * read(b), second = read(a + da) * read(b + db);
    sum = kSubtract ? sum - first : sum + first;
    other = other + second;
    a += 2 * da;
    b += 2 * db;
  }
  if (p < count) sum = kSubtract ? sum - read(a) * read(b) : sum + read(a) * read(b);
  return kSubtract ? sum - other : sum + other;
}

}  // namespace svmgsu::lanes
