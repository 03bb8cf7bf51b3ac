// Examples together with what they should become: all that training learns from.
#pragma once

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/data/targets.hpp"

namespace svmgsu {

struct TrainingSet {
  Gaussians data;
  Targets targets;

  TrainingSet(Gaussians data_, Targets targets_) : data(std::move(data_)), targets(std::move(targets_)) {
    targets.require_examples(data.examples());
  }

  // Of two classes, with labels ±1.
  template <class Scalar>
  TrainingSet(const MatrixOf<Scalar>& means, CovarianceSum covariance, const Vector& labels,
              const Vector& weights = Vector())
      : TrainingSet(Gaussians(means, std::move(covariance)), Targets::labels(labels, weights)) {}
  template <class Scalar>
  TrainingSet(const EigenOf<Scalar, -1>& means, CovarianceSum covariance, const Vector& labels,
              const Vector& weights = Vector())
      : TrainingSet(Gaussians(means, std::move(covariance)), Targets::labels(labels, weights)) {}
  template <class Scalar>
  TrainingSet(MatrixOf<Scalar>&&, CovarianceSum, const Vector&, const Vector& = Vector()) = delete;
  template <class Scalar>
  TrainingSet(EigenOf<Scalar, -1>&&, CovarianceSum, const Vector&, const Vector& = Vector()) = delete;
};

}  // namespace svmgsu
