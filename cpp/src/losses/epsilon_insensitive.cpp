// The ε-insensitive loss ℓ(D) = max(0, |D| − ε): two hinges, H(d − ε) + H(−d − ε); odd derivatives of the second with
// a minus.
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class EpsilonInsensitive final : public Loss {
 public:
  explicit EpsilonInsensitive(double epsilon) : epsilon_(epsilon), half_(make_hinge(0)) {}
  const char* name() const override { return "epsilon_insensitive"; }
  bool smooth() const override { return false; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    two_sided_gradient(*half_, epsilon_, count, d, s, L, L1, L2);
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    double above[kMaxBatch] = {}, below[kMaxBatch] = {}, kappa[kMaxBatch];
    for (int i = 0; i < count; ++i) {
      above[i] = d[i] - epsilon_;
      below[i] = -d[i] - epsilon_;
    }
    kernels::expected_hinge(count, below, s, L3, L4, kappa);
    kernels::expected_hinge(count, above, s, L3, L4, L2);
    for (int i = 0; i < count; ++i) {
      const double inverse = inverse_square(s[i]);
      const double slope = L2[i] * above[i] * inverse, other = kappa[i] * below[i] * inverse;
      L3[i] = other - slope;
      L4[i] = ((slope * above[i] - L2[i]) + (other * below[i] - kappa[i])) * inverse;
      L2[i] += kappa[i];
    }
  }

 private:
  double epsilon_;
  std::shared_ptr<const Loss> half_;
};

}  // namespace

std::shared_ptr<const Loss> make_epsilon_insensitive(double epsilon) {
  return std::make_shared<EpsilonInsensitive>(at_least_zero("epsilon", epsilon));
}

}  // namespace svmgsu
