#include "population/pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "population/eight.hpp"
#include "support/parallel.hpp"

namespace svmgsu {
namespace {

constexpr int W = lanes::kLanes;
constexpr Index kBlock = 256;       // objects whose sums are made in lanes
constexpr double kNothing = 1e-17;  // a share that no sum can see
constexpr double kLost = 1e-15;     // of a diagonal entry: a pivot below this is rounding

using lanes::all;
using lanes::Columns;
using lanes::Eight;
using lanes::folded;
using lanes::packed;
using lanes::read;
using lanes::transposed;
using lanes::write;

// Small matrices of some objects side by side, compiled for several instruction sets (kernels/dispatch.hpp).

// out = mask_i mask_j S_ij + noise_ij, where S (n × n, row-major) is one for all lanes.
SVMGSU_CLONES void add_masked(const double* s, const double* mask, const double* noise, Index n, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j, noise += W, out += W)
      write(all(s[i * n + j]) * (read(mask + i * W) * read(mask + j * W)) + read(noise), out);
}

// out = R S Rᵀ + noise, where R is m × n; `work` holds m × n entries.
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

// T = LLᵀ in place, with the inverse of L's diagonal on it; log_root[l] = log |L|. A pivot that rounding has eaten is
// lifted to what rounding leaves.
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
    const Eight root = lanes::square_root(lanes::larger(left, whole * all(kLost)));
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

// y = L⁻¹ y in place; square[l] = |y|².
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

// out = L⁻¹, column after column, so that every sum reads along a row of L and along what it has written of the column.
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

// P = L⁻¹ R, column after column, where R is m × n.
SVMGSU_CLONES void times_projection(const double* inverse, const double* r, Index m, Index n, double* out) {
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      Eight sum = all(0.0);
      for (Index p = 0; p <= i; ++p) sum = sum + read(inverse + transposed(p, i, m)) * read(r + (p * n + j) * W);
      write(sum, out + (j * m + i) * W);
    }
}

// The same in place, where R is a diagonal of 0 and 1.
SVMGSU_CLONES void times_mask(const double* mask, Index n, double* inverse) {
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i, inverse += W) write(read(inverse) * read(mask + j * W), inverse);
}

// out = Pᵀ y, n entries.
SVMGSU_CLONES void transposed_product(const Columns& p, const double* y, Index n, double* out) {
  for (Index j = 0; j < n; ++j)
    write(folded<false>(all(0.0), p.column(j), W, y + p.first(j) * W, W, p.rows - p.first(j)), out + j * W);
}

// With v = Pᵀ y of each lane: first += q v, second += q (v vᵀ − PᵀP), packed.
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

std::size_t size(Index entries) { return static_cast<std::size_t>(entries * W); }

// What a thread adds up over a block, in lanes, and what it works with.
struct Local {
  std::vector<double> share, first, second;
  double log_likelihood[W], weight[W];
  Lanes some;
  Factored factored;
  Projector projector;
  std::vector<double> v;

  void clear(Index components, Index n) {
    share.assign(size(components), 0.0);
    first.assign(size(components * n), 0.0);
    second.assign(size(components * lanes::triangle(n)), 0.0);
    std::fill_n(log_likelihood, W, 0.0);
    std::fill_n(weight, W, 0.0);
  }

  // The shares of component k times the weights in q; false where there are none to speak of.
  bool shares_of(Index k, double* q) {
    const double* r = factored.log.data() + k * W;
    bool any = false;
    for (int i = 0; i < W; ++i) {
      q[i] = some.weight[i] * r[i];
      any |= r[i] > kNothing && some.weight[i] > 0;
      share[size(k) + static_cast<std::size_t>(i)] += q[i];
    }
    return any;
  }

  void finish_likelihood(Index components) {
    double total[W];
    normalise(factored.log.data(), components, total);
    for (int i = 0; i < W; ++i) {
      if (some.weight[i] == 0) continue;
      log_likelihood[i] += some.weight[i] * (total[i] + some.constant[i]);
      weight[i] += some.weight[i];
    }
  }
};

double over_lanes(const double* a) { return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])); }

// Adds some objects to the sums of a block.
void add(const Reader& reader, const Mixture& mixture, const std::vector<double>& log_pi, Local& local) {
  const Index n = reader.features(), m = reader.values(), components = mixture.components();
  Factored& f = local.factored;
  f.compute(reader, local.some, mixture, log_pi);
  local.finish_likelihood(components);
  local.v.resize(size(n));
  double q[W];
  for (Index k = 0; k < components; ++k) {
    if (!local.shares_of(k, q)) continue;
    const Columns p = local.projector.of(reader, local.some, f, k);
    transposed_product(p, f.y.data() + size(k * m), n, local.v.data());
    add_moments(p, local.v.data(), q, n, local.first.data() + size(k * n),
                local.second.data() + size(k * lanes::triangle(n)));
  }
}

