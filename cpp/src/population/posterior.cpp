// What a population says of objects: their components, and where they are.
#include <algorithm>
#include <cmath>

#include "population/eight.hpp"
#include "population/pass.hpp"
#include "population/units.hpp"
#include "support/parallel.hpp"
#include "svmgsu/population/deconvolution.hpp"

namespace svmgsu {
namespace {

constexpr int W = lanes::kLanes;
constexpr Index kBlock = 256;
constexpr double kFloor = 1e-12;  // of given mixtures, so that T can be factored without noise

std::size_t size(Index entries) { return static_cast<std::size_t>(entries * W); }

using lanes::all;
using lanes::Eight;
using lanes::folded;
using lanes::read;
using lanes::write;

struct Work {
  Lanes some;
  Factored factored;
  Projector projector;
  std::vector<double> v, mean, p, sp, gain, noisy, keep, keep_s, cov;
};

// out = S Pᵀ (n × m), with S in common and the rows of P one after another.
SVMGSU_CLONES void times_transposed(const double* s, const double* p, Index n, Index m, bool lower, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index r = 0; r < m; ++r, out += W) {
      Eight sum = all(0.0);
      const Index last = lower ? r + 1 : n;
      for (Index j = 0; j < last; ++j) sum = sum + all(s[i * n + j]) * read(p + (r * n + j) * W);
      write(sum, out);
    }
}

// gain = S Pᵀ L⁻¹; inverse is L⁻¹, column after column.
SVMGSU_CLONES void times_inverse(const double* sp, const double* inverse, Index n, Index m, double* gain) {
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < m; ++c, gain += W)
      write(folded<false>(all(0.0), sp + (i * m + c) * W, W, inverse + lanes::transposed(c, c, m), W, m - c), gain);
}

// out = I − gain R (n × n); without R the identity stands for it.
SVMGSU_CLONES void complement(const double* gain, const double* r, Index n, Index m, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j, out += W) {
      const Eight unit = all(i == j ? 1.0 : 0.0);
      write(r ? folded<true>(unit, gain + i * m * W, W, r + j * W, n * W, m) : unit - read(gain + (i * m + j) * W),
            out);
    }
}

// out = x S, with S in common.
SVMGSU_CLONES void times_common(const double* x, const double* s, Index n, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j, out += W) {
      Eight sum = all(0.0);
      for (Index p = 0; p < n; ++p) sum = sum + read(x + (i * n + p) * W) * all(s[p * n + j]);
      write(sum, out);
    }
}

// out = gain Σ (n × m), Σ packed; only its diagonal counts where `diagonal`.
SVMGSU_CLONES void times_noise(const double* gain, const double* noise, Index n, Index m, bool diagonal, double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < m; ++c, out += W) {
      Eight sum = all(0.0);
      for (Index r = diagonal ? c : 0; r < (diagonal ? c + 1 : m); ++r)
        sum = sum + read(gain + (i * m + r) * W) * read(noise + lanes::packed(std::max(r, c), std::min(r, c)));
      write(sum, out);
    }
}

// out = x yᵀ + z wᵀ, the lower triangle, packed.
SVMGSU_CLONES void add_products(const double* x, const double* y, Index n, const double* z, const double* w, Index m,
                                double* out) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j, out += W)
      write(folded<false>(folded<false>(all(0.0), x + i * n * W, W, y + j * n * W, W, n), z + i * m * W, W,
                          w + j * m * W, W, m),
            out);
}

// mean = μ + S v
SVMGSU_CLONES void shifted(const double* mean, const double* s, const double* v, Index n, double* out) {
  for (Index i = 0; i < n; ++i) {
    Eight sum = all(mean[i]);
    for (Index j = 0; j < n; ++j) sum = sum + all(s[i * n + j]) * read(v + j * W);
    write(sum, out + i * W);
  }
}

