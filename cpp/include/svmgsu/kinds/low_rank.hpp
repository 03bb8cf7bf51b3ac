// Factors of each example's matrix.
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// Σ_i = F_iᵀF_i with a few rows F_i: rows start[i] .. start[i+1] of `factors`, or `rank` rows each.
template <class Scalar>
class LowRank final : public Covariance {
 public:
  LowRank(const Scalar* factors, Index examples, Index rank, Index features)
      : factors_(factors), start_(nullptr), rank_(rank), examples_(examples), features_(features) {
    require(rank >= 0, "covariance: the rank must be >= 0");
    require_rows(DenseRows<Scalar>{factors, examples * rank, features}, "covariance");
  }
  LowRank(const Scalar* factors, const Index* start, Index examples, Index features)
      : factors_(factors), start_(start), rank_(0), examples_(examples), features_(features) {
    require(start != nullptr, "covariance: start is a null pointer");
    require(examples >= 0 && start[0] >= 0, "covariance: sizes must be >= 0");
    for (Index i = 0; i < examples; ++i)
      if (start[i] > start[i + 1]) require(false, "covariance: start falls after example " + std::to_string(i));
    require_rows(DenseRows<Scalar>{factors, start[examples], features}, "covariance");
  }

  Index examples() const override { return examples_; }
  Index features() const override { return features_; }
  double numbers_per_example() const override {
    return examples_ ? static_cast<double>(features_) * static_cast<double>(rows()) / static_cast<double>(examples_)
                     : 0.0;
  }
  Index sum_size() const override { return features_; }
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
  Index rank(Index example) const override { return end(example) - begin(example); }
  double mean_rank() const override {
    return examples_ ? static_cast<double>(rows()) / static_cast<double>(examples_) : 0.0;
  }
  void factors(Index example, double scale, double* out) const override;

  Index rows() const { return begin(examples_); }
  Index begin(Index example) const { return start_ ? start_[example] : example * rank_; }
  Index end(Index example) const { return begin(example + 1); }
  const Scalar* row(Index k) const { return factors_ + k * features_; }

 private:
  const Scalar* factors_;
  const Index* start_;
  Index rank_, examples_, features_;
};

}  // namespace svmgsu
