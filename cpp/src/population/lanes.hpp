// Small matrices of several objects side by side, one object a lane: entry e of all lanes stands together, so that
// every operation is one on vectors. Symmetric and lower triangular matrices are packed, row after row.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu::lanes {

constexpr int kLanes = 8;

// Where the entry (i, j), j ≤ i, of a packed matrix begins.
inline Index packed(Index i, Index j) { return (i * (i + 1) / 2 + j) * kLanes; }
inline Index triangle(Index n) { return n * (n + 1) / 2; }
// Where the entry (i, j), i ≥ j, of a lower triangle that is packed column after column begins.
inline Index transposed(Index j, Index i, Index n) { return (j * n - j * (j - 1) / 2 + i - j) * kLanes; }

// A matrix column after column; of a lower triangle only what is not zero.
struct Columns {
  const double* data;
  Index rows;
  bool lower;

  Index first(Index j) const { return lower ? j : 0; }
  const double* column(Index j) const { return data + (lower ? transposed(j, j, rows) : j * rows * kLanes); }
};

// out = mask_i mask_j S_ij + noise_ij, where S (n × n, row-major) is one for all lanes.
void add_masked(const double* s, const double* mask, const double* noise, Index n, double* out);

// out = R S Rᵀ + noise, where R is m × n; `work` holds m × n entries.
void add_projected(const double* s, const double* r, const double* noise, Index m, Index n, double* work, double* out);

// T = LLᵀ in place, with the inverse of L's diagonal on it; log_root[l] = log |L|. A pivot that rounding has eaten is
// lifted to what rounding leaves.
void cholesky(double* t, Index n, double* log_root);

// y = L⁻¹ y in place; square[l] = |y|².
void solve(const double* l, Index n, double* y, double* square);

// out = L⁻¹, column after column.
void invert(const double* l, Index n, double* out);

// P = L⁻¹ R, column after column: R is m × n, or a diagonal of 0 and 1, where it is made in place.
void times_projection(const double* inverse, const double* r, Index m, Index n, double* out);
void times_mask(const double* mask, Index n, double* inverse);

// out = Pᵀ y, n entries.
void transposed_product(const Columns& p, const double* y, Index n, double* out);

// With v = Pᵀ y of each lane: first += q v, second += q (v vᵀ − PᵀP), packed.
void add_moments(const Columns& p, const double* v, const double* q, Index n, double* first, double* second);

// The sums of one noise for all: y = L⁻¹(z − μ) with L (n × n) in common, square[l] = |y|²; and first += q y,
// second += q y yᵀ.
void solve_common(const double* l, const double* mean, const double* z, Index n, double* y, double* square);
void add_squares(const double* y, const double* q, Index n, double* first, double* second);

}  // namespace svmgsu::lanes
