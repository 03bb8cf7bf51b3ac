// One Gaussian as maps read it, and the moments of features over all samples and mixtures.
#include <cmath>

#include "support/linalg.hpp"
#include "support/parallel.hpp"
#include "svmgsu/maps/maps.hpp"

namespace svmgsu {

void OneGaussian::read(const Gaussians& data, Index sample) {
  require(sample >= 0 && sample < data.samples(),
          "sample: " + std::to_string(sample) + " of " + std::to_string(data.samples()));
  const Index n = data.features(), id = data.ids()[static_cast<std::size_t>(sample)];
  x.setZero(n);
  const double one = 1;
  data.means().add(Batch{&id, 1}, &one, x.data());
  Index rows = 0;
  bool plain = false, whole = false;
  for (const auto& term : data.covariance()) {
    const Index rank = term.kind.rank(id);
    rows += std::max<Index>(0, rank);
    plain |= rank < 0 && !term.kind.dense();
    whole |= rank < 0 && term.kind.dense();
  }
  diagonal.setZero(plain ? n : 0);
  factors.setZero(rows, rows ? n : 0);
  dense.setZero(whole ? n : 0, whole ? n : 0);
  const Vector ones = Vector::Ones(plain ? n : 0);
  Index row = 0;
  for (const auto& term : data.covariance()) {
    const Index rank = term.kind.rank(id);
    if (rank >= 0) {
      if (rank > 0) term.kind.factors(id, term.scale, factors.row(row).data());
      row += rank;
    } else if (term.kind.dense()) {
      term.kind.add_full(id, term.scale, dense);
    } else {
      term.kind.add_product(id, term.scale, ones.data(), n, diagonal.data());
    }
  }
}

// The messages only where they are needed: maps are asked about every sample.
void OneGaussian::require_sizes() const {
  const Index n = features();
  if (diagonal.size() != 0 && diagonal.size() != n) require(false, "diagonal: one variance for each feature is wanted");
  if (factors.rows() != 0 && factors.cols() != n) require(false, "factors: one column for each feature is wanted");
  if (dense.rows() != 0 && (dense.rows() != n || dense.cols() != n))
    require(false, "dense: a row and a column for each feature are wanted");
}

void OneGaussian::times(const Matrix& w, Matrix& out) const {
  require_sizes();
  if (w.cols() != features())
    require(false, "w: " + std::to_string(w.cols()) + " columns for " + std::to_string(features()) + " features");
  out.resize(w.rows(), w.cols());
  if (dense.rows()) {
    out = linalg::product(w, dense);
  } else {
    out.setZero();
  }
  if (diagonal.size()) out.array() += w.array().rowwise() * diagonal.transpose().array();
  if (factors.rows()) out += linalg::product(linalg::product_transposed(w, factors), factors);
}

void OneGaussian::full(Matrix& out) const {
  require_sizes();
  if (dense.rows()) {
    out = dense;
  } else {
    out.setZero(features(), features());
  }
  if (diagonal.size()) out.diagonal() += diagonal;
  if (factors.rows()) out += linalg::transposed_product(factors, factors);
}

void Map::require_inputs(const OneGaussian& g) const {
  if (g.features() != inputs())
    require(false, "map: the data have " + std::to_string(g.features()) + " features, the map is for " +
                       std::to_string(inputs()));
  g.require_sizes();
}

void Map::require_inputs(const OneGaussian& g, const double* out) const {
  require_inputs(g);
  if (!out) require(false, "out: null pointer");
}

namespace {

constexpr Index kBlock = 64;  // samples of one piece of work; it depends on nothing

// use(Gaussian, weight) for the components of a sample.
template <class Use>
void for_components(const Gaussians& data, const Blend& blend, Index sample, OneGaussian& g, Use use) {
  for (Index k = 0; k < blend.components; ++k) {
    const Index row = sample * blend.components + k;
    const double weight = blend.weight ? blend.weight[row] : 1.0;
    if (blend.weight && !(weight > blend.least)) continue;
    g.read(data, row);
    use(g, weight);
  }
}

void check(const Map& map, const Gaussians& data, const Blend& blend) {
  require(map.inputs() == data.features(), "map: the data have " + std::to_string(data.features()) +
                                               " features, the map is for " + std::to_string(map.inputs()));
  require(
      blend.components > 0 && data.samples() % blend.components == 0 && (blend.weight || blend.components == 1),
      "blend: " + std::to_string(data.samples()) + " Gaussians are no mixtures of " + std::to_string(blend.components));
  require(blend.least >= 0, "blend: the least weight must be >= 0, got " + to_text(blend.least));
  for (Index i = 0; blend.weight && i < data.samples(); ++i)
    if (!(blend.weight[i] >= 0 && std::isfinite(blend.weight[i])))
      require(false, "blend: weight " + std::to_string(i) + " is " + to_text(blend.weight[i]) +
                         "; weights must be >= 0 and finite");
}

// What one sample's features have to give, in turn.
class Mixer {
 public:
  Mixer(const Map& map, const Gaussians& data, const Blend& blend)
      : map_(map), data_(data), blend_(blend), part_(map.outputs()) {}

