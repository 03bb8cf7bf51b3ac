// The examples: example i is N(x_i, Σ_i). A view: means and covariances stay where the caller has them (and must
// outlive it). What the examples should become is in targets.hpp.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "svmgsu/data/means.hpp"
#include "svmgsu/kinds/sum.hpp"

namespace svmgsu {

class Gaussians {
 public:
  // `rows` chooses a subset of the examples of the arrays without copying them, null for all.
  Gaussians(std::shared_ptr<const Means> means, CovarianceSum covariance, const std::vector<Index>* rows = nullptr)
      : means_(std::move(means)), covariance_(std::move(covariance)) {
    require(means_ != nullptr, "means: null pointer");
    if (rows) {
      ids_ = *rows;
    } else {
      ids_.resize(static_cast<std::size_t>(means_->examples()));
      std::iota(ids_.begin(), ids_.end(), Index{0});
    }
    check();
    const auto& terms = covariance_.terms();
    paired_ = !terms.empty() && means_->rows().alike(terms[0].kind->like_means(), means_->examples());
  }

  template <class Scalar>
  Gaussians(const MatrixOf<Scalar>& means, CovarianceSum covariance)
      : Gaussians(std::make_shared<DenseMeans<Scalar>>(means.data(), means.rows(), means.cols()),
                  std::move(covariance)) {}
  template <class Scalar>
  Gaussians(const EigenOf<Scalar, -1>& means, CovarianceSum covariance)
      : Gaussians(std::make_shared<DenseMeans<Scalar>>(means.data(), means.rows(), means.cols()),
                  std::move(covariance)) {}
  template <class Scalar>
  Gaussians(MatrixOf<Scalar>&&, CovarianceSum) = delete;
  template <class Scalar>
  Gaussians(EigenOf<Scalar, -1>&&, CovarianceSum) = delete;

  // Some of the examples, by their positions, without copying them.
  Gaussians some(const std::vector<Index>& positions) const {
    Gaussians part = *this;
    part.ids_.clear();
    for (const Index i : positions) {
      if (i < 0 || i >= examples()) require(false, "positions: " + std::to_string(i) + " is not an example");
      part.ids_.push_back(ids_[static_cast<std::size_t>(i)]);
    }
    part.check();
    return part;
  }

  Index examples() const { return static_cast<Index>(ids_.size()); }
  Index features() const { return means_->features(); }
  const Means& means() const { return *means_; }
  const std::vector<CovarianceSum::Term>& covariance() const { return covariance_.terms(); }
  const std::vector<Index>& ids() const { return ids_; }
  // Whether the means and the rows of the first covariance term can be read in one loop.
  bool paired() const { return paired_; }

 private:
  void check() const {
    const Index total = means_->examples();
    require(!ids_.empty(), "means: there are no examples");
    require(features() > 0, "means: there are no features");
    for (const Index id : ids_)  // the message only where it is needed: it takes longer than the check
      if (id < 0 || id >= total) require(false, "rows: " + std::to_string(id) + " is not an example");
    for (const auto& term : covariance_.terms()) {
      require(term.kind != nullptr, "covariance: a term has no kind");
      require(term.kind->examples() < 0 || term.kind->examples() == total,
              "covariance: " + std::to_string(term.kind->examples()) + " examples, but the means have " +
                  std::to_string(total));
      require(term.kind->features() < 0 || term.kind->features() == features(),
              "covariance: " + std::to_string(term.kind->features()) + " features, but the means have " +
                  std::to_string(features()));
    }
  }

  std::shared_ptr<const Means> means_;
  CovarianceSum covariance_;
  std::vector<Index> ids_;
  bool paired_ = false;
};

}  // namespace svmgsu
