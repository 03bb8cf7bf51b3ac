// Huber's loss: D²/2 up to |D| = δ, δ(|D| − δ/2) beyond. With a = |d| (L is even, L′ odd), squares and hinges expected:
//     L = ½(a² + s² − S(a − δ) − S(−a − δ)),   L′ = a − H(a − δ) + H(−a − δ),   L″ = 1 − Φ(a − δ) − Φ(−a − δ)
// for a ≤ δ, and the same with S(δ − a) beyond, where it does not cancel. Where the noise is far wider than δ these
// differences cancel too; there the loss is the integral of max(0, D − t) + max(0, −D − t) over t from 0 to δ, by four
// nodes of Gauss and Legendre, to 1e-14.
#include <cmath>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace svmgsu {
namespace {

constexpr int kNodes = 4;  // of Gauss and Legendre on [0, 1]
constexpr double kNode[kNodes] = {0.06943184420297371, 0.33000947820757187, 0.6699905217924281, 0.9305681557970263};
constexpr double kShare[kNodes] = {0.17392742256872692, 0.32607257743127307, 0.32607257743127307, 0.17392742256872692};

class Huber final : public Loss {
 public:
  explicit Huber(double delta) : delta_(delta) {}
  const char* name() const override { return "huber"; }
  bool smooth() const override { return true; }

  void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const override {
    double at[kMaxBatch] = {}, S2[kMaxBatch], H2[kMaxBatch], F2[kMaxBatch], kappa[kMaxBatch];
    for (int i = 0; i < count; ++i) at[i] = -std::abs(d[i]) - delta_;
    kernels::hinge_tails(count, at, s, S2, H2, F2, kappa);
    for (int i = 0; i < count; ++i) at[i] = std::abs(d[i]) - delta_;
    kernels::hinge_tails(count, at, s, L, L1, L2, kappa);  // at −|a − δ|
    for (int i = 0; i < count; ++i) {
      const double a = std::abs(d[i]);
      const bool inside = a <= delta_;
      L[i] = inside ? 0.5 * (a * a + (s[i] * s[i] - L[i] - S2[i])) : delta_ * (a - 0.5 * delta_) + 0.5 * (L[i] - S2[i]);
      L1[i] = std::copysign((inside ? a : delta_) - L1[i] + H2[i], d[i]);
      L2[i] = (inside ? 1 - L2[i] : L2[i]) - F2[i];
      if (narrow(d[i], s[i])) narrow_gradient(d[i], s[i], L[i], L1[i], L2[i]);
    }
  }

  void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const override {
    double at[kMaxBatch] = {}, unused[kMaxBatch], F2[kMaxBatch], kappa[kMaxBatch];
    for (int i = 0; i < count; ++i) at[i] = -std::abs(d[i]) - delta_;
    kernels::expected_hinge(count, at, s, unused, F2, kappa);
    for (int i = 0; i < count; ++i) at[i] = -std::abs(std::abs(d[i]) - delta_);
    kernels::expected_hinge(count, at, s, unused, L2, L3);
    for (int i = 0; i < count; ++i) {
      const double a = std::abs(d[i]), first = L3[i];
      L2[i] = (a <= delta_ ? 1 - L2[i] : L2[i]) - F2[i];
      L3[i] = std::copysign(1.0, d[i]) * (kappa[i] - first);
      L4[i] = ((a - delta_) * first - (a + delta_) * kappa[i]) * inverse_square(s[i]);
      if (narrow(d[i], s[i])) narrow_curvature(d[i], s[i], L2[i], L3[i], L4[i]);
    }
  }

 private:
  bool narrow(double d, double s) const { return s > 0 && delta_ * (1 + std::abs(d) / s) < 0.25 * s; }

  // The hinges at d − t and −d − t for the nodes t, and the share of each.
  struct Nodes {
    double at[2 * kNodes], s[2 * kNodes], loss[2 * kNodes], cdf[2 * kNodes], kappa[2 * kNodes];
  };
  Nodes nodes(double d, double s) const {
    Nodes out;
    for (int k = 0; k < kNodes; ++k) {
      out.at[k] = d - delta_ * kNode[k];
      out.at[kNodes + k] = -d - delta_ * kNode[k];
      out.s[k] = out.s[kNodes + k] = s;
    }
    kernels::expected_hinge(2 * kNodes, out.at, out.s, out.loss, out.cdf, out.kappa);
    return out;
  }

  void narrow_gradient(double d, double s, double& L, double& L1, double& L2) const {
    const Nodes n = nodes(d, s);
    L = L1 = L2 = 0;
    for (int k = 0; k < kNodes; ++k) {
      const double share = delta_ * kShare[k];
      L += share * (n.loss[k] + n.loss[kNodes + k]);
      L1 += share * (n.cdf[k] - n.cdf[kNodes + k]);
      L2 += share * (n.kappa[k] + n.kappa[kNodes + k]);
    }
  }

  void narrow_curvature(double d, double s, double& L2, double& L3, double& L4) const {
    const Nodes n = nodes(d, s);
    const double inverse = inverse_square(s);
    L2 = L3 = L4 = 0;
    for (int k = 0; k < 2 * kNodes; ++k) {
      const double weight = delta_ * kShare[k % kNodes] * n.kappa[k], side = k < kNodes ? 1 : -1;
      L2 += weight;
      L3 -= side * weight * n.at[k] * inverse;
      L4 += weight * (n.at[k] * n.at[k] * inverse - 1) * inverse;
    }
  }

  double delta_;
};

}  // namespace

std::shared_ptr<const Loss> make_huber(double delta) { return std::make_shared<Huber>(above_zero("delta", delta)); }

}  // namespace svmgsu
