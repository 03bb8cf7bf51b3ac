// Where to start from: k-means of the objects, each put where one Gaussian population would have it.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "population/pass.hpp"
#include "population/units.hpp"
#include "support/random.hpp"
#include "svmgsu/population/deconvolution.hpp"

namespace svmgsu {
namespace {

constexpr Index kMostClustered = 20000;
constexpr int kRounds = 20;

double uniform(SplitMix64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// At most kMostClustered of the samples, drawn at random, in their order.
std::vector<Index> drawn(Index samples, SplitMix64& random) {
  std::vector<Index> places(static_cast<std::size_t>(samples));
  std::iota(places.begin(), places.end(), Index{0});
  if (samples <= kMostClustered) return places;
  for (Index i = 0; i < kMostClustered; ++i) {
    const auto other = i + static_cast<Index>(random() % static_cast<std::uint64_t>(samples - i));
    std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(other)]);
  }
  places.resize(kMostClustered);
  std::sort(places.begin(), places.end());
  return places;
}

struct Clusters {
  EigenMatrix centres;
  std::vector<Index> member;
};

// k-means++: centres drawn with odds of their squared distance to those drawn before.
EigenMatrix first_centres(const EigenMatrix& x, Index components, SplitMix64& random) {
  EigenMatrix centres(components, x.cols());
  EigenVector distance = EigenVector::Constant(x.rows(), std::numeric_limits<double>::infinity());
  auto place = static_cast<Index>(uniform(random) * static_cast<double>(x.rows()));
  for (Index k = 0; k < components; ++k) {
    centres.row(k) = x.row(place);
    distance = distance.cwiseMin((x.rowwise() - centres.row(k)).rowwise().squaredNorm());
    double left = uniform(random) * distance.sum();
    for (place = 0; place + 1 < x.rows() && left >= distance(place); ++place) left -= distance(place);
  }
  return centres;
}

Clusters cluster(const EigenMatrix& x, Index components, SplitMix64& random) {
  Clusters out{first_centres(x, components, random), std::vector<Index>(static_cast<std::size_t>(x.rows()), -1)};
  for (int round = 0; round < kRounds; ++round) {
    bool moved = false;
    EigenMatrix sum = EigenMatrix::Zero(components, x.cols());
    EigenVector count = EigenVector::Zero(components);
    for (Index i = 0; i < x.rows(); ++i) {
      Index nearest = 0;
      (out.centres.rowwise() - x.row(i)).rowwise().squaredNorm().minCoeff(&nearest);
      Index& member = out.member[static_cast<std::size_t>(i)];
      moved |= member != nearest;
      member = nearest;
      sum.row(nearest) += x.row(i);
      count(nearest) += 1;
    }
    for (Index k = 0; k < components; ++k)
      if (count(k) > 0) out.centres.row(k) = sum.row(k) / count(k);
    if (!moved) break;
  }
  return out;
}

// Each cluster as a component. `spread` is the mean posterior covariance of the objects; a small cluster borrows from
// all others.
Mixture moments(const EigenMatrix& x, const Clusters& clusters, const EigenMatrix& spread, double floor) {
  const Index n = x.cols(), components = clusters.centres.rows();
  std::vector<EigenMatrix> scatter(static_cast<std::size_t>(components), EigenMatrix::Zero(n, n));
  EigenMatrix pooled = EigenMatrix::Zero(n, n);
  EigenVector count = EigenVector::Zero(components);
  for (Index i = 0; i < x.rows(); ++i) {
    const Index k = clusters.member[static_cast<std::size_t>(i)];
    const EigenVector away = (x.row(i) - clusters.centres.row(k)).transpose();
    scatter[static_cast<std::size_t>(k)] += away * away.transpose();
    count(k) += 1;
  }
  for (const EigenMatrix& one : scatter) pooled += one / static_cast<double>(x.rows());
  Mixture out;
  out.weights.setZero(components);
  out.means = clusters.centres;
  out.covariances.setZero(components, n * n);
  const auto borrowed = static_cast<double>(n + 1);
  for (Index k = 0; k < components; ++k) {
    out.weights.coeffRef(k) = (count(k) + 1) / static_cast<double>(x.rows() + components);
    const EigenMatrix s = (scatter[static_cast<std::size_t>(k)] + borrowed * pooled) / (count(k) + borrowed) + spread;
    Eigen::Map<EigenMatrix>(out.covariances.data() + k * n * n, n, n) = at_least(s, floor);
  }
  return out;
}

}  // namespace

Mixture start_mixture(const Observations& observed, const Units& units, Index components, std::uint64_t seed,
                      const DeconvolutionOptions& options) {
  require(components > 0, "components: must be at least 1");
  check_options(options);
  const Reader whole(observed, units);  // refuses what it cannot read
  SplitMix64 random(seed);
  const std::vector<Index> places = drawn(observed.data.samples(), random);
  std::vector<Index> ids;
  std::vector<double> weights;
  for (const Index i : places) {
    ids.push_back(observed.data.ids()[static_cast<std::size_t>(i)]);
    if (observed.weights) weights.push_back(observed.weights[i]);
  }
  const Gaussians some(observed.data.means(), CovarianceSum(observed.data.covariance()), &ids);
  const Observations part{some, observed.projection, observed.projected, weights.empty() ? nullptr : weights.data()};
  const Index n = observed.features(), count = some.samples();

  Mixture one{Vector::Ones(1), Matrix::Zero(1, n), Matrix::Zero(1, n * n)};
  Eigen::Map<EigenMatrix>(one.covariances.data(), n, n).setIdentity();
  DeconvolutionOptions quick = options;
  quick.tolerance = 1e-3;
  quick.max_iterations = 30;
  const Mixture all = deconvolve(part, units, in_units(one, units), quick).mixture;
  if (components == 1) return all;

  Matrix means(count, n), covariances(count, n * n);
  Posterior wanted;
  wanted.means = means.data();
  wanted.covariances = covariances.data();
  posterior(part, units, all, options.threads, wanted);
  EigenMatrix x(count, n), spread = EigenMatrix::Zero(n, n);
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < n; ++j) {
      x(i, j) = (means.coeff(i, j) - units.centre.coeff(j)) / units.scale.coeff(j);
      for (Index k = 0; k < n; ++k)
        spread(j, k) += covariances.coeff(i, j * n + k) / (units.scale.coeff(j) * units.scale.coeff(k));
    }
  spread /= static_cast<double>(count);
  return in_units(moments(x, cluster(x, components, random), spread, options.floor), units);
}

}  // namespace svmgsu
