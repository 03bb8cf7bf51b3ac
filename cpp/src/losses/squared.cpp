// Half the squared residual ℓ(D) = D²/2: L = (d² + s²)/2, L′ = d, L″ = 1. The noise adds wᵀΣw/2, a ridge of its own.
#include <algorithm>

#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class Squared final : public Loss {
 public:
  const char* name() const override { return "squared"; }
  bool smooth() const override { return true; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    for (int i = 0; i < count; ++i) {
      L[i] = 0.5 * (d[i] * d[i] + s[i] * s[i]);
      L1[i] = d[i];
      L2[i] = 1;
    }
  }

  void curvature(int count, const double*, const double*, double* L2, double* L3, double* L4) const override {
    std::fill_n(L2, count, 1.0);
    std::fill_n(L3, count, 0.0);
    std::fill_n(L4, count, 0.0);
  }
};

}  // namespace

std::shared_ptr<const Loss> make_squared(double) { return std::make_shared<Squared>(); }

}  // namespace svmgsu
