// A whole matrix for each example.
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// A full symmetric Σ_i, packed as its upper triangle row after row: n(n+1)/2 numbers per example.
// wᵀΣw is then a dot product with the packed wwᵀ, and Σ κ_i Σ_i a weighted sum of rows.
template <class Scalar>
class Full final : public Covariance {
 public:
  Full(const Scalar* packed, Index examples, Index features)
      : packed_(packed), examples_(examples), features_(features) {
    require_rows(DenseRows<Scalar>{packed, examples, features}, "covariance");
  }
  // One packed example a row; `svmgsu::pack` makes them from n × n matrices.
  explicit Full(const MatrixOf<Scalar>& packed);
  explicit Full(MatrixOf<Scalar>&&) = delete;

  Index examples() const override { return examples_; }
  Index features() const override { return features_; }
  double numbers_per_example() const override { return static_cast<double>(sum_size()); }
  bool dense() const override { return true; }
  Index sum_size() const override { return features_ * (features_ + 1) / 2; }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const override;
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

 private:
  const Scalar* packed_;
  Index examples_, features_;
};

}  // namespace svmgsu
