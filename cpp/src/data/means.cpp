// Reading rows: dense ones by the kernels, sparse ones entry by entry.
#include "svmgsu/data/means.hpp"

#include "data/rows.hpp"
#include "kernels/dispatch.hpp"

namespace svmgsu {
namespace {

constexpr Index kAhead = 160;  // entries

}  // namespace

template <class Scalar>
void DenseRows<Scalar>::dots(Batch batch, const double* w, double* out) const {
  const RowPointers<Scalar> rows(data, features, batch);
  kernels::row_dots(rows.at, batch.count, features, w, out);
}

template <class Scalar>
void DenseRows<Scalar>::add(Batch batch, const double* coefficient, double* sum) const {
  kernels::add_rows(data, batch, features, coefficient, sum);
}

template <class Scalar>
void DenseRows<Scalar>::add_product(Index example, double factor, const double* w, double* sum) const {
  const Scalar* row = data + example * features;
  for (Index j = 0; j < features; ++j) sum[j] += factor * static_cast<double>(row[j]) * w[j];
}

// Four partial sums: the additions of one need not wait for those of another. The entries a few rows on are fetched
// meanwhile: reading w all over the place leaves the hardware's own prefetching behind.
template <class Scalar>
void SparseRows<Scalar>::dots(Batch batch, const double* w, double* out) const {
  for (int i = 0; i < batch.count; ++i) {
    const Index last = start[batch.id[i] + 1];
    Index k = start[batch.id[i]];
    const auto product = [&](Index at) { return static_cast<double>(value[at]) * w[column[at]]; };
    double a = 0, b = 0, c = 0, d = 0;
    for (; k + 4 <= last; k += 4) {
      SVMGSU_PREFETCH(value + k + kAhead);
      SVMGSU_PREFETCH(column + k + 2 * kAhead);
      a += product(k);
      b += product(k + 1);
      c += product(k + 2);
      d += product(k + 3);
    }
    for (; k < last; ++k) a += product(k);
    out[i] = (a + b) + (c + d);
  }
}

template <class Scalar>
void SparseRows<Scalar>::add(Batch batch, const double* coefficient, double* SVMGSU_RESTRICT sum) const {
  for (int i = 0; i < batch.count; ++i) {
    const double factor = coefficient[i];
    if (factor == 0) continue;
    const Index first = start[batch.id[i]], count = start[batch.id[i] + 1] - first;
    const Scalar* v = value + first;
    const std::int32_t* j = column + first;
    for (Index k = 0; k < count; ++k) sum[j[k]] += factor * static_cast<double>(v[k]);
  }
}

template <class Scalar>
void SparseRows<Scalar>::add_product(Index example, double factor, const double* w, double* sum) const {
  for (Index k = start[example]; k < start[example + 1]; ++k)
    sum[column[k]] += factor * static_cast<double>(value[k]) * w[column[k]];
}

template <class Scalar>
void DenseRows<Scalar>::add_squares(Batch batch, const double* coefficient, double* sum) const {
  kernels::add_squares(data, batch, features, coefficient, sum);
}

template <class Scalar>
void SparseRows<Scalar>::add_squares(Batch batch, const double* coefficient, double* SVMGSU_RESTRICT sum) const {
  for (int i = 0; i < batch.count; ++i)
    for (Index k = start[batch.id[i]]; k < start[batch.id[i] + 1]; ++k)
      sum[column[k]] += coefficient[i] * (static_cast<double>(value[k]) * static_cast<double>(value[k]));
}

template struct DenseRows<double>;
template struct DenseRows<float>;
template struct SparseRows<double>;
template struct SparseRows<float>;

}  // namespace svmgsu
