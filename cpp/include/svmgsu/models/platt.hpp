// Platt scaling in the robust form of Lin, Lin and Weng (Machine Learning 68, 2007).
#pragma once

#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// P(y = +1 | score f) = 1/(1 + exp(A f + B)).
struct Platt {
  double a = 0, b = 0;
  double probability(double score) const;
};

// Newton with backtracking on the regularised likelihood (targets (N₊+1)/(N₊+2) and 1/(N₋+2)). Scores
// are centred and scaled inside, so that the stopping rule is relative to their spread.
// A sample of weight 2 counts like two; no weights: 1 each.
Platt fit_platt(const std::vector<double>& scores, const std::vector<double>& labels, std::vector<double> weights = {});

}  // namespace svmgsu
