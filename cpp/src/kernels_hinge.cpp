// The batched Φ/φ kernel behind the expected hinge: branch-free, so that the compiler vectorises it.
//
// Accuracy. φ(r) = exp(−r²/2) magnifies a relative error of r by r², so r = d/s is carried with its
// rounding error, and r² is split into a part that is exact and a small rest. Q/φ and its complement ψ
// are polynomials (mills_table.hpp). Powers of two are applied last and in two steps: a result that is
// a normal number is right to a few ulp even where φ itself would underflow.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "mills_table.hpp"
#include "svmgsu/kernels.hpp"

namespace svmgsu::kernels {
namespace {

using detail::kComplement;
using detail::kMills;
using detail::kMillsShift;

constexpr double kInverseSqrt2Pi = 0.39894228040143267794;
constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLn2High = 6.93147180369123816490e-01;  // few enough bits for k·ln2 to be exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kRound = 6755399441055744.0;  // 1.5·2⁵²: adding it rounds to an integer
constexpr double kSplitter = 134217729.0;      // 2²⁷ + 1 (Veltkamp)
constexpr double kSmallest = 1e-290;           // below, s is zero: 1/s would overflow
constexpr double kLargest = 1e290;             // above, r needs no correction, which would overflow
constexpr double kFarthest = 50;               // beyond, φ(r)/s is zero for any s

// Even and odd powers apart: two shorter chains instead of one long.
template <int Count>
SVMGSU_INLINE double polynomial(const double (&c)[Count], double t) {
  static_assert(Count % 2 == 0, "an even number of coefficients");
  const double t2 = t * t;
  double even = c[Count - 2], odd = c[Count - 1];
  for (int k = Count - 4; k >= 0; k -= 2) {
    even = even * t2 + c[k];
    odd = odd * t2 + c[k + 1];
  }
  return even + odd * t;
}

constexpr double kExp[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

SVMGSU_INLINE double power_of_two(std::int64_t exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
  double result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// d − r·s, exactly but for the last rounding (Dekker's product).
SVMGSU_INLINE double remainder_of(double d, double r, double s) {
  const double r_big = kSplitter * r, s_big = kSplitter * s;
  const double r_high = r_big - (r_big - r), s_high = s_big - (s_big - s);
  const double r_low = r - r_high, s_low = s - s_high;
  const double product = r * s;
  const double error = ((r_high * s_high - product) + r_high * s_low + r_low * s_high) + r_low * s_low;
  return (d - product) - error;
}

SVMGSU_INLINE void hinge_one(double d, double s, double& loss, double& cdf, double& kappa) {
  const bool certain = s < kSmallest;
  const double safe = certain ? 1.0 : s;
  const double inverse = 1.0 / safe;
  const double r = d / safe;
  const double x_raw = std::fabs(r);
  const double x = x_raw > kFarthest ? kFarthest : x_raw;
  const double rest = remainder_of(d, r, safe) * inverse;
  const double signed_rest = r < 0 ? -rest : rest;
  const double x_low = x_raw < kFarthest && s < kLargest ? signed_rest : 0.0;

  // x²/2 = m²/2 + low with m a multiple of 1/16, so that m²/2 is exact.
  const double m = ((16 * x + kRound) - kRound) * 0.0625;
  const double f = x - m;
  const double high = 0.5 * m * m;
  const double low = (m + 0.5 * f) * f + x * x_low;
  const double shifted = (high + low) * kLog2E + kRound;
  const double k = shifted - kRound;
  const double t = (k * kLn2High - high) + (k * kLn2Low - low);
  const double mantissa = polynomial(kExp, t) * kInverseSqrt2Pi;  // φ = mantissa · 2^−k
  std::uint64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const std::int64_t exponent = static_cast<std::int64_t>(bits & 0xFFFF);
  const std::int64_t half = exponent >> 1;
  const double scale1 = power_of_two(-half), scale2 = power_of_two(half - exponent);

  const double u = 1.0 / (x + kMillsShift);
  const double v = (x - kMillsShift) * u;
  const double mills = u * polynomial(kMills, v);                  // Q(x)/φ(x)
  const double complement = u * (u * polynomial(kComplement, v));  // 1 − x Q(x)/φ(x)

  const double tail_loss = (mantissa * complement * safe) * scale1 * scale2;
  const double tail_cdf = (mantissa * mills) * scale1 * scale2;
  const double hinge = d < 0 ? 0.0 : d;
  const double upper = 1.0 - tail_cdf;
  const double smooth_cdf = r < 0 ? tail_cdf : upper;
  const double step = d > 0 ? 1.0 : 0.0;
  loss = hinge + (certain ? 0.0 : tail_loss);
  cdf = certain ? step : smooth_cdf;
  kappa = certain ? 0.0 : (mantissa * inverse) * scale1 * scale2;
}

SVMGSU_CLONES void hinge_all(int count, const double* SVMGSU_RESTRICT d, const double* SVMGSU_RESTRICT s,
                             double* SVMGSU_RESTRICT loss, double* SVMGSU_RESTRICT cdf, double* SVMGSU_RESTRICT kappa) {
  for (int i = 0; i < count; ++i) hinge_one(d[i], s[i], loss[i], cdf[i], kappa[i]);
}

}  // namespace

void expected_hinge(int count, const double* d, const double* s, double* loss, double* cdf, double* kappa) {
  hinge_all(count, d, s, loss, cdf, kappa);
}

}  // namespace svmgsu::kernels
