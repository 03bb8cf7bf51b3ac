// Matrices that many examples have in common.
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// One Σ for all examples, or one for each group of examples (say, each class): group[i] of `count`.
class Shared final : public Covariance {
 public:
  // `packed`: count × n(n+1)/2, or count × n variances where `diagonal`.
  Shared(const double* packed, Index count, Index features, bool diagonal, const std::int32_t* group, Index examples)
      : packed_(packed), count_(count), features_(features), diagonal_(diagonal), group_(group), examples_(examples) {
    require(count > 0, "covariance: there is no matrix to share");
    require(group || count == 1, "covariance: several matrices need a group for each example");
    require(!group || examples >= 0, "covariance: sizes must be >= 0");
    require_rows(DenseRows<double>{packed, count, features}, "covariance");
  }

  Index examples() const override { return group_ ? examples_ : -1; }
  Index features() const override { return features_; }
  double numbers_per_example() const override { return 1; }
  bool dense() const override { return true; }
  Index sum_size() const override { return count_; }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const override;
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

  Index group(Index example) const { return group_ ? group_[example] : 0; }
  // out += factor · Σ_k v
  void times(Index k, double factor, const double* v, double* out) const;
  double bilinear(Index k, const double* a, const double* b) const;

 private:
  const double* packed_;
  Index count_, features_;
  bool diagonal_;
  const std::int32_t* group_;
  Index examples_;
};

}  // namespace svmgsu
