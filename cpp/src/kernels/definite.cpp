// A Cholesky factor of a small packed matrix, for the question whether there is one.
#include <algorithm>
#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"
#include "kernels/simd.hpp"

namespace svmgsu::kernels {
namespace {

constexpr Index kTall = 4;  // rows that are factored at once
constexpr Index kWide = 8;  // columns of a tile

Index padded(Index n) { return (n + kWide - 1) / kWide * kWide; }

// Where row `row` has columns [column, column + kWide): such panels of columns stand one after another.
Index place(Index size, Index row, Index column) { return (column / kWide * size + row) * kWide; }

// Rows [row, row + kTall) of U in one panel: S − Σ_k<row U_k·ᵀU_k·, then the rows of the block among themselves. `left`
// is the panel that holds the block's own triangle, found when it comes `first`, whose inverse diagonal and negative
// rest stay in `corner`.
SVMGSU_CLONES bool tile(const double* left, double* right, Index row, bool first, double* SVMGSU_RESTRICT corner) {
  Four low[kTall] = {}, high[kTall] = {};
  const Index inside = row % kWide;
  for (Index k = 0; k < row; ++k) {
    Four right_low, right_high;
    read(right + k * kWide, right_low);
    read(right + k * kWide + 4, right_high);
    for (Index i = 0; i < kTall; ++i) {
      const double x = left[k * kWide + inside + i];
      const Four factor{x, x, x, x};
      low[i] += factor * right_low;
      high[i] += factor * right_high;
    }
  }
  bool holds = true;
  const Four minus{-1, -1, -1, -1};
  for (Index i = 0; i < kTall; ++i) {
    double* at = right + (row + i) * kWide;
    Four at_low, at_high;
    read(at, at_low);
    read(at + 4, at_high);
    at_low += minus * low[i];
    at_high += minus * high[i];
    for (Index k = 0; k < i; ++k) {
      if (first) corner[k * kTall + i] = -left[(row + k) * kWide + inside + i];
      const double x = corner[k * kTall + i];
      const Four factor{x, x, x, x};
      at_low += factor * low[k];
      at_high += factor * high[k];
    }
    if (first) {
      write(at_low, at);
      write(at_high, at + 4);
      holds &= at[inside + i] > 0;
      corner[i * kTall + i] = 1 / std::sqrt(at[inside + i]);
    }
    const double x = corner[i * kTall + i];
    const Four factor{x, x, x, x};
    low[i] = factor * at_low;  // this row's sums are no longer wanted
    high[i] = factor * at_high;
    write(low[i], at);
    write(high[i], at + 4);
  }
  return holds;
}

// The upper triangle in panels, the diagonal times `factor`, and 1 on it where nothing varies. False where something
// covaries with what does not vary.
template <class Scalar>
bool unpack(const Scalar* packed, Index n, double factor, double* out) {
  const Index size = padded(n);
  bool even = true;
  for (Index a = 0; a < size; ++a) {
    for (Index first = a / kWide * kWide; first < size; first += kWide) {
      double* to = out + place(size, a, first);
      for (Index b = first; b < first + kWide; ++b) *to++ = b < a || b >= n ? 0.0 : static_cast<double>(*packed++);
    }
    double& variance = out[place(size, a, a) + a % kWide];
    if (variance > 0) {
      variance *= factor;
      continue;
    }
    for (Index k = 0; k < a; ++k) even &= out[place(size, k, a) + a % kWide] == 0;
    for (Index b = a; b < size; ++b) even &= out[place(size, a, b) + b % kWide] == 0;
    variance = 1;
  }
  return even;
}

}  // namespace

Index room_for_root(Index n) { return padded(n) * padded(n); }

template <class Scalar>
bool has_root(const Scalar* packed, Index n, double shift, double* work) {
  if (!unpack(packed, n, 1 + shift, work)) return false;
  const Index size = padded(n);
  double corner[kTall * kTall];
  for (Index row = 0; row < size; row += kTall) {
    double* left = work + place(size, 0, row);
    if (!tile(left, left, row, true, corner)) return false;
    for (Index column = (row / kWide + 1) * kWide; column < size; column += kWide)
      tile(left, work + place(size, 0, column), row, false, corner);
  }
  return true;
}

template bool has_root(const double*, Index, double, double*);
template bool has_root(const float*, Index, double, double*);

}  // namespace svmgsu::kernels
