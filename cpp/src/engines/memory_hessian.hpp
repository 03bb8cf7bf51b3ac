// Second derivatives at an evaluated point.
#pragma once

#include "engines/memory_kept.hpp"

namespace svmgsu {

class MemoryHessian final : public Hessian {
 public:
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double negligible);
  // Of the examples with κ above `cut`, in blocks of at most `block`: a part of other data's.
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double cut, Index block);

  // What a product, or the smoothing's derivative, sums up; groups go to `emit` as in a pass.
  void sum_up(bool smoothing, const Vector& v, double vb, const Emit* emit, Local& total);
  const std::vector<double>& last() const { return last_; }

  void times(const Vector& v, double vb, Vector& out, double& out_b) override;
  void smoothing_derivative(Vector& out, double& out_b) override;
  Index active() const override { return static_cast<Index>(kappa_.size()); }
  void follow(double alpha) override;
  double slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
               double epsilon) const override;
  Matrix dense(Index rows, std::uint64_t seed) const override;
  Vector diagonal(Index rows, std::uint64_t seed) const override;
  Sketch sketch(Index rows, std::uint64_t seed) const override;

 private:
  class Forms;
  // Numbers of some active examples: σ, ρ and γ (see Bends).
  struct Numbers {
    std::vector<double> sign, rho, gamma;
  };
  // Active examples that were drawn: by their places among them, with 1/probability, and their positions in the data.
  struct Choice : Numbers {
    std::vector<std::size_t> place;
    std::vector<double> factor;
    std::vector<Index> position;
    double weight(const MemoryHessian& of, std::size_t at) const { return of.kappa_[place[at]] * factor[at]; }
  };
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at);
  void leave_out(double cut);
  // Adds up over the active examples: coefficients (of x, and τ of Σw beside κ of Σv) come from `link`.
  template <class Link>
  void sweep_active(const Vector& v, Link link, const Emit* emit, Local& total);
  void add_up(bool smoothing, const Vector& v, double vb, Vector& out, double& out_b);
  void prepare_products();
  void walk(const Source::Use& use) const;
  void make_terms(const Gaussians& data, const std::vector<Index>& ids);
  Numbers numbers_of(const std::vector<Index>& positions) const;
  Choice choose(Index rows, std::uint64_t seed) const;
  // The chosen examples, in pieces that begin at multiples of `chunk`.
  void for_chosen(const Choice& choice, Index chunk, const Source::Use& use) const;
  // Rows of RᵀR for a chosen example (row `id` of the data), weighted: z = σ(x; 1) + ρ(u; 0) to `z`, √|γ| u to `u`.
  void outer_rows(const Gaussians& data, Index id, const Choice& choice, std::size_t at, double weight, double* z,
                  double* u) const;
  Index position(std::size_t place) const { return positions_.empty() ? static_cast<Index>(place) : positions_[place]; }

  const MemoryKept& known() const { return objective_.complete(*kept_, w_); }

  const MemoryObjective& objective_;
  std::shared_ptr<MemoryKept> kept_;
  Vector w_;
  double b_, epsilon_, cut_ = 0;
  Index block_ = 0;                        // examples of a block, where that is told
  std::vector<std::vector<double>> sums_;  // Σ c L″Σ_i of each covariance term
  std::vector<double> kappa_;              // of the active examples, times their weights
  std::vector<Index> positions_;           // and their places in the data; empty where all are active
  // For products alone:
  bool prepared_ = false;
  Numbers numbers_;
  Cuts cuts_;
  std::shared_ptr<const Source> rows_;  // the active examples, or null where there is no room for them
  std::vector<Index> ids_;              // their rows in it
  std::vector<std::unique_ptr<Curvature>> terms_;
  std::vector<double> last_, along_;  // wᵀΣv of the last product, wᵀΣp of the step that is followed
};

}  // namespace svmgsu
