// One variance for each example.
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// Σ_i = v_i I.
template <class Scalar>
class Isotropic final : public Covariance {
 public:
  Isotropic(const Scalar* variances, Index examples) : variances_(variances), examples_(examples) {
    require_rows(DenseRows<Scalar>{variances, examples, 1}, "covariance");
  }
  explicit Isotropic(const VectorOf<Scalar>& v) : Isotropic(v.data(), v.size()) {}
  explicit Isotropic(const EigenOf<Scalar, 1>& v) : Isotropic(v.data(), v.size()) {}
  explicit Isotropic(VectorOf<Scalar>&&) = delete;
  explicit Isotropic(EigenOf<Scalar, 1>&&) = delete;

  Index examples() const override { return examples_; }
  Index features() const override { return -1; }
  double numbers_per_example() const override { return 1; }
  Index sum_size() const override { return 1; }
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
  const Scalar* variances_;
  Index examples_;
};

}  // namespace svmgsu
