// The objective, for any loss (losses/loss.hpp; the paper's eq. 3 with the loss of eq. 6 is the hinge):
//
//     J(w, b) = λ/2 ‖w‖² + (1/ℓ) Σ c_i L(d_i, s_i),     b is not penalised.
//
// Smoothing by ε replaces s by √(s² + ε²) in value and derivatives; bounds are of the true objective for any ε.
#pragma once

#include <memory>

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/losses/loss.hpp"

namespace svmgsu {

// A proof of how far J(w, b) can be from the optimum: J(w, b) − J* ≤ gap. Not a number where J is none.
struct Certificate {
  double value = 0;  // J(w, b)
  double bound = 0;  // D ≤ J*, rounding allowed for
  double above = 0;  // by which rounding may have made `value` too small
  double below = 0;  // and D too large; `bound` has it taken off
  double gap() const { return value + above - bound < 0 ? 0.0 : value + above - bound; }
};

struct Evaluation {
  double value = 0;         // J, smoothed by ε
  Vector gradient;          // ∂J/∂w
  double gradient_b = 0;    // ∂J/∂b
  Certificate certificate;  // of the true J, from the losses' slopes at (w, b)
};

class Engine;  // what solvers use: src/engines/engine.hpp

// A copy shares its samples with the original.
class Objective {
 public:
  // Of samples in memory, whose arrays must outlive it. `threads` 0: all that OpenMP offers. Without an intercept, b is
  // held at 0 by solvers and bounds. `loss` null is the hinge for labels and the squared loss for values.
  Objective(TrainingSet set, double lambda, int threads = 0, bool intercept = true,
            std::shared_ptr<const Loss> loss = nullptr);
  explicit Objective(std::shared_ptr<const Engine> engine) : engine_(std::move(engine)) {}

  Index samples() const;
  Index features() const;

  Evaluation evaluate(const Vector& w, double b, double epsilon = 0) const;
  double value(const Vector& w, double b, double epsilon = 0) const;
  // The b that minimises J(w, ·). Any minimiser where it is not unique.
  double best_intercept(const Vector& w, double start = 0) const;
  // A feasible point of the dual problem, made of the losses' slopes at (w, b*): two passes. With a = σL′, sides by
  // the sign of a, and the heavier side scaled by ρ ≤ 1 so that Σ cρa = 0 where there is an intercept:
  //     D = (1/ℓ) Σ cρ [tL′ − (dL′ + s²L″ − L)] − λ/2 ‖w(a)‖² ≤ J*,   w(a) = (1/(λℓ)) Σ cρ (σL′x − L″Σw).
  Certificate certify(const Vector& w, double b) const;

  const Engine& engine() const { return *engine_; }

 private:
  std::shared_ptr<const Engine> engine_;
};

}  // namespace svmgsu
