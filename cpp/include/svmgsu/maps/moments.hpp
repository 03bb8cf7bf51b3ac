// Moments of the features of all samples, Gaussians or mixtures of them, in parallel; the same bits for any number of
// threads.
#pragma once

#include <vector>

#include "svmgsu/maps/map.hpp"

namespace svmgsu {

// Sample i of a mixture is Σ_k weight[i·components + k] N(row i·components + k of the data).
struct Blend {
  const double* weight = nullptr;  // as many as rows of the data, each >= 0; null: every row of the data is a sample
  Index components = 1;
  double least = 1e-12;  // components of less weight are left out

  Index samples(const Gaussians& data) const { return data.samples() / components; }
};

enum class Spread { none, diagonal, low_rank, full };

struct FeatureMoments {
  // By Spread::diagonal the variances, samples × outputs; by low_rank what the factors leave of them.
  Matrix variance;
  // By Spread::full the upper triangles, samples × m(m + 1)/2: what Full takes.
  Matrix packed;
  // By Spread::low_rank: Σ to first order, and all between the components of a mixture; what LowRank takes.
  std::vector<double> factors;
  std::vector<Index> start;
};

// E z of every sample goes to `mean`, room for examples × outputs numbers in double or float.
template <class Scalar>
FeatureMoments map_moments(const Map& map, const Gaussians& data, const Blend& blend, Spread spread, Scalar* mean,
                           int threads = 0);

// Σ c_i E[u uᵀ] with u = (z, 1), outputs + 1 square, and Σ c_i E[u] y_iᵀ with the rows of `targets`, one for each
// column of y, and with one weight c_i ≥ 0 for each sample (null: 1): all that a squared loss needs of the samples.
struct SecondMoments {
  Matrix gram, cross;
};
SecondMoments second_moments(const Map& map, const Gaussians& data, const Blend& blend, const double* weights,
                             const Matrix& targets, int threads = 0);

// E f and Var f of f = w·z for each row of w: samples × rows each.
struct Scores {
  Matrix mean, variance;
};
Scores map_scores(const Map& map, const Gaussians& data, const Blend& blend, const Matrix& w, int threads = 0);

// Σ c_i g gᵀ over the samples and the rows of w, g = E ∇f of the sample: which directions f changes in.
Matrix gradient_outer_product(const Map& map, const Gaussians& data, const Blend& blend, const double* weights,
                              const Matrix& w, int threads = 0);

}  // namespace svmgsu
