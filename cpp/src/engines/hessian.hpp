// Second derivatives at an evaluated point.
#pragma once

#include "engines/cache.hpp"
#include "kinds/curvature.hpp"

namespace svmgsu {

// The Hessian at an evaluated point, ready for many products. With ξ = x·v_w + v_b, u = Σw and η = u·v_w:
//
//     Hv = λ(v_w; 0) + (1/ℓ) Σ c [ (L″ξ − σL‴η)(x; 1) + (−σL‴ξ + L⁗η)(u; 0) + L″(Σv_w; 0) ]
//
// Not for use by several threads at once.
class Hessian {
 public:
  // Numbers of some active samples: σ, ρ and γ (see Bends).
  struct Numbers {
    std::vector<double> sign, rho, gamma;
  };
  // Active samples that were drawn: their positions in the data, and κ over their odds.
  struct Choice : Numbers {
    std::vector<Index> position;
    std::vector<double> weight;
  };

  // Samples with L″ below `negligible` times the largest are left out.
  Hessian(const Engine& objective, const Evaluated& at, double negligible);
  // Of the samples with κ from `cut` on, in blocks of at most `block`: a part of other data's.
  Hessian(const Engine& objective, const Evaluated& at, double cut, Index block);

  // What a product, or the smoothing's derivative, sums up; groups go to `emit` as in a pass.
  void sum_up(bool smoothing, const Vector& v, double vb, const Emit* emit, PassSums& total);
  // Each active sample with odds min(1, τκ), by what its place in all data, `first` and on, draws.
  Choice drawn(double tau, std::uint64_t seed, Index first) const;

  void times(const Vector& v, double vb, Vector& out, double& out_b);
  // The derivative of the gradient by ε, for a solver that follows ε.
  void smoothing_derivative(Vector& out, double& out_b);
  Index active() const { return active_; }  // samples that take part

  // The dense Hessian over (w, b), or an estimate from about `rows` samples that is cheaper by far: those with large L″
  // always, the others by chance with their L″ as odds.
  Matrix dense(Index rows, std::uint64_t seed) const;
  // Its diagonal: of dense rows from about `rows` samples, which may be few.
  Vector diagonal(Index rows, std::uint64_t seed) const;
  // The like for many features, where n × n numbers are too many: H ≈ diag + RᵀR over (w, b).
  struct Sketch {
    Vector diagonal;
    Matrix rows;
  };
  Sketch sketch(Index rows, std::uint64_t seed) const;

 private:
  class Forms;
  Hessian(const Engine& objective, const Evaluated& at);
  void fill(const Evaluated& at);
  void leave_out(double cut);
  // Adds up over the active samples: coefficients (of x, and τ of Σw beside κ of Σv) come from `link`.
  template <class Link>
  void sweep_active(const Vector& v, Link link, const Emit* emit, PassSums& total);
  void add_up(bool smoothing, const Vector& v, double vb, Vector& out, double& out_b);
  void prepare_products();
  void walk(const Source::Use& use) const;
  void make_terms(const Gaussians& data, const std::vector<Index>& ids);
  Numbers numbers_of(const std::vector<Index>& positions) const;
  Choice choose(Index rows, std::uint64_t seed) const;
  // The chosen samples, in pieces that begin at multiples of `chunk`.
  void for_chosen(const Choice& choice, Index chunk, const Source::Use& use) const;
  struct OuterRows {
    Matrix z, u, factors;
  };
  template <class Use>
  void for_outer_rows(const Choice& choice, Index chunk, Use use) const;
  Index position(std::size_t place) const { return positions_.empty() ? static_cast<Index>(place) : positions_[place]; }

  const PointCache& known() const { return objective_.complete(*cache_, w_); }

  const Engine& objective_;
  std::shared_ptr<PointCache> cache_;
  Vector w_;
  double b_, epsilon_, cut_ = 0;
  Index block_ = 0;                        // samples of a block, where that is told
  std::vector<std::vector<double>> sums_;  // Σ c L″Σ_i of each covariance term
  Index active_ = 0;
  std::vector<double> kappa_;     // of the active samples, times their weights
  std::vector<Index> positions_;  // and their places in the data; empty where all are active
  // For products alone:
  bool prepared_ = false;
  Numbers numbers_;
  Cuts cuts_;
  const Gaussians* at_hand_ = nullptr;  // has the active samples; null where there is no room for them
  std::shared_ptr<const Source> rows_;  // and owns it, unless all samples are in memory
  std::vector<Index> ids_;              // their rows in it
  std::vector<Curvature> terms_;
  const Histogram* histogram_ = nullptr;  // of κ of all samples, where there is a choice to be made
};

}  // namespace svmgsu
