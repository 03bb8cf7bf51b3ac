// What hyperplanes say of many samples: values, variances, classes and probabilities, in one reading of the data. The
// same bits for any number of threads, and for one sample as for many.
//
// Where covariances are factors or full matrices, memory is taken for each hyperplane and sample, or for each
// hyperplane and pair of features: of very many classes, hand over some of the samples at a time.
#pragma once

#include <vector>

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/models/classification.hpp"

namespace svmgsu {

// A view of w, one row for each hyperplane, and b: count × features and count finite numbers.
struct Planes {
  const double* w;
  const double* b;
  Index count, features;
};

// One row for each sample, one column for each hyperplane: w·x + b, and with it wᵀΣw.
struct Margins {
  Matrix mean, variance;
};
Matrix decision_values(const Planes& planes, const Gaussians& data, int threads = 0);
Margins margins(const Planes& planes, const Gaussians& data, int threads = 0);

// One row for each sample, one column for each class; see Model. Samples without covariances are
// noise-free. `prior` has one row for all samples, or one for each.
Matrix class_scores(const Classification& task, const Planes& planes, const Gaussians& data, int threads = 0);
Matrix probabilities(const Classification& task, const Planes& planes, const Gaussians& data,
                     const Matrix* prior = nullptr, int threads = 0);

// Places in `labels`.
std::vector<Index> predict(const Classification& task, const Planes& planes, const Gaussians& data, int threads = 0);

// From values of pairs of classes, count_pairs(classes) numbers and none of them NaN, to one number for each class.
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
