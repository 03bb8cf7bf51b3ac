// The objective, for any loss (losses/loss.hpp; the paper's eq. 3 with the loss of eq. 6 is the hinge):
//
//     J(w, b) = λ/2 ‖w‖² + (1/ℓ) Σ c_i L(d_i, s_i),     b is not penalised.
//
// Solvers see this class alone. Every answer is a sum over the examples or a vector of n numbers, so that the examples
// may be anywhere: in memory (engines/memory.hpp) or elsewhere. What an engine remembers of a point stays its own.
//
// Smoothing by ε replaces s by √(s² + ε²) in value and derivatives; bounds are of the true objective for any ε.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "svmgsu/engines/dual.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

// What an engine keeps of a point that it has evaluated.
struct Kept {
  virtual ~Kept() = default;
};

// J at a point with all that a pass at that point has learnt.
struct Evaluation {
  Vector w;
  double b = 0;
  double epsilon = 0;
  double value = 0;            // J, smoothed by ε
  Certificate certificate;     // of the true J, from the losses' slopes at (w, b)
  DualPoint slopes;            // from which it came
  double dual = 0;             // that bound before the best multiple of the slopes is taken
  double smoothed_share = 0;   // what smoothing adds to the dual value: (ε²/ℓ) Σ c L″
  Vector gradient;             // ∂J/∂w
  double gradient_b = 0;       // ∂J/∂b
  double curvature_b = 0;      // ∂²J/∂b²
  std::shared_ptr<Kept> kept;  // who else holds it, as a Hessian may, keeps it as it is
};

// The Hessian at an evaluated point, ready for many products. With ξ = x·v_w + v_b, u = Σw and η = u·v_w:
//
//     Hv = λ(v_w; 0) + (1/ℓ) Σ c [ (L″ξ − σL‴η)(x; 1) + (−σL‴ξ + L⁗η)(u; 0) + L″(Σv_w; 0) ]
//
// Not for use by several threads at once.
class Hessian {
 public:
  virtual ~Hessian() = default;
  virtual void times(const Vector& v, double vb, Vector& out, double& out_b) = 0;
  // The derivative of the gradient by ε, for a solver that follows ε.
  virtual void smoothing_derivative(Vector& out, double& out_b) = 0;
  virtual Index active() const = 0;  // examples that take part

  // The step p that a solver builds up of its products' directions v: p += α v of the last product ...
  virtual void follow(double alpha) = 0;
  // ... and d/dt J(w + t p, b + t p_b) at t = 0 with another ε, without another pass; `there` is the point at t = 1.
  virtual double slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                       double epsilon) const = 0;

  // The dense Hessian over (w, b), or an estimate from about `rows` examples that is cheaper by far:
  // those with large L″ always, the others by chance with their L″ as odds.
  virtual Matrix dense(Index rows, std::uint64_t seed) const = 0;

  // Its diagonal: of dense rows from about `rows` examples, which may be few.
  virtual Vector diagonal(Index rows, std::uint64_t seed) const = 0;

  // The like for many features, where n × n numbers are too many: H ≈ diag + RᵀR over (w, b).
  struct Sketch {
    Vector diagonal;
    Matrix rows;
  };
  virtual Sketch sketch(Index rows, std::uint64_t seed) const = 0;
};

// J(w + t p, b + t p_b + β) as a function of (t, β), without another pass.
class Ray {
 public:
  struct Point {
    double value = 0, t = 0, beta = 0;          // J and its first derivatives
    double t_t = 0, t_beta = 0, beta_beta = 0;  // its second derivatives
  };
  virtual ~Ray() = default;
  virtual Point at(double t, double beta) const = 0;
};

class Objective {
 public:
  // What a solver must know to choose between estimates of the Hessian, on average over the examples.
  struct Cost {
    double numbers = 0;  // that a pass reads of an example
    double rank = 0;     // rows of covariance factors
    bool dense = false;  // whether covariances have entries off the diagonal that are not known by factors
  };
  // What coordinate descent in the dual problem has come to: a point, J there, and a bound.
  struct Descent {
    Vector w;
    double b = 0;
    Certificate certificate;
    double passes = 0;  // readings of the whole data so far
  };
  // The best classifier or regression with w = 0.
  struct Trivial {
    double b = 0;
    double value = 0;  // J there
    double start = 0;  // J at w = 0, b = 0
  };

