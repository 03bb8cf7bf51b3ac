#include <cmath>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/waves.hpp"
#include "support/linalg.hpp"
#include "support/parallel.hpp"
#include "svmgsu/maps/maps.hpp"

namespace svmgsu {
namespace {

constexpr double kLargest = 1e300;  // of an exponent: beyond it e^(−q) is zero all the same

// cos and sin of w·x over √R, and q = wᵀΣw with U = WΣ, of each frequency.
struct Waves {
  Vector cosine, sine, q;
  Matrix u;

  Waves(const Matrix& w, const OneGaussian& g) : cosine(w.rows()), sine(w.rows()), q(w.rows()) {
    const Index count = w.rows();
    const double scale = 1 / std::sqrt(static_cast<double>(count));
    const EigenVector angle = w * g.x;
    for (Index r = 0; r < count; ++r) {
      cosine[r] = scale * std::cos(angle[r]);
      sine[r] = scale * std::sin(angle[r]);
    }
    if (g.certain()) {
      q.setZero();
    } else {
      g.times(w, u);
      q = (u.array() * w.array()).rowwise().sum().min(kLargest).max(0.0).matrix();
    }
  }
  void damp() {
    for (Index r = 0; r < q.size(); ++r) {
      const double decay = std::exp(-0.5 * q[r]);
      cosine[r] *= decay;
      sine[r] *= decay;
    }
  }
};

// e^(−h)(cosh G − 1) and e^(−h) sinh G, h = (q_r + q_s)/2, for all pairs of frequencies.
struct Pairs {
  Matrix even, odd;

