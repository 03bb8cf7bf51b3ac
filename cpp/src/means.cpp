#include "svmgsu/means.hpp"

#include "rows.hpp"

namespace svmgsu {

template <class Scalar>
void DenseMeans<Scalar>::dots(Batch batch, const double* w, double* out) const {
  const RowPointers<Scalar> rows(data_, features_, batch);
  kernels::row_dots(rows.at, batch.count, features_, w, out);
}

template <class Scalar>
void DenseMeans<Scalar>::add(Batch batch, const double* coefficient, double* sum) const {
  const RowPointers<Scalar> rows(data_, features_, batch);
  kernels::add_rows(rows.at, batch.count, features_, coefficient, sum);
}

template <class Scalar>
void SparseRows<Scalar>::dots(Batch batch, const double* w, double* out) const {
  for (int i = 0; i < batch.count; ++i) {
    const Index first = start[batch.id[i]], last = start[batch.id[i] + 1];
    double even = 0, odd = 0;
    Index k = first;
    for (; k + 2 <= last; k += 2) {
      even += static_cast<double>(value[k]) * w[column[k]];
      odd += static_cast<double>(value[k + 1]) * w[column[k + 1]];
    }
    if (k < last) even += static_cast<double>(value[k]) * w[column[k]];
    out[i] = even + odd;
  }
}

template <class Scalar>
void SparseRows<Scalar>::add(Batch batch, const double* coefficient, double* sum) const {
  for (int i = 0; i < batch.count; ++i) {
    if (coefficient[i] == 0) continue;
    const Index last = start[batch.id[i] + 1];
    for (Index k = start[batch.id[i]]; k < last; ++k) sum[column[k]] += coefficient[i] * static_cast<double>(value[k]);
  }
}

template class DenseMeans<double>;
template class DenseMeans<float>;
template struct SparseRows<double>;
template struct SparseRows<float>;
template class SparseMeans<double>;
template class SparseMeans<float>;

}  // namespace svmgsu
