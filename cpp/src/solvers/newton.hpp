// The exact solver: Newton's method that follows a smoothing ε to zero, steered by the certificate.
//
// With the hinge (or another loss with a kink) J is not smooth where s_i = 0 (Σ_i = 0, w ⟂ range Σ_i, w = 0). With
// s̃ = √(s² + ε²) it is, and the slopes of the smoothed losses (hinge: a_i = Φ(d/s̃)) are a feasible point of the true
// dual: whatever ε is, the bound D is a proof for the true J. One algorithm then serves every problem, from smooth
// data to the ordinary SVM (Σ = 0) and the trivial optimum w = 0. Smooth losses stay at ε = 0, and 1 falls away:
//
//   1. At (w, b) split what is left into Newton's work at this ε (G) and what the smoothing costs (S).
//      Once G ≤ 2S, ε is cut by a factor that adapts between 0.05 and 0.5.
//   2. While most samples are active, steps are quasi-Newton (L-BFGS): one pass each. The first matrix is the
//      Hessian's diagonal where features are so weakly correlated that it will do, or where a factor would cost more
//      than the passes it saves (a model that counts products, so that the path is the same on every machine); else a
//      factored estimate. G is what the step itself promises, because the proof comes late where λ is small.
//   3. When such steps stop to gain, or very few samples are active so that Hessian products are cheap, the
//      direction solves H p = −∇J, with −(ε' − ε) ∂∇J/∂ε added when ε is cut to ε' (a tangent step along
//      the path: it halves the passes on hinge-like data), by conjugate gradients.
//   4. The factored Hessian, there the first matrix and here the preconditioner, is dense up to 1500
//      features, from all active samples where that is cheap and from some n of chosen ones otherwise
//      (margin samples, with large κ, always); beyond, it is diagonal plus a sketch that costs a few passes.
//   5. The unit step is tried first; if it fails, an exact line search in O(ℓ) follows.
//
// The trivial solution w = 0 with its best b is a candidate from the beginning (hinge: b = ±1, J = 2 · the smaller
// class's share). Newton is invariant to the units of the features, so nothing is equilibrated, and
// to a shift of the data once they are centred (Engine::centred), which solve() sees to.
//
// Many samples (200 n) start from the optimum of a subsample of 10 n to 100 n of them, which starts alike; the hinge of
// sparse or wide data without covariances from coordinate descent in the dual (solvers/dual_descent.hpp), which is
// often all that is needed. Data with fewer rows than features are solved in the span of their rows (solvers/span.hpp).
//
// Chosen by measurement: a primal-dual variant, predictors at the new ε, and warm starts from SGD needed more
// passes or stalled on hinge-like data.
#pragma once

#include "engines/engine.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

Result solve_newton(const Engine& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
                    double start_b);

}  // namespace svmgsu