// b and B of component k, in lanes: v = Rᵀ T⁻¹ (t − Rμ), and B by Joseph's form
// (I − GR) S (I − GR)ᵀ + G Σ Gᵀ with G = S Rᵀ T⁻¹, which is positive semidefinite whatever the rounding.
void solve_component(const Reader& reader, const Mixture& mixture, Index k, bool covariances, Work& w) {
  const Index n = reader.features(), m = reader.values();
  const double* s = mixture.covariances.data() + k * n * n;
  for (auto* entries : {&w.v, &w.mean}) entries->resize(size(n));
  const lanes::Columns p = w.projector.of(reader, w.some, w.factored, k);
  transposed_times(p, w.factored.y.data() + size(k * m), n, w.v.data());
  shifted(mixture.means.data() + k * n, s, w.v.data(), n, w.mean.data());
  if (!covariances) return;
  for (auto* entries : {&w.keep, &w.keep_s}) entries->resize(size(n * n));
  for (auto* entries : {&w.sp, &w.gain, &w.noisy}) entries->resize(size(n * m));
  w.p.resize(size(n * m));
  w.cov.resize(size(lanes::triangle(n)));
  for (Index j = 0; j < n; ++j)
    for (Index r = p.first(j); r < m; ++r)
      std::copy_n(p.column(j) + (r - p.first(j)) * W, W, w.p.data() + size(r * n + j));
  times_transposed(s, w.p.data(), n, m, p.lower, w.sp.data());
  times_inverse(w.sp.data(), w.projector.inverse.data(), n, m, w.gain.data());
  complement(w.gain.data(), reader.projects() ? w.some.r.data() : nullptr, n, m, w.keep.data());
  times_common(w.keep.data(), s, n, w.keep_s.data());
  times_noise(w.gain.data(), w.some.noise.data(), n, m, reader.diagonal(), w.noisy.data());
  add_products(w.keep_s.data(), w.keep.data(), n, w.noisy.data(), w.gain.data(), m, w.cov.data());
}

void write_component(const Reader& reader, const Mixture& mixture, Index k, Index first, const Work& w,
                     const Posterior& out) {
  const Index n = reader.features(), components = mixture.components();
  const Units& units = reader.units();
  for (int lane = 0; lane < w.some.count; ++lane) {
    const Index place = (first + lane) * components + k;
    const auto at = static_cast<std::size_t>(lane);
    if (out.means)
      for (Index i = 0; i < n; ++i)
        out.means[place * n + i] = units.centre.coeff(i) + units.scale.coeff(i) * w.mean[size(i) + at];
    if (!out.covariances) continue;
    double* const cov = out.covariances + place * n * n;
    const double* entry = w.cov.data() + at;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j, entry += W)
        cov[i * n + j] = cov[j * n + i] = *entry * (units.scale.coeff(i) * units.scale.coeff(j));
  }
}

void write_shares(const Mixture& mixture, Index first, Work& w, const Posterior& out) {
  const Index components = mixture.components();
  double total[W];
  normalise(w.factored.log.data(), components, total);
  for (int lane = 0; lane < w.some.count; ++lane) {
    if (out.log_likelihood) out.log_likelihood[first + lane] = total[lane] + w.some.constant[lane];
    double least = w.factored.square[static_cast<std::size_t>(lane)];
    for (Index k = 0; k < components; ++k) {
      const std::size_t at = size(k) + static_cast<std::size_t>(lane);
      least = std::min(least, w.factored.square[at]);
      if (out.weights) out.weights[(first + lane) * components + k] = w.factored.log[at];
    }
    if (out.distance) out.distance[first + lane] = least;
  }
}

}  // namespace

void posterior(const Observations& observed, const Units& units, const Mixture& mixture, int threads,
               const Posterior& out) {
  const Reader reader(observed, units);
  check_mixture(mixture, reader.features());
  const Mixture standard = standardised(mixture, units, kFloor);
  const std::vector<double> log_pi = log_weights(standard);
  parallel_for((reader.samples() + kBlock - 1) / kBlock, threads, [&](Index block) {
    Work w;
    for (Index first = block * kBlock; first < std::min(reader.samples(), (block + 1) * kBlock); first += W) {
      reader.load(first, w.some);
      w.factored.compute(reader, w.some, standard, log_pi);
      write_shares(standard, first, w, out);
      if (!out.means && !out.covariances) continue;
      for (Index k = 0; k < standard.components(); ++k) {
        solve_component(reader, standard, k, out.covariances != nullptr, w);
        write_component(reader, standard, k, first, w, out);
      }
    }
  });
}

}  // namespace svmgsu
