// What a population says of objects: their components, and where they are.
#include <algorithm>
#include <cmath>

#include "kernels/dispatch.hpp"
#include "population/pass.hpp"
#include "population/standard.hpp"
#include "svmgsu/population/deconvolution.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

constexpr int W = lanes::kLanes;
constexpr Index kBlock = 256;
constexpr double kFloor = 1e-12;  // of given mixtures, so that T can be factored without noise

std::size_t size(Index entries) { return static_cast<std::size_t>(entries * W); }

// out (a × c) = x (a × b) y (b × c), of which entry (i, j) is at i · si + j · sj.
struct Strided {
  const double* data;
  Index si, sj;
  const double* at(Index i, Index j) const { return data + (i * si + j * sj) * W; }
};

SVMGSU_CLONES void multiply(Strided x, Strided y, Index a, Index b, Index c, bool add, double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < a; ++i)
    for (Index j = 0; j < c; ++j, out += W) {
      double sum[W];
      for (int k = 0; k < W; ++k) sum[k] = add ? out[k] : 0.0;
      for (Index p = 0; p < b; ++p) {
        const double *left = x.at(i, p), *right = y.at(p, j);
        for (int k = 0; k < W; ++k) sum[k] += left[k] * right[k];
      }
      for (int k = 0; k < W; ++k) out[k] = sum[k];
    }
}

struct Work {
  Lanes some;
  Factored factored;
  std::vector<double> inverse, square_inverse, p, v, s, noise, gain, keep, one, two, three;
};

// The parts of b and B for component k, in lanes: v = Rᵀ T⁻¹ (t − Rμ), and B by Joseph's form
// (I − GR) S (I − GR)ᵀ + G Σ Gᵀ with G = S Rᵀ T⁻¹, which is positive semidefinite whatever the rounding.
void solve_component(const Reader& reader, const Mixture& mixture, Index k, bool covariances, Work& w) {
  const Index n = reader.features(), m = reader.values();
  w.inverse.resize(size(lanes::triangle(m)));
  w.p.resize(size(m * n));
  w.v.resize(size(n));
  lanes::invert(w.factored.l.data() + size(k * lanes::triangle(m)), m, w.inverse.data());
  if (reader.projects())
    lanes::times_projection(w.inverse.data(), w.some.r.data(), m, n, w.p.data());
  else
    lanes::times_mask(w.inverse.data(), w.some.mask.data(), n, w.p.data());
  lanes::transposed_product(w.p.data(), w.factored.y.data() + size(k * m), m, n, w.v.data());
  if (!covariances) return;
  for (auto* square : {&w.s, &w.keep, &w.one, &w.three}) square->resize(size(n * n));
  for (auto* wide : {&w.gain, &w.two}) wide->resize(size(n * m));
  for (auto* square : {&w.square_inverse, &w.noise}) square->assign(size(m * m), 0.0);
  for (Index i = 0; i < n * n; ++i) std::fill_n(w.s.data() + size(i), W, mixture.covariances.coeff(k, i));
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j) {
      std::copy_n(w.inverse.data() + lanes::packed(i, j), W, w.square_inverse.data() + size(i * m + j));
      std::copy_n(w.some.noise.data() + lanes::packed(i, j), W, w.noise.data() + size(i * m + j));
      std::copy_n(w.some.noise.data() + lanes::packed(i, j), W, w.noise.data() + size(j * m + i));
    }
  const auto rows = [](const std::vector<double>& a, Index columns) { return Strided{a.data(), columns, 1}; };
  const auto turned = [](const std::vector<double>& a, Index columns) { return Strided{a.data(), 1, columns}; };
  multiply(rows(w.s, n), turned(w.p, n), n, n, m, false, w.two.data());                // S Pᵀ
  multiply(rows(w.two, m), rows(w.square_inverse, m), n, m, m, false, w.gain.data());  // G = S Pᵀ L⁻¹
  multiply(rows(w.two, m), rows(w.p, n), n, m, n, false, w.keep.data());               // G R = S PᵀP
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      for (int lane = 0; lane < W; ++lane) {
        double& entry = w.keep[size(i * n + j) + static_cast<std::size_t>(lane)];
        entry = (i == j ? 1.0 : 0.0) - entry;
      }
  multiply(rows(w.keep, n), rows(w.s, n), n, n, n, false, w.one.data());
  multiply(rows(w.one, n), turned(w.keep, n), n, n, n, false, w.three.data());
  multiply(rows(w.gain, m), rows(w.noise, m), n, m, m, false, w.two.data());
  multiply(rows(w.two, m), turned(w.gain, m), n, m, n, true, w.three.data());
}

void write_component(const Reader& reader, const Mixture& mixture, Index k, Index first, const Work& w,
                     const Posterior& out) {
  const Index n = reader.features(), components = mixture.components();
  const Units& units = reader.units();
  for (int lane = 0; lane < w.some.count; ++lane) {
    const Index place = (first + lane) * components + k;
    if (out.means)
      for (Index i = 0; i < n; ++i) {
        double b = mixture.means.coeff(k, i);
        for (Index j = 0; j < n; ++j)
          b += mixture.covariances.coeff(k, i * n + j) * w.v[size(j) + static_cast<std::size_t>(lane)];
        out.means[place * n + i] = units.centre.coeff(i) + units.scale.coeff(i) * b;
      }
    if (!out.covariances) continue;
    const auto entry = [&](Index i, Index j) { return w.three[size(i * n + j) + static_cast<std::size_t>(lane)]; };
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        out.covariances[(place * n + i) * n + j] =
            (entry(i, j) + entry(j, i)) / 2 * (units.scale.coeff(i) * units.scale.coeff(j));
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
  parallel_for((reader.examples() + kBlock - 1) / kBlock, threads, [&](Index block) {
    Work w;
    for (Index first = block * kBlock; first < std::min(reader.examples(), (block + 1) * kBlock); first += W) {
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
