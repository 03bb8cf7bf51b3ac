// The squared ε-insensitive loss ℓ(D) = max(0, |D| − ε)²: two squared hinges, S(d − ε) + S(−d − ε), odd derivatives of
// the second with a minus. L‴ = 2(κ₁ − κ₂) with the densities κ at d ∓ ε, whose ratio is e^(2dε/s²): so nothing cancels
// where the noise is far wider than ε.
#include <cmath>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class SquaredEpsilonInsensitive final : public Loss {
 public:
  explicit SquaredEpsilonInsensitive(double epsilon) : epsilon_(epsilon), half_(make_squared_hinge(0)) {}
  const char* name() const override { return "squared_epsilon_insensitive"; }
  bool smooth() const override { return true; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    two_sided_gradient(*half_, epsilon_, count, d, s, L, L1, L2);
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    double at[kMaxBatch] = {}, unused[kMaxBatch], kappa[kMaxBatch], second[kMaxBatch];
    for (int i = 0; i < count; ++i) at[i] = -std::abs(d[i]) - epsilon_;
    kernels::expected_hinge(count, at, s, unused, second, L4);
    for (int i = 0; i < count; ++i) at[i] = std::abs(d[i]) - epsilon_;
    kernels::expected_hinge(count, at, s, unused, L2, kappa);
    for (int i = 0; i < count; ++i) {
      const double inverse = inverse_square(s[i]);
      const double difference = -kappa[i] * std::expm1(-2 * std::abs(d[i]) * epsilon_ * inverse);
      L2[i] = 2 * (L2[i] + second[i]);
      L3[i] = std::copysign(2 * difference, d[i]);
      L4[i] = 2 * (2 * epsilon_ * L4[i] - at[i] * difference) * inverse;
    }
  }

 private:
  double epsilon_;
  std::shared_ptr<const Loss> half_;
};

}  // namespace

std::shared_ptr<const Loss> make_squared_epsilon_insensitive(double epsilon) {
  return std::make_shared<SquaredEpsilonInsensitive>(at_least_zero("epsilon", epsilon));
}

}  // namespace svmgsu
