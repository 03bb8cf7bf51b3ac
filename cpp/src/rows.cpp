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
                 const double* weights, double* out_a, double* out_b) {
  for (int i = 0; i < batch.count; ++i) {
    const Index last = start[batch.id[i] + 1];
    Index k = start[batch.id[i]];
    double a_even = 0, a_odd = 0, b_even = 0, b_odd = 0;
    for (; k + 2 <= last; k += 2) {
      const double *even = weights + 2 * Index{column[k]}, *odd = weights + 2 * Index{column[k + 1]};
      a_even += static_cast<double>(a[k]) * even[0];
      b_even += static_cast<double>(b[k]) * even[1];
      a_odd += static_cast<double>(a[k + 1]) * odd[0];
      b_odd += static_cast<double>(b[k + 1]) * odd[1];
    }
    if (k < last) {
      a_even += static_cast<double>(a[k]) * weights[2 * Index{column[k]}];
      b_even += static_cast<double>(b[k]) * weights[2 * Index{column[k]} + 1];
    }
    out_a[i] = a_even + a_odd;
    out_b[i] = b_even + b_odd;
  }
}

template <class Scalar>
void sparse_add(const Scalar* a, const Scalar* b, const std::int32_t* column, const Index* start, Batch batch,
                const double* ca, const double* cb, double* sums) {
  for (int i = 0; i < batch.count; ++i) {
    const double factor_a = ca[i], factor_b = cb[i];
    if (factor_a == 0 && factor_b == 0) continue;
    const Index last = start[batch.id[i] + 1];
    for (Index k = start[batch.id[i]]; k < last; ++k) {
      double* at = sums + 2 * Index{column[k]};
      at[0] += factor_a * static_cast<double>(a[k]);
      at[1] += factor_b * static_cast<double>(b[k]);
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

RowPair::RowPair(RowsView a, RowsView b, Index features, const double* wa, const double* wb)
    : a_(a), b_(b), features_(features), wa_(wa), wb_(wb) {
  if (!sparse() || !wb) return;
  weights_.resize(2 * static_cast<std::size_t>(features));
  for (std::size_t j = 0; j < weights_.size(); j += 2) {
    weights_[j] = wa[j / 2];
    weights_[j + 1] = wb[j / 2];
  }
}

void RowPair::dots(Batch batch, double* out_a, double* out_b) const {
  if (sparse()) {
    if (a_.wide) sparse_dots(a_.wide, b_.wide, a_.column, a_.start, batch, weights_.data(), out_a, out_b);
    if (a_.narrow) sparse_dots(a_.narrow, b_.narrow, a_.column, a_.start, batch, weights_.data(), out_a, out_b);
  } else {
    if (a_.wide) dense_dots(a_.wide, b_.wide, features_, batch, wa_, wb_, out_a, out_b);
    if (a_.narrow) dense_dots(a_.narrow, b_.narrow, features_, batch, wa_, wb_, out_a, out_b);
  }
}

void RowPair::add(Batch batch, const double* ca, const double* cb, double* sums) const {
  if (a_.wide) sparse_add(a_.wide, b_.wide, a_.column, a_.start, batch, ca, cb, sums);
  if (a_.narrow) sparse_add(a_.narrow, b_.narrow, a_.column, a_.start, batch, ca, cb, sums);
}

void add_apart(const std::vector<double>& sums, double* a, double* b) {
  for (std::size_t j = 0; j < sums.size(); j += 2) {
    a[j / 2] += sums[j];
    b[j / 2] += sums[j + 1];
  }
}

}  // namespace svmgsu
