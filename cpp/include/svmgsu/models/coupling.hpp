// From what pairs of classes say to what is said of each class.
//
// K classes have K(K-1)/2 pairs, in the order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ...; a value of the
// pair (i, j) is positive for class j. A caller provides count_pairs(classes) numbers as `pairs`, any but NaN, and room
// for one number a class as `out`.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

inline Index count_pairs(Index classes) { return classes * (classes - 1) / 2; }

// The log-odds of each class from those of the pairs, z_ij = log(p_i/p_j):
//     d_i = -log Σ_{j≠i} exp(-z_ij),   p_i ∝ σ(d_i)
// (D. Price, S. Knerr, L. Personnaz, G. Dreyfus: Pairwise neural network classifiers with probabilistic
// outputs, NIPS 1994). Exact where the pairs agree with each other; at most one class has d_i > 0.
void couple(const double* pairs, Index classes, double* out);

// Without probabilities: how many pairs each class wins, plus its margins' sum squeezed into (-1/3, 1/3),
// which decides among equals, as scikit-learn does it.
void vote(const double* pairs, Index classes, double* out);

}  // namespace svmgsu