  Pairs(const Matrix& w, const Waves& waves) : even(w.rows(), w.rows()), odd(w.rows(), w.rows()) {
    const Index count = w.rows();
    const EigenMatrix gram = linalg::product_transposed(waves.u, w);
    std::vector<double> g(static_cast<std::size_t>(count)), h(g.size());
    for (Index r = 0; r < count; ++r) {
      for (Index s = r; s < count; ++s) {
        const auto at = static_cast<std::size_t>(s - r);
        h[at] = 0.5 * (waves.q[r] + waves.q[s]);
        g[at] = r == s ? waves.q[r] : std::max(-h[at], std::min(h[at], gram(r, s)));
      }
      kernels::decays(static_cast<int>(count - r), g.data(), h.data(), &even(r, r), &odd(r, r));
      for (Index s = r + 1; s < count; ++s) {
        even(s, r) = even(r, s);
        odd(s, r) = odd(r, s);
      }
    }
  }
};

// Frequencies of at most two inputs, with zeros up to a whole group; none if one has more.
std::vector<kernels::SparseFrequency> sparse(const Matrix& w, Index groups, Index n, bool diagonal) {
  std::vector<kernels::SparseFrequency> out(static_cast<std::size_t>(groups * kernels::kWaveGroup));
  for (Index r = 0; r < w.rows(); ++r) {
    auto& one = out[static_cast<std::size_t>(r)];
    int found = 0;
    for (Index j = 0; j < w.cols(); ++j) {
      if (w(r, j) == 0) continue;
      if (found == 2) return {};
      one.input[found] = j;
      one.w[found++] = w(r, j);
    }
    // Known inputs have no variance: their products stay 0.
    const auto [i, j] = one.input;
    for (int k = 0; k < 2; ++k)
      if (one.input[k] < n) {
        one.place[2 * k] = diagonal ? one.input[k] : one.input[k] * (n + 1);
        one.product[2 * k] = one.w[k] * one.w[k];
      }
    if (found == 2 && j < n && !diagonal) {
      one.place[1] = j * n + i;
      one.product[1] = 2 * one.w[0] * one.w[1];
    }
  }
  return out;
}

}  // namespace

Fourier::Fourier(Matrix frequencies) : w_(std::move(frequencies)) {
  require(w_.rows() > 0 && w_.cols() > 0, "frequencies: expected at least one");
  require(w_.allFinite(), "frequencies: all numbers must be finite");
}

void Fourier::mean(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  Waves waves(w_, g);
  if (!g.certain()) waves.damp();
  std::copy_n(waves.cosine.data(), w_.rows(), out);
  std::copy_n(waves.sine.data(), w_.rows(), out + w_.rows());
}

void Fourier::variances(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  const Waves waves(w_, g);
  const Index count = w_.rows();
  for (Index r = 0; r < count; ++r) {
    // ½(1 − e^(−q))² and ½(1 − e^(−2q)): Pairs on its diagonal
    const double lost = -std::expm1(-waves.q[r]), even = 0.5 * lost * lost, odd = 0.5 * lost * (2 - lost);
    const double c2 = waves.cosine[r] * waves.cosine[r], s2 = waves.sine[r] * waves.sine[r];
    out[r] = c2 * even + s2 * odd;
    out[count + r] = s2 * even + c2 * odd;
  }
}

void Fourier::covariance(const OneGaussian& g, Matrix& out) const {
  require_inputs(g);
  const Index count = w_.rows();
  out.setZero(2 * count, 2 * count);
  if (g.certain()) return;
  const Waves waves(w_, g);
  const Pairs pairs(w_, waves);
  const Vector &c = waves.cosine, &s = waves.sine;
  for (Index r = 0; r < count; ++r)
    for (Index t = 0; t < count; ++t) {
      const double even = pairs.even(r, t), odd = pairs.odd(r, t);
      out(r, t) = c[r] * c[t] * even + s[r] * s[t] * odd;
      out(count + r, count + t) = s[r] * s[t] * even + c[r] * c[t] * odd;
      out(count + r, t) = s[r] * c[t] * even - c[r] * s[t] * odd;
      out(t, count + r) = out(count + r, t);
    }
}

void expected_waves(const Matrix& frequencies, const MixtureArrays& data, const Matrix& combine, double* out,
                    int threads) {
  constexpr Index kGroup = kernels::kWaveGroup, kRows = 64;
  const Index count = frequencies.rows(), inputs = frequencies.cols(), n = data.features, components = data.components;
  require(count > 0 && n > 0 && inputs == n + data.known,
          "frequencies: " + std::to_string(inputs) + " columns for " + std::to_string(n + data.known) + " inputs");
  require(frequencies.allFinite(), "frequencies: all numbers must be finite");
  require(data.samples >= 0 && data.known >= 0 && components > 0,
          "data: there must be components, and no size may be below 0");
  const bool any = data.samples > 0;
  require(!any || data.means, "data: means is a null pointer");
  require(!any || data.known == 0 || data.further, "data: further is a null pointer");
  require(!any || out, "out: null pointer");
  require(combine.rows() == 0 || combine.cols() == 2 * count,
          "combine: " + std::to_string(combine.cols()) + " columns for " + std::to_string(2 * count) + " features");
  const Index groups = (count + kGroup - 1) / kGroup, outputs = combine.rows() ? combine.rows() : 2 * count;
  std::vector<double> grouped(static_cast<std::size_t>(groups * inputs * kGroup), 0.0);
  for (Index r = 0; r < count; ++r)
    for (Index j = 0; j < inputs; ++j)
      grouped[static_cast<std::size_t>((r / kGroup * inputs + j) * kGroup + r % kGroup)] = frequencies(r, j);
  const std::vector<kernels::SparseFrequency> pairs = sparse(frequencies, groups, n, data.diagonal);
  const double scale = 1 / std::sqrt(static_cast<double>(count));
  const Index numbers = data.diagonal ? n : n * n;  // of a covariance
  parallel_for((data.samples + kRows - 1) / kRows, threads, [&](Index block) {
    Vector cosine(groups * kGroup), sine(groups * kGroup);
    kernels::WaveInput g{n, data.known, nullptr, nullptr, nullptr, data.diagonal};
    for (Index i = block * kRows; i < std::min(data.samples, (block + 1) * kRows); ++i) {
      cosine.setZero();
      sine.setZero();
      if (data.known > 0) g.further = data.further + i * data.known;
      for (Index row = i * components; row < (i + 1) * components; ++row) {
        const double weight = data.weights ? data.weights[row] : 1.0;
        if (!(weight > 0)) continue;
        g.x = data.means + row * n;
        if (data.covariances) g.cov = data.covariances + row * numbers;
        if (pairs.empty()) {
          kernels::add_waves(grouped.data(), groups, g, weight * scale, cosine.data(), sine.data());
        } else {
          kernels::add_sparse_waves(pairs.data(), groups, g, weight * scale, cosine.data(), sine.data());
        }
      }
      double* const to = out + i * outputs;
      if (combine.rows() == 0) {
        std::copy_n(cosine.data(), count, to);
        std::copy_n(sine.data(), count, to + count);
      }
      for (Index k = 0; k < combine.rows(); ++k)
        to[k] = combine.row(k).head(count).dot(cosine.head(count)) + combine.row(k).tail(count).dot(sine.head(count));
    }
  });
}

}  // namespace svmgsu
