// Second derivatives at an evaluated point.
#pragma once

#include "engines/memory_kept.hpp"
#include "kinds/curvature.hpp"

namespace svmgsu {

class MemoryHessian final : public Hessian {
 public:
  // Numbers of some active examples: σ, ρ and γ (see Bends).
  struct Numbers {
    std::vector<double> sign, rho, gamma;
  };
  // Active examples that were drawn: their positions in the data, and κ over their odds.
  struct Choice : Numbers {
    std::vector<Index> position;
    std::vector<double> weight;
  };

  MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double negligible);
  // Of the examples with κ from `cut` on, in blocks of at most `block`: a part of other data's.
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double cut, Index block);

  // What a product, or the smoothing's derivative, sums up; groups go to `emit` as in a pass.
  void sum_up(bool smoothing, const Vector& v, double vb, const Emit* emit, Local& total);
  const std::vector<double>& last() const { return last_; }
  // Each active example with odds min(1, τκ), by what its place in all data, `first` and on, draws.
  Choice drawn(double tau, std::uint64_t seed, Index first) const;

  void times(const Vector& v, double vb, Vector& out, double& out_b) override;
  void smoothing_derivative(Vector& out, double& out_b) override;
  Index active() const override { return active_; }
  void follow(double alpha) override;
  double slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
               double epsilon) const override;
  // Its group sums over examples, apart from the penalty's part.
  std::vector<double> slopes(const Evaluation& from, const Evaluation& there, double p_b, double epsilon) const;
  // wᵀΣp of the active examples, as `follow` would have it.
  void set_along(std::vector<double> along) { along_ = std::move(along); }
  Matrix dense(Index rows, std::uint64_t seed) const override;
  Vector diagonal(Index rows, std::uint64_t seed) const override;
  Sketch sketch(Index rows, std::uint64_t seed) const override;

 private:
  class Forms;
  MemoryHessian(const MemoryObjective& objective, const Evaluation& at);
  void fill(const Evaluation& at);
  void leave_out(double cut);
  void require_direction(const Vector& v, const char* name) const;
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
  Index active_ = 0;
  std::vector<double> kappa_;     // of the active examples, times their weights
  std::vector<Index> positions_;  // and their places in the data; empty where all are active
  // For products alone:
  bool prepared_ = false;
  Numbers numbers_;
  Cuts cuts_;
  std::shared_ptr<const Source> rows_;  // the active examples, or null where there is no room for them
  std::vector<Index> ids_;              // their rows in it
  std::vector<Curvature> terms_;
  std::vector<double> last_, along_;  // wᵀΣv of the last product, wᵀΣp of the step that is followed
  const Remote* far_ = nullptr;       // who keeps these and all else that is known of examples, or null
  const Levels* levels_ = nullptr;    // of κ of all examples, where there is a choice to be made
  std::vector<Remote::Followed> steps_;
  Vector last_v_;
  double last_vb_ = 0;
};

}  // namespace svmgsu
