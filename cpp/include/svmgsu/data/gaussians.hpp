// The training set: example i is N(x_i, Σ_i) with label ±1 and a weight. A view: means and
// covariances stay where the caller has them (and must outlive it); labels and weights are copied.
#pragma once

#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "svmgsu/data/means.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

class Gaussians {
 public:
  // `weights` may be empty (all 1); `rows` chooses a subset of the examples of the arrays without
  // copying them (labels and weights are those of the subset), null for all.
  Gaussians(std::shared_ptr<const Means> means, CovarianceSum covariance, std::vector<double> labels,
            std::vector<double> weights = {}, const std::vector<Index>* rows = nullptr)
      : means_(std::move(means)),
        covariance_(std::move(covariance)),
        labels_(std::move(labels)),
        weights_(std::move(weights)) {
    if (rows) {
      ids_ = *rows;
    } else {
      ids_.resize(static_cast<std::size_t>(means_->examples()));
      std::iota(ids_.begin(), ids_.end(), Index{0});
    }
    if (weights_.empty()) weights_.assign(ids_.size(), 1.0);
    check();
    const auto& terms = covariance_.terms();
    paired_ = !terms.empty() && means_->rows().alike(terms[0].kind->like_means(), means_->examples());
  }

  template <class Scalar>
  Gaussians(const MatrixOf<Scalar>& means, CovarianceSum covariance, const Vector& labels,
            const Vector& weights = Vector())
      : Gaussians(std::make_shared<DenseMeans<Scalar>>(means.data(), means.rows(), means.cols()), std::move(covariance),
                  std::vector<double>(labels.data(), labels.data() + labels.size()),
                  std::vector<double>(weights.data(), weights.data() + weights.size())) {}
  template <class Scalar>
  Gaussians(const EigenOf<Scalar, -1>& means, CovarianceSum covariance, const Vector& labels,
            const Vector& weights = Vector())
      : Gaussians(std::make_shared<DenseMeans<Scalar>>(means.data(), means.rows(), means.cols()), std::move(covariance),
                  std::vector<double>(labels.data(), labels.data() + labels.size()),
                  std::vector<double>(weights.data(), weights.data() + weights.size())) {}
  template <class Scalar>
  Gaussians(MatrixOf<Scalar>&&, CovarianceSum, const Vector&, const Vector& = Vector()) = delete;
  template <class Scalar>
  Gaussians(EigenOf<Scalar, -1>&&, CovarianceSum, const Vector&, const Vector& = Vector()) = delete;

  Index examples() const { return static_cast<Index>(ids_.size()); }
  Index features() const { return means_->features(); }
  const Means& means() const { return *means_; }
  const std::vector<CovarianceSum::Term>& covariance() const { return covariance_.terms(); }
  const std::vector<Index>& ids() const { return ids_; }
  // Whether the means and the rows of the first covariance term can be read in one loop.
  bool paired() const { return paired_; }
  double label(Index i) const { return labels_[static_cast<std::size_t>(i)]; }
  const double* labels() const { return labels_.data(); }
  double weight(Index i) const { return weights_[static_cast<std::size_t>(i)]; }

 private:
  void check() const {
    const Index total = means_->examples();
    require(!ids_.empty(), "means: there are no examples");
    require(features() > 0, "means: there are no features");
    for (const Index id : ids_)  // the message only where it is needed: it takes longer than the check
      if (id < 0 || id >= total) require(false, "rows: " + std::to_string(id) + " is not an example");
    require(labels_.size() == ids_.size(),
            "labels: " + std::to_string(labels_.size()) + " for " + std::to_string(ids_.size()) + " examples");
    require(weights_.size() == ids_.size(),
            "weights: " + std::to_string(weights_.size()) + " for " + std::to_string(ids_.size()) + " examples");
    for (std::size_t i = 0; i < labels_.size(); ++i)
      if (labels_[i] != 1 && labels_[i] != -1)
        require(false, "labels: example " + std::to_string(i) + " has " + std::to_string(labels_[i]) +
                           "; labels must be -1 or +1");
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (!(weights_[i] >= 0 && weights_[i] <= std::numeric_limits<double>::max()))
        require(false, "weights: example " + std::to_string(i) + " has " + std::to_string(weights_[i]) +
                           "; weights must be >= 0 and finite");
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
  std::vector<double> labels_, weights_;
  std::vector<Index> ids_;
  bool paired_ = false;
};

}  // namespace svmgsu
