// x_j and x_j x_k, j ≤ k: the polynomials of degree one and two, in the order of scikit-learn's PolynomialFeatures.
#pragma once

#include "svmgsu/maps/map.hpp"

namespace svmgsu {

class Polynomial final : public Map {
 public:
  explicit Polynomial(Index inputs);

  Index inputs() const override { return n_; }
  Index outputs() const override { return n_ + n_ * (n_ + 1) / 2; }
  void mean(const OneGaussian& g, double* out) const override;
  void covariance(const OneGaussian& g, Matrix& out) const override;
  void variances(const OneGaussian& g, double* out) const override;
  void jacobian(const OneGaussian& g, Matrix& out) const override;

 private:
  Index n_;
};

}  // namespace svmgsu
