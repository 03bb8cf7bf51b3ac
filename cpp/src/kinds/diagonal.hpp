// Σ_i = diag(V_i), with rows V_i that are dense or sparse. The sum Σ κ_i Σ_i is a row of n numbers.
#pragma once

#include "kinds/loops.hpp"

namespace svmgsu {

struct DiagonalLoops {
  const Covariance& of;

  Index sum_size() const { return of.features(); }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const {
    plan.of_w.resize(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) plan.of_w[static_cast<std::size_t>(j)] = w[j] * v[j];
  }
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const {
    add_dots(of.rows(), batch, plan, scale, out);
  }
  void weigh(Batch batch, const Plan&, const double* kappa, double* sum) const { of.rows().add(batch, kappa, sum); }
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const {
    for (Index j = 0; j < n; ++j) out[j] += scale * sum[j] * w[j];
  }
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const {
    for (Index j = 0; j < n; ++j) out[j * (stride + 1)] += scale * sum[j];
    return true;
  }
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const { expand(sum, n, scale, out, 0); }
  void add_diagonal(Index i, double scale, Index n, double* out) const {
    const Vector ones = Vector::Ones(n);
    of.rows().add_product(i, scale, ones.data(), out);
  }
  void add_full(Index i, double scale, Index n, double* out, Index stride) const {
    Vector variances = Vector::Zero(n);
    add_diagonal(i, scale, n, variances.data());
    expand(variances.data(), n, 1.0, out, stride);
  }
  void add_product(Index i, double factor, const double* w, Index, double* out) const {
    of.rows().add_product(i, factor, w, out);
  }
  std::string fault(Index i, faults::Whose whose, Index) const {
    return faults::row_fault(of.rows(), i, whose, faults::Wanted::variance);
  }
};

}  // namespace svmgsu
