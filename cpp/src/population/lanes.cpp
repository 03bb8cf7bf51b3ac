#include "population/lanes.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/dispatch.hpp"

namespace svmgsu::lanes {
namespace {

constexpr int W = kLanes;
constexpr double kLost = 1e-15;  // of a diagonal entry: a pivot below this is rounding

}  // namespace

SVMGSU_CLONES void add_masked(const double* SVMGSU_RESTRICT s, const double* SVMGSU_RESTRICT mask,
                              const double* SVMGSU_RESTRICT noise, Index n, double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j, noise += W, out += W) {
      const double entry = s[i * n + j];
      const double *a = mask + i * W, *b = mask + j * W;
      for (int k = 0; k < W; ++k) out[k] = entry * (a[k] * b[k]) + noise[k];
    }
}

SVMGSU_CLONES void add_projected(const double* SVMGSU_RESTRICT s, const double* SVMGSU_RESTRICT r,
                                 const double* SVMGSU_RESTRICT noise, Index m, Index n, double* SVMGSU_RESTRICT work,
                                 double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum[W] = {};
      for (Index p = 0; p < n; ++p) {
        const double* a = r + (i * n + p) * W;
        const double entry = s[p * n + j];
        for (int k = 0; k < W; ++k) sum[k] += a[k] * entry;
      }
      for (int k = 0; k < W; ++k) work[(i * n + j) * W + k] = sum[k];
    }
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j, noise += W, out += W) {
      double sum[W] = {};
      for (Index p = 0; p < n; ++p) {
        const double *a = work + (i * n + p) * W, *b = r + (j * n + p) * W;
        for (int k = 0; k < W; ++k) sum[k] += a[k] * b[k];
      }
      for (int k = 0; k < W; ++k) out[k] = sum[k] + noise[k];
    }
}

SVMGSU_CLONES void cholesky(double* SVMGSU_RESTRICT t, Index n, double* SVMGSU_RESTRICT log_root) {
  // The product of the diagonal as mantissa · 2^exponent: one logarithm in all, and no overflow.
  double mantissa[W];
  std::int64_t exponent[W] = {};
  for (int k = 0; k < W; ++k) mantissa[k] = 1;
  for (Index i = 0; i < n; ++i) {
    double* row = t + packed(i, 0);
    for (Index j = 0; j < i; ++j) {
      const double* other = t + packed(j, 0);
      double sum[W];
      for (int k = 0; k < W; ++k) sum[k] = row[j * W + k];
      for (Index p = 0; p < j; ++p)
        for (int k = 0; k < W; ++k) sum[k] -= row[p * W + k] * other[p * W + k];
      for (int k = 0; k < W; ++k) row[j * W + k] = sum[k] * other[j * W + k];  // the diagonal holds its inverse
    }
    double sum[W], least[W];
    for (int k = 0; k < W; ++k) sum[k] = row[i * W + k];
    for (int k = 0; k < W; ++k) least[k] = kLost * sum[k];
    for (Index p = 0; p < i; ++p)
      for (int k = 0; k < W; ++k) sum[k] -= row[p * W + k] * row[p * W + k];
    for (int k = 0; k < W; ++k) sum[k] = sum[k] > least[k] ? sum[k] : least[k];
    for (int k = 0; k < W; ++k) sum[k] = std::sqrt(sum[k]);
    for (int k = 0; k < W; ++k) row[i * W + k] = 1 / sum[k];
    std::uint64_t bits[W];
    for (int k = 0; k < W; ++k) mantissa[k] *= sum[k];
    std::memcpy(bits, mantissa, sizeof bits);
    for (int k = 0; k < W; ++k) exponent[k] += static_cast<std::int64_t>(bits[k] >> 52) - 1023;
    for (int k = 0; k < W; ++k) bits[k] = (bits[k] & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    std::memcpy(mantissa, bits, sizeof bits);
  }
  for (int k = 0; k < W; ++k)
    log_root[k] = std::log(mantissa[k]) + static_cast<double>(exponent[k]) * 0.69314718055994530942;
}

SVMGSU_CLONES void solve(const double* SVMGSU_RESTRICT l, Index n, double* SVMGSU_RESTRICT y,
                         double* SVMGSU_RESTRICT square) {
  double total[W] = {};
  for (Index i = 0; i < n; ++i) {
    const double* row = l + packed(i, 0);
    double sum[W];
    for (int k = 0; k < W; ++k) sum[k] = y[i * W + k];
    for (Index p = 0; p < i; ++p)
      for (int k = 0; k < W; ++k) sum[k] -= row[p * W + k] * y[p * W + k];
    for (int k = 0; k < W; ++k) sum[k] *= row[i * W + k];
    for (int k = 0; k < W; ++k) y[i * W + k] = sum[k];
    for (int k = 0; k < W; ++k) total[k] += sum[k] * sum[k];
  }
  for (int k = 0; k < W; ++k) square[k] = total[k];
}

SVMGSU_CLONES void invert(const double* SVMGSU_RESTRICT l, Index n, double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < n; ++i) {
    const double* row = l + packed(i, 0);
    const double* scale = row + i * W;
    for (Index j = 0; j < i; ++j) {
      double sum[W] = {};
      for (Index p = j; p < i; ++p) {
        const double* a = out + packed(p, j);
        for (int k = 0; k < W; ++k) sum[k] -= row[p * W + k] * a[k];
      }
      for (int k = 0; k < W; ++k) out[packed(i, j) + k] = sum[k] * scale[k];
    }
    for (int k = 0; k < W; ++k) out[packed(i, i) + k] = scale[k];
  }
}

