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

// One row for each sample, one column for each class; see Classification. Samples without covariances are
// noise-free; `noisy` = false leaves covariances out. `prior` has one row for all samples, or one for each.
Matrix class_scores(const Classification& task, const Planes& planes, const Gaussians& data, bool noisy = true,
                    int threads = 0);
Matrix probabilities(const Classification& task, const Planes& planes, const Gaussians& data,
                     const Matrix* prior = nullptr, int threads = 0);

// Places in `labels`.
std::vector<Index> predict(const Classification& task, const Planes& planes, const Gaussians& data, int threads = 0);

}  // namespace svmgsu
