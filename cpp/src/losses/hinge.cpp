// The hinge ℓ(D) = max(0, D) (paper, eq. 6): L = dΦ + sφ, L′ = Φ, L″ = φ/s = κ, L‴ = −(r/s)κ, L⁗ = ((r² − 1)/s²)κ
// with r = d/s.
#include <cmath>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class Hinge final : public Loss {
 public:
  const char* name() const override { return "hinge"; }
  bool smooth() const override { return false; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    kernels::expected_hinge(count, d, s, L, L1, L2);
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    kernels::expected_hinge(count, d, s, L3, L4, L2);
    for (int i = 0; i < count; ++i) {
      const double inverse = L2[i] > 0 ? inverse_square(s[i]) : 0.0, ratio = d[i] * inverse;  // 1/s² and r/s
      L3[i] = -L2[i] * ratio;
      L4[i] = L2[i] * (ratio * ratio - inverse);
    }
  }
};

}  // namespace

std::shared_ptr<const Loss> make_hinge(double) { return std::make_shared<Hinge>(); }

ExpectedHinge expected_hinge(double d, double s) {
  if (std::isnan(d)) require(false, "d: must be a number, got NaN");
  if (!(s >= 0)) require(false, "s: must be >= 0, got " + to_text(s));
  ExpectedHinge result;
  kernels::expected_hinge(1, &d, &s, &result.loss, &result.cdf, &result.kappa);
  return result;
}

double probability_right(double signed_margin, double s) {
  if (std::isnan(signed_margin)) require(false, "signed_margin: must be a number, got NaN");
  if (s == 0) return signed_margin > 0 ? 1.0 : (signed_margin < 0 ? 0.0 : 0.5);
  return expected_hinge(signed_margin, s).cdf;
}

}  // namespace svmgsu
