// Second derivatives of the objective at a point. With κ = φ/s, u = Σw, z = y(x; 1) + (r/s)(u; 0):
//
//     Hv = λ(v_w; 0) + (1/ℓ) Σ c_i κ_i [ z(z·v) + (Σv_w − u(u·v_w)/q; 0) ]
#pragma once

#include <memory>
#include <vector>

#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// The Hessian at an evaluated point, ready for many products (MATH: Hv). Examples with κ_i = 0 cost
// nothing. Not for use by several threads at once.
class Hessian {
 public:
  // Examples with κ below `negligible` times the largest are left out.
  Hessian(const Objective& objective, const Evaluation& at, double negligible = 0);

  void times(const Vector& v, double vb, Vector& out, double& out_b) const;
  // The derivative of the gradient by the smoothing ε, for a solver that follows ε.
  void smoothing_derivative(Vector& out, double& out_b) const;

  Index active() const { return static_cast<Index>(ids_.size()); }
  const std::vector<Index>& positions() const { return positions_; }  // of the active, in the data
  // wᵀΣv of each active example, from the last product.
  const std::vector<double>& last_cross() const { return uv_; }

  // The dense Hessian over (w, b), or an estimate from about `rows` examples that is cheaper by far:
  // those with large κ always, the others by chance with their κ as odds.
  Matrix dense(Index rows, std::uint64_t seed) const;

  // The like for many features, where n × n numbers are too many: H ≈ diag + RᵀR over (w, b).
  struct Sketch {
    Vector diagonal;
    Matrix rows;
  };
  Sketch sketch(Index rows, std::uint64_t seed) const;

 private:
  const Objective& objective_;
  // Adds up over the active examples: coefficients (α for x, τ and κ for Σ) come from `link`.
  template <class Link>
  void sweep(const Vector& v, double vb, Link link, Vector& out, double& out_b) const;
  // Rows of RᵀR for active example j, weighted: z = y(x; 1) + (r/s)(u; 0) to `z`, u/√q to `u`.
  void outer_rows(std::size_t j, double weight, double* z, double* u) const;

  Vector w_;
  std::vector<std::vector<double>> sums_;                // Σ c κ_i Σ_i of each covariance term
  std::vector<Index> ids_, positions_;                   // active examples: rows of the arrays, places in the data
  std::vector<double> label_, kappa_, rho_, inverse_q_;  // of each: y, cκ, r/s, 1/q
  std::vector<std::unique_ptr<Curvature>> terms_;
  mutable std::vector<double> xv_, uv_;
};

}  // namespace svmgsu
