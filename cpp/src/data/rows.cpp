#include "data/rows.hpp"

#include <algorithm>

#include "kernels/dispatch.hpp"

namespace svmgsu {
namespace {

// Weights of both arrays, side by side in memory.
struct SideBySide {
  const double* weights;
  double of_a(std::int32_t j) const { return weights[2 * Index{j}]; }
  double of_b(std::int32_t j, double) const { return weights[2 * Index{j} + 1]; }
};

// The weights of the second array are the squares of the first's: half as much to read.
struct Squares {
  const double* weights;
  double of_a(std::int32_t j) const { return weights[j]; }
  double of_b(std::int32_t, double of_a) const { return of_a * of_a; }
};

// Two partial sums each: the additions of one need not wait for those of the other.
template <class Scalar, class Weights>
void sparse_dots(const Scalar* a, const Scalar* b, const RowsView& at, Batch batch, Weights weights, double* out_a,
                 double* out_b) {
  for (int i = 0; i < batch.count; ++i) {
    const Index last = at.start[batch.id[i] + 1];
    double a_even = 0, a_odd = 0, b_even = 0, b_odd = 0;
    const auto add = [&](Index k, double& sum_a, double& sum_b) {
      const double w = weights.of_a(at.column[k]);
      sum_a += static_cast<double>(a[k]) * w;
      sum_b += static_cast<double>(b[k]) * weights.of_b(at.column[k], w);
    };
    Index k = at.start[batch.id[i]];
    for (; k + 2 <= last; k += 2) {
      add(k, a_even, b_even);
      add(k + 1, a_odd, b_odd);
    }
    if (k < last) add(k, a_even, b_even);
    out_a[i] = a_even + a_odd;
    out_b[i] = b_even + b_odd;
  }
}

template <class Scalar>
void sparse_add(const Scalar* a, const Scalar* b, const RowsView& at, Batch batch, const double* ca, const double* cb,
                double* sums) {
  for (int i = 0; i < batch.count; ++i) {
    const double factor_a = ca[i], factor_b = cb[i];
    if (factor_a == 0 && factor_b == 0) continue;
    const Index last = at.start[batch.id[i] + 1];
    for (Index k = at.start[batch.id[i]]; k < last; ++k) {
      double* sum = sums + 2 * Index{at.column[k]};
      sum[0] += factor_a * static_cast<double>(a[k]);
      sum[1] += factor_b * static_cast<double>(b[k]);
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
  if (!sparse()) return;
  squares_ = std::equal(wa, wa + features, wb, [](double x, double square) { return x * x == square; });
  if (squares_) return;
  for (Index j = 0; j < features; ++j) weights_.insert(weights_.end(), {wa[j], wb[j]});
}

template <class Scalar>
void RowPair::dots(const Scalar* a, const Scalar* b, Batch batch, double* out_a, double* out_b) const {
  if (!sparse())
    kernels::paired_dots(a, b, batch, features_, wa_, wb_, out_a, out_b);
  else if (squares_)
    sparse_dots(a, b, a_, batch, Squares{wa_}, out_a, out_b);
  else
    sparse_dots(a, b, a_, batch, SideBySide{weights_.data()}, out_a, out_b);
}

void RowPair::dots(Batch batch, double* out_a, double* out_b) const {
  if (a_.wide) dots(a_.wide, b_.wide, batch, out_a, out_b);
  if (a_.narrow) dots(a_.narrow, b_.narrow, batch, out_a, out_b);
}

void RowPair::add(Batch batch, const double* ca, const double* cb, double* sums) const {
  if (a_.wide) sparse_add(a_.wide, b_.wide, a_, batch, ca, cb, sums);
  if (a_.narrow) sparse_add(a_.narrow, b_.narrow, a_, batch, ca, cb, sums);
}

void add_apart(const std::vector<double>& sums, double* a, double* b) {
  for (std::size_t j = 0; j < sums.size(); j += 2) {
    a[j / 2] += sums[j];
    b[j / 2] += sums[j + 1];
  }
}

}  // namespace svmgsu
