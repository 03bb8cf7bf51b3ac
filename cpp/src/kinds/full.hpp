// A symmetric Σ_i, packed as its upper triangle: wᵀΣw is a dot product with the packed wwᵀ, and Σ κ_i Σ_i a sum of
// rows.
#pragma once

#include "kinds/loops.hpp"

namespace svmgsu {

struct FullLoops {
  const Covariance& of;

  Index sum_size() const { return of.rows().columns(); }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const {
    plan.of_w.resize(static_cast<std::size_t>(sum_size()));
    double* out = plan.of_w.data();
    for (Index i = 0; i < n; ++i) {
      *out++ = w[i] * v[i];
      for (Index j = i + 1; j < n; ++j) *out++ = w[i] * v[j] + w[j] * v[i];
    }
  }
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const {
    add_dots(of.rows(), batch, plan, scale, out);
  }
  void weigh(Batch batch, const Plan&, const double* kappa, double* sum) const { of.rows().add(batch, kappa, sum); }
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const {
    kernels::packed_times(sum, n, scale, w, out);
  }
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const {
    unpack(sum, n, scale, out, stride);
    return true;
  }
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const {
    for (Index j = 0; j < n; sum += n - j, ++j) out[j] += scale * *sum;
  }
  void add_full(Index i, double scale, Index n, double* out, Index stride) const {
    if (of.rows().wide())
      unpack(of.rows().wide() + i * sum_size(), n, scale, out, stride);
    else
      unpack(of.rows().narrow() + i * sum_size(), n, scale, out, stride);
  }
  void add_diagonal(Index i, double scale, Index n, double* out) const {
    for (Index j = 0, at = i * sum_size(); j < n; at += n - j, ++j) out[j] += scale * of.rows().number(at);
  }
  void add_product(Index i, double factor, const double* w, Index n, double* out) const {
    if (of.rows().wide())
      kernels::packed_times(of.rows().wide() + i * sum_size(), n, factor, w, out);
    else
      kernels::packed_times(of.rows().narrow() + i * sum_size(), n, factor, w, out);
  }
  std::string fault(Index i, faults::Whose whose, Index n) const {
    return faults::matrix_fault(of.rows(), i, whose, n);
  }

 private:
  template <class Scalar>
  static void unpack(const Scalar* packed, Index n, double scale, double* out, Index stride) {
    for (Index i = 0; i < n; ++i)
      for (Index j = i; j < n; ++j) {
        const double value = scale * static_cast<double>(*packed++);
        out[i * stride + j] += value;
        if (i != j) out[j * stride + i] += value;
      }
  }
};

}  // namespace svmgsu