void merge(const Local& local, PopulationSums& sums) {
  const Index n = sums.first.cols();
  sums.log_likelihood += over_lanes(local.log_likelihood);
  sums.weight += over_lanes(local.weight);
  for (Index k = 0; k < sums.share.size(); ++k) {
    sums.share.coeffRef(k) += over_lanes(local.share.data() + size(k));
    for (Index j = 0; j < n; ++j) sums.first.coeffRef(k, j) += over_lanes(local.first.data() + size(k * n + j));
    const double* entry = local.second.data() + size(k * lanes::triangle(n));
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j, entry += W) {
        const double sum = over_lanes(entry);
        sums.second.coeffRef(k, i * n + j) += sum;
        if (j < i) sums.second.coeffRef(k, j * n + i) += sum;
      }
  }
}

}  // namespace

std::vector<double> log_weights(const Mixture& mixture) {
  std::vector<double> out;
  for (Index k = 0; k < mixture.components(); ++k) {
    const double weight = mixture.weights.coeff(k);
    out.push_back(weight > 0 ? std::log(weight) : std::numeric_limits<double>::lowest() / 4);
  }
  return out;
}

void normalise(double* logs, Index components, double* total) {
  for (int i = 0; i < W; ++i) {
    double most = logs[i];
    for (Index k = 1; k < components; ++k) most = std::max(most, logs[k * W + i]);
    double sum = 0;
    for (Index k = 0; k < components; ++k) sum += logs[k * W + i] = std::exp(logs[k * W + i] - most);
    for (Index k = 0; k < components; ++k) logs[k * W + i] /= sum;
    total[i] = most + std::log(sum);
  }
}

void Factored::compute(const Reader& reader, const Lanes& some, const Mixture& mixture,
                       const std::vector<double>& log_pi) {
  const Index n = reader.features(), m = reader.values(), components = mixture.components();
  const Index triangle = lanes::triangle(m);
  l.resize(size(components * triangle));
  y.resize(size(components * m));
  log.resize(size(components));
  square.resize(size(components));
  if (reader.projects()) work.resize(size(m * n));
  for (Index k = 0; k < components; ++k) {
    const double *s = mixture.covariances.data() + k * n * n, *mean = mixture.means.data() + k * n;
    double *t = l.data() + size(k * triangle), *residual = y.data() + size(k * m);
    if (reader.projects()) {
      add_projected(s, some.r.data(), some.noise.data(), m, n, work.data(), t);
      for (Index i = 0; i < m * W; ++i) residual[i] = some.value[static_cast<std::size_t>(i)];
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j)
          for (int lane = 0; lane < W; ++lane)
            residual[i * W + lane] -= some.r[size(i * n + j) + static_cast<std::size_t>(lane)] * mean[j];
    } else {
      add_masked(s, some.mask.data(), some.noise.data(), n, t);
      for (Index i = 0; i < n * W; ++i)
        residual[i] = some.value[static_cast<std::size_t>(i)] - mean[i / W] * some.mask[static_cast<std::size_t>(i)];
    }
    double log_root[W];
    cholesky(t, m, log_root);
    solve(t, m, residual, square.data() + size(k));
    for (int i = 0; i < W; ++i)
      log[size(k) + static_cast<std::size_t>(i)] =
          log_pi[static_cast<std::size_t>(k)] - log_root[i] - square[size(k) + static_cast<std::size_t>(i)] / 2;
  }
}

lanes::Columns Projector::of(const Reader& reader, const Lanes& some, const Factored& factored, Index k) {
  const Index n = reader.features(), m = reader.values();
  inverse.resize(size(lanes::triangle(m)));
  invert(factored.l.data() + size(k * lanes::triangle(m)), m, inverse.data());
  if (!reader.projects()) {
    if (!some.whole) times_mask(some.mask.data(), n, inverse.data());
    return {inverse.data(), n, true};
  }
  product.resize(size(m * n));
  times_projection(inverse.data(), some.r.data(), m, n, product.data());
  return {product.data(), m, false};
}

void transposed_times(const lanes::Columns& p, const double* y, Index n, double* out) {
  transposed_product(p, y, n, out);
}

PopulationSums sums_at(const Mixture& mixture, const Reader& reader, int threads) {
  const Index n = reader.features(), components = mixture.components();
  const std::vector<double> log_pi = log_weights(mixture);
  PopulationSums sums;
  sums.share.setZero(components);
  sums.first.setZero(components, n);
  sums.second.setZero(components, n * n);
  ordered_blocks<Local>((reader.samples() + kBlock - 1) / kBlock, threads,
                        [&](Index block, Local& local) {
                          local.clear(components, n);
                          for (Index first = block * kBlock; first < std::min(reader.samples(), (block + 1) * kBlock);
                               first += W) {
                            reader.load(first, local.some);
                            add(reader, mixture, log_pi, local);
                          }
                        },
                        [&](const Local& local) { merge(local, sums); });
  return sums;
}

}  // namespace svmgsu
