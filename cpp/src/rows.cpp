#include "rows.hpp"

#include <algorithm>

#include "dispatch.hpp"

namespace svmgsu {
namespace {

template <class Scalar>
void dense_dots(const Scalar* a, const Scalar* b, Index features, Batch batch, const double* wa, const double* wb,
                double* out_a, double* out_b) {
  const RowPointers<Scalar> rows_a(a, features, batch), rows_b(b, features, batch);
  const Scalar *next_a[4], *next_b[4];  // where the streams of the next batch begin
  for (int k = 0; k < 4; ++k) {
    const Index id = batch.ahead < 4 ? batch.id[0] : batch.id[batch.count + k * (batch.ahead / 4)];
    next_a[k] = a + id * features;
    next_b[k] = b + id * features;
  }
  kernels::paired_dots(rows_a.at, rows_b.at, batch.count, next_a, next_b, features, wa, wb, out_a, out_b);
}

// Two partial sums each: the additions of one need not wait for those of the other.
template <class Scalar>
void sparse_dots(const Scalar* a, const Scalar* b, const std::int32_t* column, const Index* start, Batch batch,
                 const double* wa, const double* wb, double* out_a, double* out_b) {
  for (int i = 0; i < batch.count; ++i) {
    const Index last = start[batch.id[i] + 1];
    Index k = start[batch.id[i]];
    double a_even = 0, a_odd = 0, b_even = 0, b_odd = 0;
    for (; k + 2 <= last; k += 2) {
      const Index even = column[k], odd = column[k + 1];
      a_even += static_cast<double>(a[k]) * wa[even];
      b_even += static_cast<double>(b[k]) * wb[even];
      a_odd += static_cast<double>(a[k + 1]) * wa[odd];
      b_odd += static_cast<double>(b[k + 1]) * wb[odd];
    }
    if (k < last) {
      a_even += static_cast<double>(a[k]) * wa[column[k]];
      b_even += static_cast<double>(b[k]) * wb[column[k]];
    }
    out_a[i] = a_even + a_odd;
    out_b[i] = b_even + b_odd;
  }
}

template <class Scalar>
void sparse_add(const Scalar* a, const Scalar* b, const std::int32_t* column, const Index* start, Batch batch,
                const double* ca, const double* cb, double* SVMGSU_RESTRICT sum_a, double* SVMGSU_RESTRICT sum_b) {
  for (int i = 0; i < batch.count; ++i) {
    const double factor_a = ca[i], factor_b = cb[i];
    if (factor_a == 0 && factor_b == 0) continue;
    const Index last = start[batch.id[i] + 1];
    for (Index k = start[batch.id[i]]; k < last; ++k) {
      const Index j = column[k];
      sum_a[j] += factor_a * static_cast<double>(a[k]);
      sum_b[j] += factor_b * static_cast<double>(b[k]);
    }
  }
}

}  // namespace

bool RowsView::alike(const RowsView& other, Index examples) const {
  if (!(wide && other.wide) && !(narrow && other.narrow)) return false;
  if (!column || !other.column) return !column && !other.column;
  return std::equal(start, start + examples + 1, other.start) &&
         std::equal(column + start[0], column + start[examples], other.column + start[0]);
}

void RowPair::dots(Batch batch, const double* wa, const double* wb, double* out_a, double* out_b) const {
  if (sparse()) {
    if (a.wide) sparse_dots(a.wide, b.wide, a.column, a.start, batch, wa, wb, out_a, out_b);
    if (a.narrow) sparse_dots(a.narrow, b.narrow, a.column, a.start, batch, wa, wb, out_a, out_b);
  } else {
    if (a.wide) dense_dots(a.wide, b.wide, features, batch, wa, wb, out_a, out_b);
    if (a.narrow) dense_dots(a.narrow, b.narrow, features, batch, wa, wb, out_a, out_b);
  }
}

void RowPair::add(Batch batch, const double* ca, const double* cb, double* sum_a, double* sum_b) const {
  if (a.wide) sparse_add(a.wide, b.wide, a.column, a.start, batch, ca, cb, sum_a, sum_b);
  if (a.narrow) sparse_add(a.narrow, b.narrow, a.column, a.start, batch, ca, cb, sum_a, sum_b);
}

}  // namespace svmgsu
