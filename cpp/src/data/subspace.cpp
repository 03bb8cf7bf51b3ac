#include "svmgsu/data/subspace.hpp"

#include "support/linalg.hpp"
#include "support/parallel.hpp"

namespace svmgsu {
namespace {

// Eigenpairs of a symmetric matrix, largest first.
struct Descending {
  Vector values;
  Matrix vectors;  // one per column
  explicit Descending(const Matrix& symmetric) {
    const linalg::Eigenpairs ascending = linalg::eigenpairs(symmetric);
    values = ascending.values.reverse().cwiseMax(0.0);
    vectors = ascending.vectors.rowwise().reverse();
  }
};

// To what the entries of matrices were rounded. Rounding variances or factors does not change a rank.
double rounding_of(const CovarianceSum& covariance) {
  for (const auto& term : covariance.terms())
    if (term.kind.layout() == Covariance::Layout::full && term.kind.rows().narrow() && !term.kind.is_shared())
      return std::numeric_limits<float>::epsilon();
  return std::numeric_limits<double>::epsilon();
}

// The kept rows of one sample, from its factors F if it has them: FFᵀ = V Λ Vᵀ gives VᵀF.
Matrix kept_rows(const CovarianceSum& covariance, Index sample, Index n, double p) {
  Index rank = 0;
  for (const auto& term : covariance.terms()) {
    const Index own = term.kind.rank(sample);
    rank = own < 0 ? n : std::min(n, rank + own);
  }
  if (rank == 0) return Matrix(0, n);
  if (rank < n) {
    Matrix factors(rank, n);
    double* at = factors.data();
    for (const auto& term : covariance.terms()) {
      term.kind.factors(sample, term.scale, at);
      at += term.kind.rank(sample) * n;
    }
    const Descending gram(factors * factors.transpose());
    const Index kept = kept_eigenvalues(gram.values, n, p);
    return gram.vectors.leftCols(kept).transpose() * factors;
  }
  Matrix full = Matrix::Zero(n, n);
  for (const auto& term : covariance.terms()) term.kind.add_full(sample, term.scale, full);
  const Descending pairs(full);
  const Index kept = kept_eigenvalues(pairs.values, n, p, rounding_of(covariance));
  return pairs.values.head(kept).cwiseSqrt().asDiagonal() * pairs.vectors.leftCols(kept).transpose();
}

}  // namespace

Index kept_eigenvalues(const Vector& descending, Index n, double p, double epsilon) {
  if (descending.size() == 0 || !(descending(0) > 0)) return 0;
  const double negligible = static_cast<double>(n) * epsilon * descending(0);
  Index rank = 0;
  while (rank < descending.size() && descending(rank) > negligible) ++rank;
  if (p >= 1) return rank;
  const double total = descending.sum();
  double sum = 0;
  for (Index k = 0; k < rank; ++k) {
    sum += descending(k);
    if (sum > p * total) return k + 1;
  }
  return rank;
}

Subspaces eigen_subspaces(const CovarianceSum& covariance, Index samples, Index features, double p, int threads) {
  require(p > 0 && p <= 1, "p: must be in (0, 1], got " + std::to_string(p));
  require(samples >= 0 && features > 0, "samples, features: sizes must be positive");
  for (const auto& term : covariance.terms()) {
    const Index count = term.kind.samples(), columns = term.kind.features();
    require((count < 0 || count >= samples) && (columns < 0 || columns == features),
            "covariance: " + std::to_string(count) + " samples of " + std::to_string(columns) + " features, wanted " +
                std::to_string(samples) + " of " + std::to_string(features));
  }
  std::vector<Matrix> rows(static_cast<std::size_t>(samples));
  parallel_for(samples, team_for(static_cast<double>(samples * features * features), threads),
               [&](Index i) { rows[static_cast<std::size_t>(i)] = kept_rows(covariance, i, features, p); });
  Subspaces result;
  result.start.assign(1, 0);
  for (const Matrix& kept : rows) result.start.push_back(result.start.back() + kept.rows());
  result.factors.resize(static_cast<std::size_t>(result.start.back() * features));
  for (Index i = 0; i < samples; ++i) {
    Matrix& kept = rows[static_cast<std::size_t>(i)];
    std::copy_n(kept.data(), kept.size(), result.factors.data() + result.start[static_cast<std::size_t>(i)] * features);
    kept.resize(0, 0);
  }
  return result;
}

template <class Scalar>
void project_means(const Scalar* means, const Subspaces& subspaces, Index n, int threads, Scalar* out) {
  using Row = EigenOf<Scalar, 1>;
  const auto samples = static_cast<Index>(subspaces.start.size()) - 1;
  parallel_for(samples, team_for(static_cast<double>(samples * n), threads), [&](Index i) {
    const Vector x = Eigen::Map<const Row>(means + i * n, n).template cast<double>();
    Vector projected = Vector::Zero(n);
    for (Index k = subspaces.start[static_cast<std::size_t>(i)]; k < subspaces.start[static_cast<std::size_t>(i) + 1];
         ++k) {
      const Eigen::Map<const EigenVector> f(subspaces.factors.data() + k * n, n);  // √λ u
      projected += (f.dot(x) / f.squaredNorm()) * f;
    }
    Eigen::Map<Row>(out + i * n, n) = projected.cast<Scalar>();
  });
}

template void project_means(const double*, const Subspaces&, Index, int, double*);
template void project_means(const float*, const Subspaces&, Index, int, float*);

}  // namespace svmgsu
