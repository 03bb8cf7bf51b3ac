// Points of the dual problem, and the bound of J that each of them proves.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// A proof of how far J(w, b) can be from the optimum: J(w, b) − J* ≤ gap. Not a number where J is none.
struct Certificate {
  double value = 0;  // J(w, b)
  double bound = 0;  // D ≤ J*, rounding allowed for
  double above = 0;  // by which rounding may have made `value` too small
  double below = 0;  // and D too large; `bound` has it taken off
  double gap() const { return value + above - bound < 0 ? 0.0 : value + above - bound; }
};

// What a pass sums up of each side, over ℓ, and so of every point of the dual problem that lies between zero and this
// one; with labels the sides are the classes, and each may be scaled for itself.
struct DualPoint {
  Vector sum[2];               // Σ± c (σL′x − L″Σw)
  double mass[2] = {0, 0};     // Σ± c|L′|
  double value[2] = {0, 0};    // Σ± c [tL′ − (dL′ + s²L″ − L)]
  Vector reach;                // at least Σ c (|L′x| + L″|Σw|) of each feature: how far rounding goes
  double terms = 0;            // Σ c (|L| + |tL′ − dL′| + s²L″)
  double unseen = 0;           // what the losses' own errors may hide of the gap
  double dots = 0, error = 0;  // of a product of two rows and of the sums, in units of their terms

  // Adds another, weighted on each side. The weights of all that are added must not exceed 1 in sum.
  void add(const DualPoint& other, const double weight[2]);

  // D: where there is an intercept, the side with more mass is scaled down to the other. Any τ·a with τ in [0, 1] is
  // feasible as well, since ℓ*(0) = 0, and D is at least a parabola in τ, of which the best is taken; `unscaled` (may
  // be null) is the value at τ = 1.
  Certificate bound(double lambda, bool intercept, double* unscaled) const;
};

}  // namespace svmgsu
