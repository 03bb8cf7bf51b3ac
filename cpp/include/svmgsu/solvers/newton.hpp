// The exact solver: Newton's method that follows a smoothing ε to zero, steered by the certificate.
//
// J is not smooth where s_i = 0 (Σ_i = 0, w ⟂ range Σ_i, w = 0). With s̃ = √(s² + ε²) it is, and the
// half-spaces of the smoothed problem, a_i = Φ(d/s̃), are a feasible point of the true dual: whatever ε
// is, the bound D is a proof for the true J. One algorithm then serves every problem, from smooth data
// to the ordinary SVM (Σ = 0) and the trivial optimum w = 0:
//
//   1. At (w, b) split the certified gap into what is left of Newton's work at this ε (G) and what the
//      smoothing costs (S). Once G ≤ 2S, ε is cut by a factor that adapts between 0.05 and 0.5.
//   2. The direction solves H p = −∇J, with −(ε' − ε) ∂∇J/∂ε added when ε is cut to ε' (a tangent
//      step along the path: it halves the passes on hinge-like data). Conjugate gradients, with the
//      Cholesky factor of a dense Hessian as preconditioner: of all active examples where that is cheap
//      (then one product is enough), of about 3n chosen ones otherwise. Margin examples, with large κ,
//      are always chosen.
//   3. The unit step is tried first; if it fails, an exact line search in O(ℓ) follows.
//
// The trivial classifier w = 0, b = ±1 is a candidate from the beginning, with J = 2 · the smaller
// class's share. Newton is invariant to the units of the features, so nothing is equilibrated.
//
// Chosen by measurement: a primal-dual variant, predictors at the new ε, and warm starts from SGD or a
// subsample needed more passes or stalled on hinge-like data.
#pragma once

#include "svmgsu/solve.hpp"

namespace svmgsu {

Result solve_newton(const Objective& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
                    double start_b);

}  // namespace svmgsu
