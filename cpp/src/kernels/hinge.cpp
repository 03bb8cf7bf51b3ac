// The batched Φ/φ kernel behind the expected hinge: branch-free, four numbers to a vector, several vectors at once.
//
// Accuracy. φ(r) = exp(−r²/2) magnifies a relative error of r by r², so x = |r| = |d|/s is found as m + f, where m is
// a multiple of 1/32 and f = (|d| − m s)/s is free of cancellation: x² = m² + (m + x) f, of which m² is exact. Q/φ
// and its complement come from one quotient of polynomials (mills_table.hpp). Powers of two are applied last and in
// two steps: a result that is a normal number is right to a few ulp even where φ itself would underflow.
#include <cstdint>

#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"
#include "kernels/mills_table.hpp"
#include "kernels/simd.hpp"

namespace svmgsu::kernels {
namespace {

using detail::kDenominator;
using detail::kDensity;
using detail::kFarthest;  // beyond, φ(r)/s is zero for any s
using detail::kNumerator;

constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2High = 6.93147180369123816490e-01;  // few enough bits for k·ln2 to be exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kRound = 6755399441055744.0;     // 1.5·2⁵²: adding it rounds to an integer
constexpr double kRoundMost = kRound / 32;        // and this to a multiple of 1/32
constexpr std::uint64_t kMagnitude = ~0ull >> 1;  // all bits but the sign
constexpr std::uint64_t kUpper = ~0ull << 11;     // few enough bits for a product with m to be exact
constexpr std::uint64_t kBias = 1023;             // of the exponent of a double
constexpr double kSmallest = 1e-290;              // below, s is zero: 1/s would overflow
constexpr double kLargest = 1e306;                // above, d/s is taken for d/kLargest: products with s would overflow

// Of degree 10 or 11. Pairs, then fours: short chains; the constant last: one rounding of the sum.
template <class V, int kCount>
SVMGSU_INLINE V polynomial(const double (&c)[kCount], const V& x, const V& x2, const V& x4) {
  static_assert(kCount == 11 || kCount == 12, "the sum below");
  const V low = (c[1] + c[2] * x) + (c[3] + c[4] * x) * x2;
  const V middle = (c[5] + c[6] * x) + (c[7] + c[8] * x) * x2;
  V high = c[9] + c[10] * x;
  if constexpr (kCount == 12) high = high + c[11] * x2;
  return c[0] + (low + (middle + high * x4) * x4) * x;
}

template <class V>
SVMGSU_INLINE void hinge(const double* SVMGSU_RESTRICT d_at, const double* SVMGSU_RESTRICT s_at,
                         double* SVMGSU_RESTRICT loss, double* SVMGSU_RESTRICT cdf, double* SVMGSU_RESTRICT kappa) {
  V d, s;
  read(d_at, d);
  read(s_at, s);
  const V zero = {}, smallest = zero + kSmallest, largest = zero + kLargest;
  const V positive = if_less(s, smallest, smallest, s);
  const V safe = if_less(largest, positive, largest, positive);
  const V inverse = 1.0 / safe;
  const V magnitude = of_bits(bits_of(d) & kMagnitude), farthest = kFarthest * safe;
  const V size = if_less(farthest, magnitude, farthest, magnitude);
  const V m = (size * inverse + kRoundMost) - kRoundMost;
  const V s_high = of_bits(bits_of(safe) & kUpper), s_low = safe - s_high;
  const V f = ((size - m * s_high) - m * s_low) * inverse;
  const V x = m + f;

  const V x2 = x * x, x4 = x2 * x2;
  const V p = polynomial(kNumerator, x, x2, x4), q = polynomial(kDenominator, x, x2, x4);
  const V sum = x * q + p;  // Q/φ = q/sum, 1 − x Q/φ = p/sum

  // With x² = 2 k ln2 − t, φ(x) = exp(t/2)/√(2π) · 2^−k.
  const V high = m * m, low = (m + x) * f;
  const V shifted = (high + low) * (0.5 * kLog2E) + kRound;
  const V k = shifted - kRound;
  const V t = (k * (2 * kLn2High) - high) + (k * (2 * kLn2Low) - low);
  const V t2 = t * t, t4 = t2 * t2;
  const auto exponent = bits_of(shifted), half = exponent >> 1;  // k and k/2 in the last bits
  const V density = of_bits(bits_of(polynomial(kDensity, t, t2, t4)) - (half << 52));
  const V scale = of_bits((kBias - (exponent - half)) << 52);

  const V phi = if_less(s, smallest, zero, density);  // times scale
  const V share = phi / sum;
  const V tail = (share * q) * scale;
  write(if_less(d, zero, zero, d) + ((share * p) * s) * scale, loss);
  write(if_less(zero, d, 1.0 - tail, tail), cdf);
  write((phi * inverse) * scale, kappa);
}

SVMGSU_CLONES void hinge_all(int count, const double* d, const double* s, double* loss, double* cdf, double* kappa) {
  int i = 0;
#if defined(SVMGSU_CLONE_LEVELS) || defined(SVMGSU_CLONE_CPUS)  // elsewhere the compiler's own vectors do as well
  for (; i + 16 <= count; i += 16) hinge<SixteenDoubles>(d + i, s + i, loss + i, cdf + i, kappa + i);
  for (; i + 4 <= count; i += 4) hinge<Four>(d + i, s + i, loss + i, cdf + i, kappa + i);
#endif
  for (; i < count; ++i) hinge<double>(d + i, s + i, loss + i, cdf + i, kappa + i);
}

// E max(0, D)² for D ~ N(d, s²), with its relative accuracy in the lower tail, where the closed form
// (d² + s²)Φ + dsφ cancels. With x = |d|/s and I_k(x) = E max(0, Z − x)^k / k!, the tail is 2s²I₂ = 2s (sI₁)(I₂/I₁):
// the expected hinge at −|d| times a smooth ratio (mills_table.hpp). Above, L(d) = d² + s² − L(−d).
template <int kCount>
SVMGSU_INLINE double horner(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
  for (int j = kCount - 2; j >= 0; --j) sum = sum * x + c[j];
  return sum;
}

SVMGSU_CLONES void second_moments(int count, const double* SVMGSU_RESTRICT d, const double* SVMGSU_RESTRICT s,
                                  const double* SVMGSU_RESTRICT hinge, double* SVMGSU_RESTRICT out) {
  for (int i = 0; i < count; ++i) {
    const double size = d[i] < 0 ? -d[i] : d[i], positive = s[i] < 1e-290 ? 1e-290 : s[i];
    const double far = size / positive, x = far < kFarthest ? far : kFarthest;
    const double ratio = horner(detail::kMomentNumerator, x) / horner(detail::kMomentDenominator, x);
    out[i] = (2 * s[i]) * (hinge[i] * ratio);
  }
}

}  // namespace

void expected_hinge(int count, const double* d, const double* s, double* loss, double* cdf, double* kappa) {
  hinge_all(count, d, s, loss, cdf, kappa);
}

void hinge_tails(int count, const double* d, const double* s, double* square, double* hinge, double* cdf,
                 double* kappa) {
  double below[kMaxBatch] = {};
  for (int begin = 0; begin < count; begin += kMaxBatch) {
    const int size = count - begin < kMaxBatch ? count - begin : kMaxBatch;
    for (int i = 0; i < size; ++i) below[i] = d[begin + i] < 0 ? d[begin + i] : -d[begin + i];
    expected_hinge(size, below, s + begin, hinge + begin, cdf + begin, kappa + begin);
    second_moments(size, below, s + begin, hinge + begin, square + begin);
  }
}

}  // namespace svmgsu::kernels
