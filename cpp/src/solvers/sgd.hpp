// The paper's stochastic solver (Algorithm 1), corrected.
//
// At step t a minibatch of k samples is drawn without replacement and
//     w ← (1 − 1/t) w − (1/(λ t k)) Σ c ∇L,   projected onto ‖w‖ ≤ √(mean c ℓ(t) / λ).
// The loss must be Lipschitz: hinge, logistic, ε-insensitive and Huber are.
// Beyond the paper: the last share of the iterates is averaged (the last one alone is noisy); b takes
// steps of min(1/(λt), 1/√t), since 1/(λt) throws it thousands of margins away when λ is small; and b is
// solved exactly at the end. svmgsu.reference.sgd does the same steps from the same random numbers.
#pragma once

#include "engines/engine.hpp"
#include "support/random.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

Result solve_sgd(const Engine& objective, const Options& options, const Monitor& monitor);

// Where a stream of data has come to. The answer so far is `average`, `average_b`.
struct Stream {
  Vector w, average;
  double b = 0, average_b = 0;
  Index steps = 0;
  double weight = 0, samples = 0;  // seen so far: the sum of weights, and the count
};

// The same steps over data that come in pieces: one reading of this piece, `batch` samples per step in an
// order drawn by `seed`, with t going on from piece to piece. Nothing is certified, since the data are
// not kept. The iterates are averaged with weights that rise like t³ (Shamir and Zhang, ICML 2013: the
// noisy first ones are forgotten and no end need be known).
void continue_sgd(const Objective& objective, Index batch, std::uint64_t seed, Stream& stream);

}  // namespace svmgsu
