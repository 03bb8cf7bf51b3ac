// Σ_i = v_i I. The sum Σ κ_i Σ_i is one number.
#pragma once

#include "kinds/loops.hpp"

namespace svmgsu {

struct IsotropicLoops {
  const Covariance& of;
  double variance(Index i) const { return of.rows().number(i); }

  Index sum_size() const { return 1; }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const { plan.of_w.assign(1, dot(w, v, n)); }
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const {
    for (int i = 0; i < batch.count; ++i) out[i] += scale * variance(batch.id[i]) * plan.of_w[0];
  }
  void weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
    for (int i = 0; i < batch.count; ++i) sum[0] += kappa[i] * variance(batch.id[i]);
  }
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const {
    add_scaled(n, scale * sum[0], w, out);
  }
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const {
    for (Index j = 0; j < n; ++j) out[j * (stride + 1)] += scale * sum[0];
    return true;
  }
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const { expand(sum, n, scale, out, 0); }
  void add_full(Index i, double scale, Index n, double* out, Index stride) const {
    for (Index j = 0; j < n; ++j) out[j * (stride + 1)] += scale * variance(i);
  }
  void add_diagonal(Index i, double scale, Index n, double* out) const { add_full(i, scale, n, out, 0); }
  void add_product(Index i, double factor, const double* w, Index n, double* out) const {
    add_scaled(n, factor * variance(i), w, out);
  }
  std::string fault(Index i, faults::Whose whose, Index) const { return faults::variance_fault(variance(i), whose); }
};

}  // namespace svmgsu
