#include <cmath>

#include "support/linalg.hpp"
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
    out.noalias() = w * dense;
  } else {
    out.setZero();
  }
  if (diagonal.size()) out.array() += w.array().rowwise() * diagonal.transpose().array();
  if (factors.rows()) {
    const EigenMatrix inner = w * factors.transpose();
    out.noalias() += inner * factors;
  }
}

void OneGaussian::full(Matrix& out) const {
  require_sizes();
  if (dense.rows()) {
    out = dense;
  } else {
    out.setZero(features(), features());
  }
  if (diagonal.size()) out.diagonal() += diagonal;
  if (factors.rows()) out.noalias() += factors.transpose() * factors;
}

void OneGaussian::root(Matrix& out) const {
  require_sizes();
  const Index n = features();
  if (!dense.rows() && !diagonal.size()) {
    out = factors;
    return;
  }
  if (!dense.rows() && !factors.rows()) {
    out.setZero(n, n);
    for (Index j = 0; j < n; ++j) out(j, j) = std::sqrt(diagonal[j]);
    return;
  }
  Matrix sigma;
  full(sigma);
  const linalg::Eigenpairs eigen = linalg::eigenpairs(sigma);
  out = eigen.values.cwiseMax(0).cwiseSqrt().asDiagonal() * eigen.vectors.transpose();
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

void Map::require_weights(const double* w) const {
  if (!w) require(false, "w: null pointer");
}

void Map::require_weights(const Matrix& w, const double* mean, const double* variance) const {
  if (w.rows() > 0 && !mean) require(false, "mean: null pointer");
  if (w.rows() > 0 && !variance) require(false, "variance: null pointer");
  if (w.cols() != outputs())
    require(false,
            "w: " + std::to_string(w.cols()) + " columns, but the map has " + std::to_string(outputs()) + " features");
}

void Map::scores(const OneGaussian& g, const Matrix& w, double* mean_out, double* variance) const {
  require_inputs(g);
  require_weights(w, mean_out, variance);
  Vector z(outputs());
  mean(g, z.data());
  Matrix cov;
  if (!g.certain()) covariance(g, cov);
  for (Index k = 0; k < w.rows(); ++k) {
    mean_out[k] = w.row(k).dot(z);
    variance[k] = g.certain() ? 0.0 : std::max(0.0, w.row(k).dot(cov * w.row(k).transpose()));
  }
}

void Map::slope(const OneGaussian& g, const double* w, double* out) const {
  require_inputs(g, out);
  require_weights(w);
  Matrix j;
  jacobian(g, j);
  Eigen::Map<EigenVector>(out, inputs()).noalias() = j.transpose() * Eigen::Map<const EigenVector>(w, outputs());
}

}  // namespace svmgsu
