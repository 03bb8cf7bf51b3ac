// What the loops of several layouts need. Each layout has a header of its own with the loops over its numbers; they are
// chosen in covariance.cpp.
#pragma once

#include "data/faults.hpp"
#include "kernels/kernels.hpp"
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

// out += scale · (rows · what the plan knows of w and v)
inline void add_dots(const Rows& rows, Batch batch, const Plan& plan, double scale, double* out) {
  double product[kMaxBatch];
  rows.dots(batch, plan.of_w.data(), product);
  for (int i = 0; i < batch.count; ++i) out[i] += scale * product[i];
}

}  // namespace svmgsu