  // E z
  const Vector& mean(Index sample) {
    mean_.setZero(map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.mean(g, part_.data());
      mean_ += weight * part_;
    });
    return mean_;
  }

  // Var z after mean(): within the components and between them.
  void variances(Index sample, double* out) {
    Eigen::Map<EigenVector> sum(out, map_.outputs());
    sum.setZero();
    Vector spread(map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.variances(g, spread.data());
      sum += weight * spread;
      if (!blend_.weight) return;
      map_.mean(g, part_.data());
      sum += weight * (part_ - mean_).cwiseAbs2();
    });
  }

  // Cov z after mean()
  const Matrix& covariance(Index sample) {
    total_.setZero(map_.outputs(), map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.covariance(g, cov_);
      total_ += weight * cov_;
      if (!blend_.weight) return;
      map_.mean(g, part_.data());
      part_ -= mean_;
      total_.noalias() += (weight * part_) * part_.transpose();
    });
    return total_;
  }

 private:
  const Map& map_;
  const Gaussians& data_;
  const Blend& blend_;
  OneGaussian g_;
  Vector part_, mean_;
  Matrix cov_, total_;
};

void pack(const Matrix& full, double* out) {
  for (Index j = 0; j < full.rows(); ++j)
    for (Index k = j; k < full.cols(); ++k) *out++ = full(j, k);
}

}  // namespace

template <class Scalar>
FeatureMoments map_moments(const Map& map, const Gaussians& data, const Blend& blend, Spread spread, Scalar* mean,
                           int threads) {
  check(map, data, blend);
  require(mean != nullptr, "mean: null pointer");
  const Index samples = blend.samples(data), m = map.outputs(), blocks = (samples + kBlock - 1) / kBlock;
  FeatureMoments result;
  if (spread == Spread::diagonal) result.variance.resize(samples, m);
  if (spread == Spread::full) result.packed.resize(samples, m * (m + 1) / 2);
  parallel_for(blocks, threads, [&](Index block) {
    Mixer mixer(map, data, blend);
    for (Index i = block * kBlock; i < std::min(samples, (block + 1) * kBlock); ++i) {
      const Vector& z = mixer.mean(i);
      for (Index j = 0; j < m; ++j) mean[i * m + j] = static_cast<Scalar>(z[j]);
      if (spread == Spread::diagonal) mixer.variances(i, &result.variance(i, 0));
      if (spread == Spread::full) pack(mixer.covariance(i), &result.packed(i, 0));
    }
  });
  return result;
}

template FeatureMoments map_moments<double>(const Map&, const Gaussians&, const Blend&, Spread, double*, int);
template FeatureMoments map_moments<float>(const Map&, const Gaussians&, const Blend&, Spread, float*, int);

}  // namespace svmgsu
