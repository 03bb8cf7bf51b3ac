// The paper's stochastic solver (Algorithm 1), corrected.
//
// At step t a minibatch of k examples is drawn without replacement and
//     w ← (1 − 1/t) w − (1/(λ t k)) Σ c ∇L,   projected onto ‖w‖ ≤ √(mean c / λ).
// Beyond the paper: the last share of the iterates is averaged (the last one alone is noisy); b takes
// steps of min(1/(λt), 1/√t), since 1/(λt) throws it thousands of margins away when λ is small; and b is
// solved exactly at the end. svmgsu.reference.sgd does the same steps from the same random numbers.
#pragma once

#include "svmgsu/random.hpp"
#include "svmgsu/solve.hpp"

namespace svmgsu {

Result solve_sgd(const Objective& objective, const Options& options, const Monitor& monitor);

}  // namespace svmgsu
