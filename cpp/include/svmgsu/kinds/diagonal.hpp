// Variances of each example and feature, dense or sparse.
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// Σ_i = diag(V_i), one row of variances per example; Rows tells how a row is stored.
template <class Rows>
class RowDiagonal : public Covariance {
 public:
  explicit RowDiagonal(Rows rows) : rows_(rows) { require_rows(rows_, "covariance"); }

  Index examples() const override { return rows_.examples; }
  Index features() const override { return rows_.features; }
  double numbers_per_example() const override { return rows_.numbers_per_example(); }
  RowsView like_means() const override { return rows_.view(); }
  Index sum_size() const override { return rows_.features; }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const override;
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

 private:
  Rows rows_;
};

template <class Scalar>
class Diagonal final : public RowDiagonal<DenseRows<Scalar>> {
 public:
  Diagonal(const Scalar* variances, Index examples, Index features)
      : RowDiagonal<DenseRows<Scalar>>({variances, examples, features}) {}
  explicit Diagonal(const MatrixOf<Scalar>& v) : Diagonal(v.data(), v.rows(), v.cols()) {}
  explicit Diagonal(const EigenOf<Scalar, -1>& v) : Diagonal(v.data(), v.rows(), v.cols()) {}
  explicit Diagonal(MatrixOf<Scalar>&&) = delete;
  explicit Diagonal(EigenOf<Scalar, -1>&&) = delete;
};

// The same in compressed sparse rows.
template <class Scalar>
class SparseDiagonal final : public RowDiagonal<SparseRows<Scalar>> {
 public:
  explicit SparseDiagonal(SparseRows<Scalar> rows) : RowDiagonal<SparseRows<Scalar>>(rows) {}
};

}  // namespace svmgsu
