// Second derivatives of data in memory, at an evaluated point.
#pragma once

#include "engines/memory_kept.hpp"

namespace svmgsu {

class MemoryHessian final : public Hessian {
 public:
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double negligible);

  void times(const Vector& v, double vb, Vector& out, double& out_b) override;
  void smoothing_derivative(Vector& out, double& out_b) override;
  Index active() const override { return static_cast<Index>(ids_.size()); }
  void follow(double alpha) override;
  double slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
               double epsilon) const override;
  Matrix dense(Index rows, std::uint64_t seed) const override;
  Vector diagonal(Index rows, std::uint64_t seed) const override;
  Sketch sketch(Index rows, std::uint64_t seed) const override;

 private:
  class Forms;
  struct Choice {
    std::vector<std::size_t> place;
    std::vector<double> factor;
  };
  // Adds up over the active examples: coefficients (of x, and τ of Σw beside κ of Σv) come from `link`.
  template <class Link>
  void add_up(const Vector& v, Link link, Vector& out, double& out_b);
  Choice choose(Index rows, std::uint64_t seed) const;
  // Rows of RᵀR for active example j, weighted: z = σ(x; 1) + ρ(u; 0) to `z`, √|γ| u to `u`.
  void outer_rows(std::size_t j, double weight, double* z, double* u) const;
  void add_factor_squares(const Choice& choice, Vector& diagonal) const;
  Index factor_rows(const Choice& choice, std::size_t first, std::size_t count) const;

  const MemoryObjective& objective_;
  Vector w_;
  double epsilon_;
  std::vector<std::vector<double>> sums_;           // Σ c L″Σ_i of each covariance term
  std::vector<Index> ids_, positions_;              // active examples: rows of the arrays, places in the data
  std::vector<double> sign_, kappa_, rho_, gamma_;  // of each; κ times its weight
  std::vector<std::unique_ptr<Curvature>> terms_;
  std::vector<double> last_, along_;  // wᵀΣv of the last product, wᵀΣp of the step that is followed
};

}  // namespace svmgsu
