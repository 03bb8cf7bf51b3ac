// Batches of examples for the kernels: as row pointers, and two arrays at once.
#pragma once

#include "svmgsu/kernels.hpp"
#include "svmgsu/means.hpp"

namespace svmgsu {

template <class Scalar>
struct RowPointers {
  const Scalar* at[kMaxBatch];
  RowPointers(const Scalar* data, Index length, Batch batch) {
    for (int i = 0; i < batch.count; ++i) at[i] = data + batch.id[i] * length;
  }
};

// Two arrays of rows that are alike, read in one loop: dense ones keep memory busier that way, of sparse ones the
// columns are read once.
struct RowPair {
  RowsView a, b;
  Index features;

  // out_a[i] = a_i·wa and out_b[i] = b_i·wb
  void dots(Batch batch, const double* wa, const double* wb, double* out_a, double* out_b) const;
  // sum_a += Σ ca[i] a_i and sum_b += Σ cb[i] b_i; for sparse rows.
  void add(Batch batch, const double* ca, const double* cb, double* sum_a, double* sum_b) const;
  bool sparse() const { return a.column != nullptr; }
};

}  // namespace svmgsu
