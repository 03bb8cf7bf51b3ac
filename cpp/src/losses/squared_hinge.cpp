// The squared hinge ℓ(D) = max(0, D)²: L = (d² + s²)Φ + dsφ, L′ = 2(dΦ + sφ), L″ = 2Φ, L‴ = 2φ/s, L⁗ = −2rφ/s².
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class SquaredHinge final : public Loss {
 public:
  const char* name() const override { return "squared_hinge"; }
  bool smooth() const override { return true; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    double kappa[kMaxBatch];
    kernels::hinge_tails(count, d, s, L, L1, L2, kappa);  // at −|d|
    for (int i = 0; i < count; ++i) {
      const bool above = d[i] > 0;
      L[i] = above ? d[i] * d[i] + (s[i] * s[i] - L[i]) : L[i];
      L1[i] = 2 * (above ? d[i] + L1[i] : L1[i]);
      L2[i] = 2 * (above ? 1 - L2[i] : L2[i]);
    }
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    kernels::expected_hinge(count, d, s, L4, L2, L3);
    for (int i = 0; i < count; ++i) {
      L2[i] *= 2;
      L3[i] *= 2;
      L4[i] = -L3[i] * d[i] * inverse_square(s[i]);
    }
  }
};

}  // namespace

std::shared_ptr<const Loss> make_squared_hinge(double) { return std::make_shared<SquaredHinge>(); }

}  // namespace svmgsu