  // The same problem with the data moved to the origin: J(w, b) there is J(w, b − w·shift) here.
  struct Centred {
    std::unique_ptr<Objective> objective;
    Vector shift;
  };

  Objective(std::shared_ptr<const Loss> loss, double lambda, int threads, bool intercept);
  virtual ~Objective() = default;

  const Loss& loss() const { return *loss_; }
  double lambda() const { return lambda_; }
  int threads() const { return threads_; }
  bool intercept() const { return intercept_; }  // false: b is held at 0 by solvers and bounds

  virtual Index examples() const = 0;
  virtual Index features() const = 0;
  virtual Task task() const = 0;
  virtual double mean_weight() const = 0;
  virtual Cost cost() const = 0;
  virtual Trivial trivial() const = 0;
  // Data far from the origin tie b to w, though a shift of them does not change the problem: solvers work with the
  // data centred. No objective where there is no intercept to take the shift up, or nothing to gain.
  virtual Centred centred() const { return {}; }

  // The same problem with about so many of the examples, chosen by chance; null where an engine has none to choose.
  virtual std::unique_ptr<Objective> sample(Index /*rows*/, std::uint64_t /*seed*/) const { return nullptr; }

  // A pass at (w, b), into the memory of an earlier one.
  virtual void evaluate(const Vector& w, double b, double epsilon, Evaluation& e) const = 0;
  Evaluation evaluate(const Vector& w, double b, double epsilon = 0) const;
  virtual double value(const Vector& w, double b, double epsilon = 0) const = 0;
  // J at an evaluated point with another ε: no pass over the data.
  virtual double value(const Evaluation& at, double epsilon) const = 0;
  // The share of examples whose L″ is above `negligible` times the largest.
  virtual double active_share(const Evaluation& at, double negligible) const = 0;

  // What the Hessian says of the direction (w, 0): wᵀHw, and its product with the intercept's. No pass over the data,
  // for w·x and wᵀΣw of every example are known.
  struct Along {
    double w = 0, b = 0;
  };
  virtual Along along(const Evaluation& at) const = 0;

  // The share of examples with s below `deviation`: there the loss is nearly as sharp as for a point.
  virtual double sharp_share(const Evaluation& at, double deviation) const = 0;

  // Examples with L″ below `negligible` times the largest are left out.
  virtual std::unique_ptr<Hessian> hessian(const Evaluation& at, double negligible = 0) const = 0;
  // `there` is an evaluation at w + p.
  virtual std::unique_ptr<Ray> ray(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                                   double epsilon) const = 0;

  // The b that minimises J(w, ·). Any minimiser where it is not unique.
  virtual double best_intercept(const Vector& w, double start = 0) const = 0;

  // Coordinate descent in the dual problem (Hsieh et al., ICML 2008), as long as `goes_on` of what it has come to;
  // false where it is not for this problem: it wants the hinge, and no covariances or factors that are few
  // (engines/span_descent.hpp).
  virtual bool descend(const std::function<bool(const Descent&)>& /*goes_on*/) const { return false; }

  // A feasible point of the dual problem, made of the losses' slopes at (w, b*): two passes. With a = σL′, sides by
  // the sign of a, and the heavier side scaled by ρ ≤ 1 so that Σ cρa = 0 where there is an intercept:
  //     D = (1/ℓ) Σ cρ [tL′ − (dL′ + s²L″ − L)] − λ/2 ‖w(a)‖² ≤ J*,   w(a) = (1/(λℓ)) Σ cρ (σL′x − L″Σw).
  virtual Certificate certify(const Vector& w, double b) const = 0;

  // Sums of the loss gradient over a part of the data, for stochastic steps: (1/k) Σ_{i in sample} c_i ∇L_i.
  // `sample` are positions 0 .. examples(). Returns the sample's Σ c_i.
  virtual double sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                                 double& gb) const = 0;

 protected:
  // Refuses a point with another number of features.
  void require_point(const Vector& w) const;

 private:
  std::shared_ptr<const Loss> loss_;
  double lambda_;
  int threads_;
  bool intercept_;
};

}  // namespace svmgsu
