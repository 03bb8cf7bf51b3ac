// A centre and a unit for every feature, and mixtures in these units.
#include "population/units.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "population/reader.hpp"
#include "support/linalg.hpp"

namespace svmgsu {
namespace {

constexpr Index kMostProjected = 20000;  // objects that are asked about projections

// The value below which the share `q` of the numbers lies.
double quantile(std::vector<double>& numbers, double q) {
  const auto place = static_cast<std::ptrdiff_t>(q * static_cast<double>(numbers.size() - 1) + 0.5);
  std::nth_element(numbers.begin(), numbers.begin() + place, numbers.end());
  return numbers[static_cast<std::size_t>(place)];
}

void set_unit(std::vector<double>& seen, Index j, Units& units) {
  const std::string name = "X: feature " + std::to_string(j);
  require(!seen.empty(), name + " is missing in every sample; leave it out");
  const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
  require(*least < *most, name + " is " + to_text(*least) +
                              " in every sample that has it; a population has no spread there, leave it out");
  units.centre.coeffRef(j) = quantile(seen, 0.5);
  double scale = (quantile(seen, 0.84) - quantile(seen, 0.16)) / 2;
  if (!(scale > 0)) {  // most are the same
    double square = 0;
    for (const double x : seen) square += (x - units.centre.coeff(j)) * (x - units.centre.coeff(j));
    scale = std::sqrt(square / static_cast<double>(seen.size()));
  }
  units.scale.coeffRef(j) = scale;
}

// x of one lane: what was seen, or of projections the shortest x with R x = t. NaN for features that nothing is said
// of.
EigenVector seen_of(const Reader& reader, const Lanes& some, int lane) {
  const Index n = reader.features(), m = reader.values();
  const auto entry = [lane](const std::vector<double>& entries, Index at) {
    return entries[static_cast<std::size_t>(at * lanes::kLanes + lane)];
  };
  EigenVector t(m);
  for (Index i = 0; i < m; ++i)
    t(i) =
        reader.projects() || entry(some.mask, i) != 0 ? entry(some.value, i) : std::numeric_limits<double>::quiet_NaN();
  if (!reader.projects()) return t;
  EigenMatrix r(m, n);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) r(i, j) = entry(some.r, i * n + j);
  EigenVector x = linalg::least_squares(r, t);
  for (Index j = 0; j < n; ++j)
    if (!r.col(j).any()) x(j) = std::numeric_limits<double>::quiet_NaN();
  return x;
}

}  // namespace

Units units_of(const Observations& observed) {
  const Index n = observed.features();
  require(n > 0, "projection: there are no features");
  Units units{Vector::Zero(n), Vector::Ones(n)};
  const Reader reader(observed, units);
  const Index step = reader.projects() ? std::max<Index>(1, reader.samples() / kMostProjected) : 1;
  std::vector<std::vector<double>> seen(static_cast<std::size_t>(n));
  Lanes some;
  for (Index first = 0; first < reader.samples(); first += step * lanes::kLanes) {
    reader.load(first, some);
    for (int lane = 0; lane < some.count; ++lane) {
      const EigenVector x = seen_of(reader, some, lane);
      for (Index j = 0; j < n; ++j)
        if (!std::isnan(x(j))) seen[static_cast<std::size_t>(j)].push_back(x(j));
    }
  }
  for (Index j = 0; j < n; ++j) set_unit(seen[static_cast<std::size_t>(j)], j, units);
  return units;
}

void check_mixture(const Mixture& mixture, Index features) {
  const Index components = mixture.components(), n = mixture.features();
  require(components > 0, "mixture: there are no components");
  require(n == features, "mixture: " + std::to_string(n) + " features, but there are " + std::to_string(features));
  require(mixture.means.rows() == components && mixture.covariances.rows() == components &&
              mixture.covariances.cols() == n * n,
          "mixture: the means must be K × n and the covariances K × n² for K weights");
  require((mixture.weights.array() >= 0).all(), "mixture: weights must be >= 0");
  const double sum = mixture.weights.sum();
  require(sum > 0 && std::isfinite(sum) && mixture.means.allFinite() && mixture.covariances.allFinite(),
          "mixture: all numbers must be finite, and the sum of the weights positive");
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
  const EigenMatrix scaled = eigen.vectors * eigen.values.cwiseMax(floor).asDiagonal();
  const EigenMatrix lifted = linalg::product_transposed(scaled, eigen.vectors);
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
