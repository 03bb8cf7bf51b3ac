// What the library knows of a loss: five numbers of a sample's residual.
//
// The residual of sample i is D = t − σ(w·X + b) with X ~ N(x, Σ), which is N(d, s²) with d = t − σ(w·x + b) and
// s² = wᵀΣw. For a convex ℓ(D) ≥ 0 with inf ℓ = 0, L(d, s) = E ℓ(D), and the derivatives below are in d. They are all
// that value, gradient, Hessian, line search and certificate need, because ∂L/∂(s²) = ½L″ (the heat equation) and
// E ℓ*(ℓ′(D)) = dL′ + s²L″ − L (Stein's identity; ℓ* is the conjugate).
//
// A new loss is one file beside src/losses/hinge.cpp, one row of the table in src/losses/losses.cpp, and its tests.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

class Loss {
 public:
  virtual ~Loss() = default;
  virtual const char* name() const = 0;

  // What make_loss made it with: ε, δ; NaN for a loss without a parameter.
  double parameter() const { return parameter_; }

  // Whether L″ stays bounded as s → 0: solvers then need no smoothing.
  virtual bool smooth() const = 0;

  // What the errors of a sample's L, L′ and L″ may hide of the gap is at most this times s: a part of the gap.
  virtual double gap_error() const { return 0; }

  // L, L′ and L″ of 0 ≤ count ≤ kMaxBatch samples, for a gradient; a caller provides `count` numbers in each array,
  // and s ≥ 0. Nothing is looked at: solvers call this for every batch. Where s = 0: the plain loss, a subgradient, and
  // 0 where L″ would be infinite.
  virtual void gradient(int count, const double* d, const double* s, double* L, double* L1, double* L2) const = 0;

  // L″, L‴ and L⁗, for a Hessian product. Where s = 0: 0 for what would be infinite.
  virtual void curvature(int count, const double* d, const double* s, double* L2, double* L3, double* L4) const = 0;

 private:
  friend std::shared_ptr<const Loss> make_loss(const std::string& name, double parameter);
  double parameter_ = std::numeric_limits<double>::quiet_NaN();
};

enum class Task { classification, regression };

struct LossInfo {
  std::string name;
  Task task;
  std::string parameter;  // its name, or empty
  double standard;        // the parameter's value where none is given; NaN without a parameter
};

// Every loss that make_loss knows, in the order of the documentation.
std::vector<LossInfo> known_losses();

// Refuses a loss of the other task: labels want one of classification, values one of regression. A loss that is not
// among the known ones is for any task.
void require_task(const Loss& loss, Task task);

// `parameter` is NaN for the loss's own default.
std::shared_ptr<const Loss> make_loss(const std::string& name,
                                      double parameter = std::numeric_limits<double>::quiet_NaN());

// A loss, or none; a name stands for make_loss(name).
class LossPointer : public std::shared_ptr<const Loss> {
 public:
  LossPointer() = default;
  LossPointer(std::shared_ptr<const Loss> loss) : std::shared_ptr<const Loss>(std::move(loss)) {}  // NOLINT
  LossPointer(const char* name) : std::shared_ptr<const Loss>(make_loss(name)) {}                  // NOLINT
  LossPointer(const std::string& name) : std::shared_ptr<const Loss>(make_loss(name)) {}           // NOLINT
};

// The loss of one Gaussian sample (paper, eq. 6) and its derivatives.
//
// With d = 1 − y(w·x + b), s = √(wᵀΣw), r = d/s:
//     L = d Φ(r) + s φ(r),    ∂L/∂d = Φ(r),    ∂L/∂s = φ(r),    ∂²L/∂d² = φ(r)/s = κ.
// The Hessian in (d, s) is κ (1, −r)(1, −r)ᵀ. At s = 0 the loss is the plain hinge max(0, d);
// there Φ is 1 for d > 0 and 0 otherwise, and κ is 0.
//
// In the lower tail d Φ and s φ cancel, so L is computed as max(0, d) + s φ(|r|) ψ(|r|), where
// ψ(x) = 1 − x Q(x)/φ(x), which keeps full relative accuracy down to the smallest numbers.
struct ExpectedHinge {
  double loss;   // L
  double cdf;    // Φ(r): the probability that the sample violates the margin
  double kappa;  // φ(r)/s
};
ExpectedHinge expected_hinge(double d, double s);

// P(sample is on its own side): Φ(y(w·x + b)/s), from the same kernel.
double probability_right(double signed_margin, double s);

}  // namespace svmgsu
