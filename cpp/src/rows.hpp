// A batch of examples as the row pointers that the kernels take.
#pragma once

#include "svmgsu/covariance.hpp"
#include "svmgsu/kernels.hpp"

namespace svmgsu {

template <class Scalar>
struct RowPointers {
  const Scalar* at[kMaxBatch];
  RowPointers(const Scalar* data, Index length, Batch batch) {
    for (int i = 0; i < batch.count; ++i) at[i] = data + batch.id[i] * length;
  }
};

template <class Scalar>
bool dots_together(const Scalar* a, const Scalar* b, Index features, Batch batch, const double* wa, const double* wb,
                   double* out_a, double* out_b) {
  if (!a || !b) return false;
  const RowPointers<Scalar> rows_a(a, features, batch), rows_b(b, features, batch);
  // Where the streams of the next batch begin.
  const int streams = std::min(4, batch.ahead);
  const Scalar *next_a[4], *next_b[4];
  for (int k = 0; k < streams; ++k) {
    const Index id = batch.id[batch.count + k * (batch.ahead / 4)];
    next_a[k] = a + id * features;
    next_b[k] = b + id * features;
  }
  for (int k = streams; k < 4; ++k) {
    next_a[k] = rows_a.at[0];
    next_b[k] = rows_b.at[0];
  }
  kernels::paired_dots(rows_a.at, rows_b.at, batch.count, next_a, next_b, features, wa, wb, out_a, out_b);
  return true;
}

// out_a[i] = a_i·wa and out_b[i] = b_i·wb in one reading; false where the rows are not both dense, in the
// same precision.
inline bool dots_together(DenseView a, DenseView b, Index features, Batch batch, const double* wa, const double* wb,
                          double* out_a, double* out_b) {
  return dots_together(a.wide, b.wide, features, batch, wa, wb, out_a, out_b) ||
         dots_together(a.narrow, b.narrow, features, batch, wa, wb, out_a, out_b);
}

}  // namespace svmgsu
