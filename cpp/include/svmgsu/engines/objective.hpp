// The objective (paper, eq. 3 with the loss of eq. 6), its derivatives and its certificate:
//
//     J(w, b) = λ/2 ‖w‖² + (1/ℓ) Σ c_i L_i,     b is not penalised.
//
// A pass reads each example once, in blocks of fixed size that are summed in their order, so that a
// result has the same bits for any number of threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// w·x_i and wᵀΣ_i w for every example.
struct Margins {
  std::vector<double> mean;
  std::vector<double> variance;
};

// A proof of how far J(w, b) can be from the optimum: J(w, b) − J* ≤ gap.
struct Certificate {
  double value = 0;  // J(w, b)
  double bound = 0;  // D ≤ J*
  double gap() const { return value - bound > 0 ? value - bound : 0.0; }
};

// J at a point with all that a pass at that point has learnt.
struct Evaluation {
  Vector w;
  double b = 0;
  double value = 0;           // J, smoothed if the objective is
  Certificate certificate;    // of the true J, from the half-spaces of (w, b)
  double dual = 0;            // D(a) of those half-spaces before the best multiple t·a is taken
  double smoothed_share = 0;  // what smoothing adds to the dual value: (ε²/ℓ) Σ c κ
  Vector gradient;            // ∂J/∂w
  double gradient_b = 0;      // ∂J/∂b
  Margins margins;
  std::vector<double> kappa;              // φ(r_i)/s_i
  std::vector<Plan> plans;                // one a covariance term
  std::vector<std::vector<double>> sums;  // Σ c_i κ_i Σ_i of each term
};

class Objective {
 public:
  // `smoothing` ε replaces s by √(s² + ε²) in value and derivatives; the certificate stays one of the
  // true objective. With `intercept` false, b is held at 0 by the solvers and the certificate.
  Objective(Gaussians data, double lambda, int threads = 0, bool intercept = true);

  const Gaussians& data() const { return data_; }
  Index examples() const { return data_.examples(); }
  Index features() const { return data_.features(); }
  double lambda() const { return lambda_; }
  int threads() const { return threads_; }
  bool intercept() const { return intercept_; }
  double smoothing = 0;

  double value(const Vector& w, double b) const;
  Evaluation evaluate(const Vector& w, double b) const;
  void evaluate(const Vector& w, double b, Evaluation& e) const;  // into the memory of an earlier one
  Margins margins(const Vector& w) const;

  // J from margins that are already known: no pass over the data.
  double value(const Margins& margins, double w_squared, double b) const;

  // The b that minimises J(w, ·): the root of −Σ c y Φ. Any minimiser where it is not unique.
  double best_intercept(const Margins& margins, double start = 0) const;

  // A feasible point of the dual problem, made of the half-spaces of (w, b*): two passes.
  //     D(a) = (1/ℓ) Σ c_i E[a_i] − λ/2 ‖w(a)‖² ≤ J*,   w(a) = (1/(λℓ)) Σ c_i y_i E[a_i(X) X],
  // where a_i: ℝⁿ → [0, 1] and, with an intercept, Σ c_i y_i E[a_i] = 0.
  Certificate certify(const Vector& w, double b) const;

  // Sums of the loss gradient over a part of the data, for stochastic steps:
  //     (1/k) Σ_{i in sample} c_i ∇L_i.   `sample` are positions 0 .. examples().
  void sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw, double& gb) const;

 private:
  friend class Hessian;
  struct Sums;
  struct Local;
  template <bool kRead, bool kWrite, bool kByClass, class Link>
  void sweep(const std::vector<Index>& ids, const Vector& w, std::vector<Plan>& plans, Link link, Local* total) const;
  Index block_size(Index count, double sum_size) const;
  double sum_size() const;  // numbers that a pass sums up
  void prepare(const Vector& w, std::vector<Plan>& plans) const;
  Margins margins(const Vector& w, std::vector<Plan>& plans) const;
  static void derivatives(const double* y, const double* mean, const double* variance, int count, double b,
                          double epsilon, double* loss, double* cdf, double* kappa);
  Certificate dual_bound(const Vector& positive, const Vector& negative, const double* mass, double value,
                         double* unscaled) const;
  void finish(const std::vector<std::vector<double>>& terms, const Vector& w, double factor, Vector& out) const;
  double mass_difference(const Margins& margins, double b, double* slope) const;

  Gaussians data_;
  double lambda_;
  int threads_;
  bool intercept_;
};

}  // namespace svmgsu
