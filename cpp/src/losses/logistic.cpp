// The logistic loss ℓ(D) = log(1 + e^(D − 1)): at D = 1 − yf it is log(1 + e^(−yf)). By quadrature, whose error is
// proven in docs/theory.md, "The logistic loss".
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

class Logistic final : public Loss {
 public:
  const char* name() const override { return "logistic"; }
  bool smooth() const override { return true; }
  double gap_error() const override { return kernels::kLogisticGapError; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    double x[kMaxBatch] = {};
    for (int i = 0; i < count; ++i) x[i] = d[i] - 1;
    kernels::expected_logistic(count, x, s, L, L1, L2);
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    double x[kMaxBatch] = {};
    for (int i = 0; i < count; ++i) x[i] = d[i] - 1;
    kernels::logistic_curvature(count, x, s, L2, L3, L4);
  }
};

}  // namespace

std::shared_ptr<const Loss> make_logistic(double) { return std::make_shared<Logistic>(); }

}  // namespace svmgsu
