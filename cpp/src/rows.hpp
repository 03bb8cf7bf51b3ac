// A batch of examples as the row pointers that the kernels take.
#pragma once

#include "svmgsu/kernels.hpp"

namespace svmgsu {

template <class Scalar>
struct RowPointers {
  const Scalar* at[kMaxBatch] = {};
  RowPointers(const Scalar* data, Index length, Batch batch) {
    for (int i = 0; i < batch.count; ++i) at[i] = data + batch.id[i] * length;
  }
};

}  // namespace svmgsu
