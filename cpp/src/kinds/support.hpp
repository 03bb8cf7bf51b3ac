// What several kinds need.
#pragma once

#include "svmgsu/kernels/kernels.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

inline double dot(const double* a, const double* b, Index n) {
  double result;
  kernels::row_dots(&a, 1, n, b, &result);
  return result;
}

inline void add_scaled(Index n, double factor, const double* a, double* out) {
  kernels::add_rows(&a, 1, n, &factor, out);
}

// out += scale · (rows · what the plan knows of w and v): the bilinear form of the kinds that are rows.
template <class Rows>
void add_dots(const Rows& rows, Batch batch, const Plan& plan, double scale, double* out) {
  double product[kMaxBatch];
  rows.dots(batch, plan.of_w.data(), product);
  for (int i = 0; i < batch.count; ++i) out[i] += scale * product[i];
}

inline void add_to_diagonal(const double* values, Index step, Index n, double scale, double* out, Index stride) {
  for (Index j = 0; j < n; ++j) out[j * (stride + 1)] += scale * values[j * step];
}

inline void add_unpacked(const double* packed, Index n, double scale, double* out, Index stride) {
  for (Index i = 0; i < n; ++i)
    for (Index j = i; j < n; ++j) {
      const double value = scale * *packed++;
      out[i * stride + j] += value;
      if (i != j) out[j * stride + i] += value;
    }
}

inline void add_packed_diagonal(const double* packed, Index n, double scale, double* out) {
  for (Index j = 0; j < n; ++j) {
    out[j] += scale * *packed;
    packed += n - j;
  }
}

}  // namespace svmgsu
