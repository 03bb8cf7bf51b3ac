// A covariance's part in Hessian products at the w of a finished pass. For each product:
//     prepare(v);  cross(batch, scale, out): out[i] += scale · wᵀΣ_i v;
//     weigh(batch, tau, kappa, sum);  finish(sum, scale, out): out += scale · Σ_i Σ_i (τ_i w + κ_i v).
#pragma once

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

class Curvature {
 public:
  // `plan` and `sum` = Σ κ_i Σ_i are those of the pass at w; `active` are the samples whose κ_i is not zero.
  Curvature(const Covariance& kind, const Vector& w, const Plan& plan, std::vector<double> sum,
            const std::vector<Index>& active, int threads);

  Index sum_size() const { return remembers() ? w_.size() : kind_.sum_size(); }
  void prepare(const double* v);
  void cross(Batch batch, double scale, double* out) const;
  void weigh(Batch batch, const double* tau, const double* kappa, double* sum) const;
  void finish(const double* sum, double scale, double* out) const;

  // As Covariance::like_means; wᵀΣ_i v is row i times `weights()`.
  const Rows* like_means() const { return kind_.like_means(); }
  const double* weights() const { return plan_.of_w.data(); }

 private:
  // Full matrices: Σ_i w of the active samples is remembered, so that a product reads 2n numbers of each instead of
  // n²/2. Factors: F_i w is remembered, and a product needs F_i v once and then Fᵀ(τ F w + κ F v). All others sum
  // Σ τ_i Σ_i as in a gradient.
  bool full() const { return kind_.layout() == Covariance::Layout::full && !kind_.is_shared(); }
  bool remembers() const { return full() || kind_.by_factors(); }
  Batch places(Batch batch, Index* room) const;

  Covariance kind_;
  Vector w_;
  std::vector<double> sum_;  // Σ κ_i Σ_i
  const double* v_ = nullptr;
  mutable Plan plan_;                  // of w and v; of factors: F_i w
  mutable std::vector<double> image_;  // of factors: F_i v, of which each sample writes its own rows
  std::vector<Index> place_;           // of a sample in `products_`
  Matrix products_;                    // of full matrices: Σ_i w, a row for each active sample
};

}  // namespace svmgsu
