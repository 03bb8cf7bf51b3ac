#include "population/pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/linalg.hpp"
#include "support/parallel.hpp"

namespace svmgsu {
namespace {

constexpr int W = lanes::kLanes;
constexpr Index kBlock = 256;        // objects whose sums are made in lanes
constexpr double kNothing = 1e-17;   // a share that no sum can see
constexpr double kWorkOfPart = 5e8;  // multiplications between two pauses

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

// One noise for all: a component has one factor, and the sums are those of an ordinary mixture of Gaussians.
struct CommonFactors {
  std::vector<EigenMatrix> l;
  std::vector<double> log;  // log π_k − log |L_k|

  CommonFactors(const Mixture& mixture, const std::vector<double>& noise, const std::vector<double>& log_pi) {
    const Index n = mixture.features();
    const Eigen::Map<const EigenMatrix> extra(noise.data(), n, n);
    for (Index k = 0; k < mixture.components(); ++k) {
      const EigenMatrix t = Eigen::Map<const EigenMatrix>(mixture.covariances.data() + k * n * n, n, n) + extra;
      l.push_back(linalg::cholesky(t));
      log.push_back(log_pi[static_cast<std::size_t>(k)] - l.back().diagonal().array().log().sum());
    }
  }

  void add(const Mixture& mixture, Local& local) const {
    const Index n = mixture.features(), components = mixture.components();
    Factored& f = local.factored;
    f.y.resize(size(components * n));
    f.log.resize(size(components));
    double square[W], q[W];
    for (Index k = 0; k < components; ++k) {
      const auto at = static_cast<std::size_t>(k);
      lanes::solve_common(l[at].data(), mixture.means.data() + k * n, local.some.value.data(), n,
                          f.y.data() + size(k * n), square);
      for (int i = 0; i < W; ++i) f.log[size(k) + static_cast<std::size_t>(i)] = log[at] - square[i] / 2;
    }
    local.finish_likelihood(components);
    for (Index k = 0; k < components; ++k)
      if (local.shares_of(k, q))
        lanes::add_squares(f.y.data() + size(k * n), q, n, local.first.data() + size(k * n),
                           local.second.data() + size(k * lanes::triangle(n)));
  }

  // PopulationSums of y and y yᵀ become those of v = L⁻ᵀ y and v vᵀ − T⁻¹.
  void finish(PopulationSums& sums) const {
    const Index n = sums.first.cols();
    for (Index k = 0; k < sums.share.size(); ++k) {
      const EigenMatrix& lower = l[static_cast<std::size_t>(k)];
      Eigen::Map<EigenVector> first(sums.first.data() + k * n, n);
      Eigen::Map<EigenMatrix> second(sums.second.data() + k * n * n, n, n);
      EigenVector v = first;
      linalg::solve_lower_transposed(lower, v);
      first = v;
      second.diagonal().array() -= sums.share.coeff(k);
      EigenMatrix half = second;
      linalg::solve_lower_transposed(lower, half);
      EigenMatrix whole = half.transpose();
      linalg::solve_lower_transposed(lower, whole);
      second = (whole + whole.transpose()) / 2;
    }
  }
};

void add_general(const Reader& reader, const Mixture& mixture, const std::vector<double>& log_pi, Local& local) {
  const Index n = reader.features(), m = reader.values(), components = mixture.components();
  Factored& f = local.factored;
  f.compute(reader, local.some, mixture, log_pi);
  local.finish_likelihood(components);
  local.v.resize(size(n));
  double q[W];
  for (Index k = 0; k < components; ++k) {
    if (!local.shares_of(k, q)) continue;
    const lanes::Columns p = local.projector.of(reader, local.some, f, k);
    lanes::transposed_product(p, f.y.data() + size(k * m), n, local.v.data());
    lanes::add_moments(p, local.v.data(), q, n, local.first.data() + size(k * n),
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
      lanes::add_projected(s, some.r.data(), some.noise.data(), m, n, work.data(), t);
      for (Index i = 0; i < m * W; ++i) residual[i] = some.value[static_cast<std::size_t>(i)];
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j)
          for (int lane = 0; lane < W; ++lane)
            residual[i * W + lane] -= some.r[size(i * n + j) + static_cast<std::size_t>(lane)] * mean[j];
    } else {
      lanes::add_masked(s, some.mask.data(), some.noise.data(), n, t);
      for (Index i = 0; i < n * W; ++i)
        residual[i] = some.value[static_cast<std::size_t>(i)] - mean[i / W] * some.mask[static_cast<std::size_t>(i)];
    }
    double log_root[W];
    lanes::cholesky(t, m, log_root);
    lanes::solve(t, m, residual, square.data() + size(k));
    for (int i = 0; i < W; ++i)
      log[size(k) + static_cast<std::size_t>(i)] =
          log_pi[static_cast<std::size_t>(k)] - log_root[i] - square[size(k) + static_cast<std::size_t>(i)] / 2;
  }
}

lanes::Columns Projector::of(const Reader& reader, const Lanes& some, const Factored& factored, Index k) {
  const Index n = reader.features(), m = reader.values();
  inverse.resize(size(lanes::triangle(m)));
  lanes::invert(factored.l.data() + size(k * lanes::triangle(m)), m, inverse.data());
  if (!reader.projects()) {
    if (!some.whole) lanes::times_mask(some.mask.data(), n, inverse.data());
    return {inverse.data(), n, true};
  }
  product.resize(size(m * n));
  lanes::times_projection(inverse.data(), some.r.data(), m, n, product.data());
  return {product.data(), m, false};
}

Pass::Pass(const Reader& reader, int threads)
    : reader_(reader), threads_(threads), common_(reader.common_noise(threads, noise_)) {}

PopulationSums Pass::operator()(const Mixture& mixture, const std::function<void()>& pause) const {
  const Index n = reader_.features(), components = mixture.components();
  const std::vector<double> log_pi = log_weights(mixture);
  const CommonFactors common = common_ ? CommonFactors(mixture, noise_, log_pi) : CommonFactors({}, {}, {});
  PopulationSums sums;
  sums.share.setZero(components);
  sums.first.setZero(components, n);
  sums.second.setZero(components, n * n);
  const auto block = [&](Index at, Local& local) {
    local.clear(components, n);
    for (Index first = at * kBlock; first < std::min(reader_.samples(), (at + 1) * kBlock); first += W) {
      reader_.load(first, local.some);
      if (common_)
        common.add(mixture, local);
      else
        add_general(reader_, mixture, log_pi, local);
    }
  };
  const Index blocks = (reader_.samples() + kBlock - 1) / kBlock;
  const auto cubes = static_cast<double>(reader_.values() * (reader_.values() + 8) * (n + 8) * components * kBlock);
  const Index part = std::max<Index>(2 * resolve_threads(threads_), static_cast<Index>(kWorkOfPart / cubes));
  for (Index done = 0; done < blocks; done += part) {
    if (done && pause) pause();
    ordered_blocks<Local>(
        std::min(part, blocks - done), threads_, [&](Index at, Local& local) { block(done + at, local); },
        [&](const Local& local) { merge(local, sums); });
  }
  if (common_) common.finish(sums);
  return sums;
}

}  // namespace svmgsu
