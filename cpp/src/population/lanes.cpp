#include "population/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "population/eight.hpp"

namespace svmgsu::lanes {
// What is compiled for several instruction sets (kernels/dispatch.hpp); the functions at the end only pass on.
namespace several {
namespace {

constexpr int W = kLanes;
constexpr double kLost = 1e-15;  // of a diagonal entry: a pivot below this is rounding

SVMGSU_CLONES void add_masked(const double* s, const double* mask, const double* noise, Index n, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j, noise += W, out += W)
      write(all(s[i * n + j]) * (read(mask + i * W) * read(mask + j * W)) + read(noise), out);
}

SVMGSU_CLONES void add_projected(const double* s, const double* r, const double* noise, Index m, Index n, double* work,
                                 double* out) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      Eight sum = all(0.0);
      for (Index p = 0; p < n; ++p) sum = sum + read(r + (i * n + p) * W) * all(s[p * n + j]);
      write(sum, work + (i * n + j) * W);
    }
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j, noise += W, out += W)
      write(folded<false>(read(noise), work + i * n * W, W, r + j * n * W, W, n), out);
}

SVMGSU_CLONES void cholesky(double* t, Index n, double* log_root) {
  // The product of the diagonal as mantissa · 2^exponent: one logarithm in all, and no overflow.
  double mantissa[W];
  std::int64_t exponent[W] = {};
  std::fill_n(mantissa, W, 1.0);
  for (Index i = 0; i < n; ++i) {
    double* row = t + packed(i, 0);
    for (Index j = 0; j < i; ++j) {
      const double* other = t + packed(j, 0);
      const Eight sum = folded<true>(read(row + j * W), row, W, other, W, j);
      write(sum * read(other + j * W), row + j * W);  // the diagonal holds its inverse
    }
    const Eight whole = read(row + i * W);
    const Eight left = folded<true>(whole, row, W, row, W, i);
    const Eight root = square_root(larger(left, whole * all(kLost)));
    write(all(1.0) / root, row + i * W);
    double factor[W];
    std::uint64_t bits[W];
    write(root, factor);
    for (int k = 0; k < W; ++k) mantissa[k] *= factor[k];
    std::memcpy(bits, mantissa, sizeof bits);
    for (int k = 0; k < W; ++k) exponent[k] += static_cast<std::int64_t>(bits[k] >> 52) - 1023;
    for (int k = 0; k < W; ++k) bits[k] = (bits[k] & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    std::memcpy(mantissa, bits, sizeof bits);
  }
  for (int k = 0; k < W; ++k)
    log_root[k] = std::log(mantissa[k]) + static_cast<double>(exponent[k]) * 0.69314718055994530942;
}

SVMGSU_CLONES void solve(const double* l, Index n, double* y, double* square) {
  Eight total = all(0.0);
  for (Index i = 0; i < n; ++i) {
    const double* row = l + packed(i, 0);
    const Eight value = folded<true>(read(y + i * W), row, W, y, W, i) * read(row + i * W);
    write(value, y + i * W);
    total = total + value * value;
  }
  write(total, square);
}

// Column by column, so that every sum reads along a row of L and along what it has written of the column.
SVMGSU_CLONES void invert(const double* l, Index n, double* out) {
  for (Index j = 0; j < n; ++j) {
    double* column = out + transposed(j, j, n);
    write(read(l + packed(j, j)), column);
    for (Index i = j + 1; i < n; ++i) {
      const double* row = l + packed(i, 0);
      const Eight sum = folded<true>(all(0.0), row + j * W, W, column, W, i - j);
      write(sum * read(row + i * W), column + (i - j) * W);
    }
  }
}

SVMGSU_CLONES void times_projection(const double* inverse, const double* r, Index m, Index n, double* out) {
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      Eight sum = all(0.0);
      for (Index p = 0; p <= i; ++p) sum = sum + read(inverse + transposed(p, i, m)) * read(r + (p * n + j) * W);
      write(sum, out + (j * m + i) * W);
    }
}

SVMGSU_CLONES void times_mask(const double* mask, Index n, double* inverse) {
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i, inverse += W) write(read(inverse) * read(mask + j * W), inverse);
}

SVMGSU_CLONES void transposed_product(const Columns& p, const double* y, Index n, double* out) {
  for (Index j = 0; j < n; ++j)
    write(folded<false>(all(0.0), p.column(j), W, y + p.first(j) * W, W, p.rows - p.first(j)), out + j * W);
}

SVMGSU_CLONES void add_moments(const Columns& p, const double* v, const double* q, Index n, double* first,
                               double* second) {
  const Eight share = read(q);
  for (Index i = 0; i < n; ++i) {
    const Eight own = read(v + i * W);
    write(read(first + i * W) + share * own, first + i * W);
    const double* a = p.column(i);
    const Index skipped = p.first(i), count = p.rows - skipped;
    for (Index j = 0; j <= i; ++j, second += W) {
      const double* b = p.column(j) + (skipped - p.first(j)) * W;
      const Eight sum = folded<true>(own * read(v + j * W), a, W, b, W, count);
      write(read(second) + share * sum, second);
    }
  }
}

SVMGSU_CLONES void solve_common(const double* l, const double* mean, const double* z, Index n, double* y,
                                double* square) {
  Eight total = all(0.0);
  for (Index i = 0; i < n; ++i) {
    Eight sum = read(z + i * W) - all(mean[i]);
    for (Index p = 0; p < i; ++p) sum = sum - all(l[i * n + p]) * read(y + p * W);
    const Eight value = sum * all(1 / l[i * n + i]);
    write(value, y + i * W);
    total = total + value * value;
  }
  write(total, square);
}

SVMGSU_CLONES void add_squares(const double* y, const double* q, Index n, double* first, double* second) {
  const Eight share = read(q);
  for (Index i = 0; i < n; ++i) {
    const Eight own = share * read(y + i * W);
    write(read(first + i * W) + own, first + i * W);
    for (Index j = 0; j <= i; ++j, second += W) write(read(second) + own * read(y + j * W), second);
  }
}

}  // namespace
}  // namespace several

void add_masked(const double* s, const double* mask, const double* noise, Index n, double* out) {
  several::add_masked(s, mask, noise, n, out);
}
void add_projected(const double* s, const double* r, const double* noise, Index m, Index n, double* work, double* out) {
  several::add_projected(s, r, noise, m, n, work, out);
}
void cholesky(double* t, Index n, double* log_root) { several::cholesky(t, n, log_root); }
void solve(const double* l, Index n, double* y, double* square) { several::solve(l, n, y, square); }
void invert(const double* l, Index n, double* out) { several::invert(l, n, out); }
void times_projection(const double* inverse, const double* r, Index m, Index n, double* out) {
  several::times_projection(inverse, r, m, n, out);
}
void times_mask(const double* mask, Index n, double* inverse) { several::times_mask(mask, n, inverse); }
void transposed_product(const Columns& p, const double* y, Index n, double* out) {
  several::transposed_product(p, y, n, out);
}
void add_moments(const Columns& p, const double* v, const double* q, Index n, double* first, double* second) {
  several::add_moments(p, v, q, n, first, second);
}
void solve_common(const double* l, const double* mean, const double* z, Index n, double* y, double* square) {
  several::solve_common(l, mean, z, n, y, square);
}
void add_squares(const double* y, const double* q, Index n, double* first, double* second) {
  several::add_squares(y, q, n, first, second);
}

}  // namespace svmgsu::lanes
