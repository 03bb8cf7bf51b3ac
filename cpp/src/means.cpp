// Reading rows: dense ones by the kernels, sparse ones entry by entry.
#include "svmgsu/means.hpp"

#include "rows.hpp"

namespace svmgsu {

template <class Scalar>
void DenseRows<Scalar>::dots(Batch batch, const double* w, double* out) const {
  const RowPointers<Scalar> rows(data, features, batch);
  kernels::row_dots(rows.at, batch.count, features, w, out);
}

template <class Scalar>
void DenseRows<Scalar>::add(Batch batch, const double* coefficient, double* sum) const {
  const RowPointers<Scalar> rows(data, features, batch);
  kernels::add_rows(rows.at, batch.count, features, coefficient, sum);
}

template <class Scalar>
void DenseRows<Scalar>::add_product(Index example, double factor, const double* w, double* sum) const {
  const Scalar* row = data + example * features;
  for (Index j = 0; j < features; ++j) sum[j] += factor * static_cast<double>(row[j]) * w[j];
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

template <class Scalar>
void SparseRows<Scalar>::add_product(Index example, double factor, const double* w, double* sum) const {
  for (Index k = start[example]; k < start[example + 1]; ++k)
    sum[column[k]] += factor * static_cast<double>(value[k]) * w[column[k]];
}

template struct DenseRows<double>;
template struct DenseRows<float>;
template struct SparseRows<double>;
template struct SparseRows<float>;

}  // namespace svmgsu
