// E max(0, D)² for D ~ N(d, s²), with its relative accuracy in the lower tail, where the closed form
// (d² + s²)Φ + dsφ cancels. With x = |d|/s and I_k(x) = E max(0, Z − x)^k / k!, the tail is 2s²I₂ = 2s (sI₁)(I₂/I₁):
// the expected hinge at −|d| times a smooth ratio (mills_table.hpp). Above, L(d) = d² + s² − L(−d).
#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"
#include "kernels/mills_table.hpp"

namespace svmgsu::kernels {
namespace {

template <int kCount>
SVMGSU_INLINE double polynomial(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
  for (int j = kCount - 2; j >= 0; --j) sum = sum * x + c[j];
  return sum;
}

SVMGSU_CLONES void second_moments(int count, const double* SVMGSU_RESTRICT d, const double* SVMGSU_RESTRICT s,
                                  const double* SVMGSU_RESTRICT hinge, double* SVMGSU_RESTRICT out) {
  for (int i = 0; i < count; ++i) {
    const double size = d[i] < 0 ? -d[i] : d[i], positive = s[i] < 1e-290 ? 1e-290 : s[i];
    const double far = size / positive, x = far < detail::kFarthest ? far : detail::kFarthest;
    const double ratio = polynomial(detail::kMomentNumerator, x) / polynomial(detail::kMomentDenominator, x);
    out[i] = (2 * s[i]) * (hinge[i] * ratio);
  }
}

}  // namespace

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