SVMGSU_CLONES void times_projection(const double* SVMGSU_RESTRICT inverse, const double* SVMGSU_RESTRICT r, Index m,
                                    Index n, double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum[W] = {};
      for (Index p = 0; p <= i; ++p) {
        const double *a = inverse + packed(i, p), *b = r + (p * n + j) * W;
        for (int k = 0; k < W; ++k) sum[k] += a[k] * b[k];
      }
      for (int k = 0; k < W; ++k) out[(i * n + j) * W + k] = sum[k];
    }
}

SVMGSU_CLONES void times_mask(const double* SVMGSU_RESTRICT inverse, const double* SVMGSU_RESTRICT mask, Index n,
                              double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, inverse += W)
      for (int k = 0; k < W; ++k) out[(i * n + j) * W + k] = inverse[k] * mask[j * W + k];
    for (Index j = (i + 1) * W; j < n * W; ++j) out[i * n * W + j] = 0;
  }
}

SVMGSU_CLONES void transposed_product(const double* SVMGSU_RESTRICT p, const double* SVMGSU_RESTRICT y, Index m,
                                      Index n, double* SVMGSU_RESTRICT out) {
  for (Index j = 0; j < n; ++j) {
    double sum[W] = {};
    for (Index i = 0; i < m; ++i)
      for (int k = 0; k < W; ++k) sum[k] += p[(i * n + j) * W + k] * y[i * W + k];
    for (int k = 0; k < W; ++k) out[j * W + k] = sum[k];
  }
}

SVMGSU_CLONES void add_moments(const double* SVMGSU_RESTRICT p, const double* SVMGSU_RESTRICT v,
                               const double* SVMGSU_RESTRICT q, Index m, Index n, bool lower,
                               double* SVMGSU_RESTRICT first, double* SVMGSU_RESTRICT second) {
  for (Index i = 0; i < n; ++i) {
    for (int k = 0; k < W; ++k) first[i * W + k] += q[k] * v[i * W + k];
    for (Index j = 0; j <= i; ++j, second += W) {
      double sum[W];
      for (int k = 0; k < W; ++k) sum[k] = v[i * W + k] * v[j * W + k];
      for (Index r = lower ? i : 0; r < m; ++r) {
        const double *a = p + (r * n + i) * W, *b = p + (r * n + j) * W;
        for (int k = 0; k < W; ++k) sum[k] -= a[k] * b[k];
      }
      for (int k = 0; k < W; ++k) second[k] += q[k] * sum[k];
    }
  }
}

SVMGSU_CLONES void solve_common(const double* SVMGSU_RESTRICT l, const double* SVMGSU_RESTRICT mean,
                                const double* SVMGSU_RESTRICT z, Index n, double* SVMGSU_RESTRICT y,
                                double* SVMGSU_RESTRICT square) {
  double total[W] = {};
  for (Index i = 0; i < n; ++i) {
    double sum[W];
    for (int k = 0; k < W; ++k) sum[k] = z[i * W + k] - mean[i];
    for (Index p = 0; p < i; ++p) {
      const double entry = l[i * n + p];
      for (int k = 0; k < W; ++k) sum[k] -= entry * y[p * W + k];
    }
    const double scale = 1 / l[i * n + i];
    for (int k = 0; k < W; ++k) sum[k] *= scale;
    for (int k = 0; k < W; ++k) y[i * W + k] = sum[k];
    for (int k = 0; k < W; ++k) total[k] += sum[k] * sum[k];
  }
  for (int k = 0; k < W; ++k) square[k] = total[k];
}

SVMGSU_CLONES void add_squares(const double* SVMGSU_RESTRICT y, const double* SVMGSU_RESTRICT q, Index n,
                               double* SVMGSU_RESTRICT first, double* SVMGSU_RESTRICT second) {
  for (Index i = 0; i < n; ++i) {
    double scaled[W];
    for (int k = 0; k < W; ++k) scaled[k] = q[k] * y[i * W + k];
    for (int k = 0; k < W; ++k) first[i * W + k] += scaled[k];
    for (Index j = 0; j <= i; ++j, second += W)
      for (int k = 0; k < W; ++k) second[k] += scaled[k] * y[j * W + k];
  }
}

}  // namespace svmgsu::lanes
