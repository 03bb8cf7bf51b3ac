#include "population/standard.hpp"

#include <cmath>
#include <string>

#include "support/linalg.hpp"

namespace svmgsu {

void check_mixture(const Mixture& mixture, Index features) {
  const Index components = mixture.components(), n = mixture.features();
  require(components > 0, "mixture: there are no components");
  require(n == features, "mixture: " + std::to_string(n) + " features, but there are " + std::to_string(features));
  require(mixture.means.rows() == components && mixture.covariances.rows() == components &&
              mixture.covariances.cols() == n * n,
          "mixture: the means must be K × n and the covariances K × n² for K weights");
  double sum = 0;
  for (Index k = 0; k < components; ++k) {
    require(mixture.weights.coeff(k) >= 0, "mixture: weights must be >= 0");
    sum += mixture.weights.coeff(k);
  }
  bool finite = sum > 0 && std::isfinite(sum);
  for (Index i = 0; i < components * n; ++i) finite &= std::isfinite(mixture.means.data()[i]);
  for (Index i = 0; i < components * n * n; ++i) finite &= std::isfinite(mixture.covariances.data()[i]);
  require(finite, "mixture: all numbers must be finite, and the sum of the weights positive");
}

void check_units(const Units& units, Index features) {
  require(units.centre.size() == features && units.scale.size() == features,
          "units: " + std::to_string(units.centre.size()) + " centres and " + std::to_string(units.scale.size()) +
              " scales, but there are " + std::to_string(features) + " features");
  require(units.centre.allFinite(), "units: the centre must be finite");
  require(units.scale.allFinite() && (units.scale.array() > 0).all(), "units: scales must be > 0 and finite");
}

EigenMatrix at_least(const EigenMatrix& matrix, double floor) {
  const EigenMatrix symmetric = (matrix + matrix.transpose()) / 2;
  const linalg::Eigenpairs eigen = linalg::eigenpairs(symmetric);
  if (eigen.values.minCoeff() >= floor) return symmetric;
  const EigenMatrix lifted = eigen.vectors * eigen.values.cwiseMax(floor).asDiagonal() * eigen.vectors.transpose();
  return (lifted + lifted.transpose()) / 2;
}

Mixture standardised(const Mixture& mixture, const Units& units, double floor) {
  const Index n = mixture.features();
  Mixture out = mixture;
  out.weights /= mixture.weights.sum();
  for (Index k = 0; k < mixture.components(); ++k) {
    EigenMatrix s(n, n);
    for (Index i = 0; i < n; ++i) {
      out.means.coeffRef(k, i) = (mixture.means.coeff(k, i) - units.centre.coeff(i)) / units.scale.coeff(i);
      for (Index j = 0; j < n; ++j)
        s(i, j) = mixture.covariances.coeff(k, i * n + j) / units.scale.coeff(i) / units.scale.coeff(j);
    }
    Eigen::Map<EigenMatrix>(out.covariances.data() + k * n * n, n, n) = at_least(s, floor);
  }
  return out;
}

Mixture in_units(const Mixture& mixture, const Units& units) {
  const Index n = mixture.features();
  Mixture out = mixture;
  for (Index k = 0; k < mixture.components(); ++k)
    for (Index i = 0; i < n; ++i) {
      out.means.coeffRef(k, i) = units.centre.coeff(i) + units.scale.coeff(i) * mixture.means.coeff(k, i);
      for (Index j = 0; j < n; ++j)
        out.covariances.coeffRef(k, i * n + j) *= units.scale.coeff(i) * units.scale.coeff(j);
    }
  return out;
}

}  // namespace svmgsu
