// Uncertain samples: sample i is N(x_i, Σ_i). A view: means and covariances stay where the caller has them (and must
// outlive it). What a model is to make of the samples is in training_set.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

class Gaussians {
 public:
  // One row of `means` for each sample (a Matrix, Rows of double or float, dense or sparse) and as many covariances.
  // `rows` chooses some of them without copying the arrays, null for all. Sizes that do not fit are an InvalidArgument.
  Gaussians(Rows means, CovarianceSum covariance, const std::vector<Index>* rows = nullptr);

  // Samples without uncertainty: `rows` means of `columns` numbers, one row after the other, which stay where they are.
  Gaussians(const double* means, Index rows, Index columns) : Gaussians(Rows(means, rows, columns), {}) {}
  Gaussians(const float* means, Index rows, Index columns) : Gaussians(Rows(means, rows, columns), {}) {}
  // The same means with a standard error for each of their numbers. Passes read variances: the squares of the errors
  // are kept here, once for all copies. (Variances themselves, as Diagonal({v, rows, columns}), need no copy.)
  Gaussians with_std(const double* errors) const;
  Gaussians with_std(const float* errors) const;

  // Some of the samples, by their positions, without copying them.
  Gaussians some(const std::vector<Index>& positions) const;
  // The same samples with `origin` taken off every mean as it is read; dense rows only.
  Gaussians seen_from(const Vector& origin) const;

  Index samples() const { return static_cast<Index>(ids_.size()); }
  Index features() const { return means_.columns(); }
  const Rows& means() const { return means_; }
  const std::vector<CovarianceSum::Term>& covariance() const { return covariance_.terms(); }
  const std::vector<Index>& ids() const { return ids_; }  // the rows of the arrays
  // Whether the means and the rows of the first covariance term can be read in one loop.
  bool paired() const { return paired_; }
  // Numbers that a pass reads of a sample, and rows of its covariance's factors, on average.
  double numbers_per_sample() const;
  double mean_rank() const;
  // Numbers that a pass sums up: of the means, and of each covariance term in its own form.
  double sum_size() const;

 private:
  template <class Scalar>
  Gaussians with_squares(const Scalar* errors) const;
  void require_sizes() const;
  void pair();

  Rows means_;
  CovarianceSum covariance_;
  std::vector<Index> ids_;
  std::shared_ptr<const void> squares_;  // of with_std
  bool paired_ = false;
};

// Looks for what a program may have got wrong: numbers that are not numbers, negative variances, indices that lead
// outside an array. `train` does so first, unless Options::check is false; one pass over the data. Throws
// InvalidArgument, whose message names the array, the sample and the feature, counted from 0:
//     covariance: sample 17 has variance -0.3 at feature 4; variances must be >= 0
// Of a full matrix it looks at variances and correlations (of -1 to 1), which costs no more than a pass; whether it is
// positive semidefinite, find_indefinite tells.
void check(const Gaussians& data, int threads = 0);

}  // namespace svmgsu
