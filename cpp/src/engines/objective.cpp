// Passes over the data: value, gradient and certificate.
#include "svmgsu/engines/objective.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "data/rows.hpp"
#include "engines/passes.hpp"
#include "svmgsu/losses/expected_hinge.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

// What one block sums, for all examples or for each class apart: losses, Σ c Φ, Σ c Φ x, and each
// covariance term's own sum of c κ Σ.
struct Objective::Sums {
  double mass = 0;
  Vector x;
  std::vector<std::vector<double>> terms;
  std::vector<double> sparse_pair;  // x and the first term side by side, in place of both

  void reset(Index features, const std::vector<CovarianceSum::Term>& covariance, bool side_by_side = false) {
    mass = 0;
    sparse_pair.assign(side_by_side ? 2 * static_cast<std::size_t>(features) : 0, 0.0);
    x.setZero(side_by_side ? 0 : features);
    terms.resize(covariance.size());
    for (std::size_t t = side_by_side; t < terms.size(); ++t)
      terms[t].assign(static_cast<std::size_t>(covariance[t].kind->sum_size()), 0.0);
  }
  void add(const Sums& other) {
    mass += other.mass;
    if (other.sparse_pair.empty()) x += other.x;
    add_apart(other.sparse_pair, x.data(), terms.empty() ? nullptr : terms[0].data());
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t j = 0; j < other.terms[t].size(); ++j) terms[t][j] += other.terms[t][j];
  }
};

struct Objective::Local {
  double loss = 0, smooth_loss = 0, kappa = 0;
  Sums of[2];                       // negative and positive examples; all in of[0] where classes are not kept apart
  Index start = 0;                  // where the block begins
  std::vector<Index> position, id;  // its examples in the order of their visit
  std::vector<double> losses;       // of them, c L, in the order of the data

  void reset(Index features, const std::vector<CovarianceSum::Term>& covariance, int sides, bool side_by_side = false) {
    loss = smooth_loss = kappa = 0;
    for (int side = 0; side < sides; ++side) of[side].reset(features, covariance, side_by_side);
  }
  void add(const Local& other, int sides) {
    loss += other.loss;
    smooth_loss += other.smooth_loss;
    kappa += other.kappa;
    for (int side = 0; side < sides; ++side) of[side].add(other.of[side]);
  }
};

Objective::Objective(Gaussians data, double lambda, int threads, bool intercept)
    : data_(std::move(data)), lambda_(lambda), threads_(threads), intercept_(intercept) {
  require(lambda > 0 && std::isfinite(lambda), "lambda: must be positive and finite, got " + std::to_string(lambda));
}

// Blocks are large enough for their work to outweigh the summing of their results, about equal, and depend
// on the problem alone.
Index Objective::block_size(Index count, double sum_size) const {
  const double effort = data_.means().rows().column ? 6 : 1;  // a number of a sparse row takes longer
  const double per_example = std::max(1.0, effort * numbers_per_example(data_));
  const Index for_sums = static_cast<Index>(48 * sum_size / per_example);
  const Index largest = std::max<Index>({32, for_sums, std::min<Index>(256, count / 64)});
  const Index blocks = std::max<Index>(1, (count + largest - 1) / largest);
  return std::max<Index>(1, (count + blocks - 1) / blocks);
}

double Objective::sum_size() const {
  double size = static_cast<double>(features());
  for (const auto& term : data_.covariance()) size += static_cast<double>(term.kind->sum_size());
  return size;
}

void Objective::prepare(const Vector& w, std::vector<Plan>& plans) const {
  plans.resize(data_.covariance().size());
  for (std::size_t t = 0; t < plans.size(); ++t) data_.covariance()[t].kind->prepare(w.data(), features(), plans[t]);
}

// The one loop over examples. For each batch: read w·x and wᵀΣw (kRead), let `link(position, count,
// mean, variance, x_coefficient, kappa, local)` turn them into coefficients, and add the weighted
// examples up (kWrite), all together or each class for itself (kByClass). `ids` are rows of the arrays; a
// position is a place in `ids`.
template <bool kRead, bool kWrite, bool kByClass, class Link>
void Objective::sweep(const std::vector<Index>& ids, const Vector& w, std::vector<Plan>& plans, Link link,
                      Local* total) const {
  constexpr int kSides = kByClass ? 2 : 1;
  const auto& terms = data_.covariance();
  const Index count = static_cast<Index>(ids.size());
  const Index block = block_size(count, kWrite ? kSides * sum_size() : 0);
  const Index blocks = (count + block - 1) / block;
  const double numbers = numbers_per_example(data_);
  const int batch = batch_size(numbers);
  const int threads = static_cast<double>(count) * numbers < kSerialNumbers ? 1 : resolve_threads(threads_);

  RowPair pair;  // of the means and the first term
  if (data_.paired())
    pair = RowPair(data_.means().rows(), terms[0].kind->like_means(), features(), w.data(), plans[0].of_w.data());
  const auto read = [&](Batch part, double* mean, double* variance) {
    if (pair.exists()) {
      pair.dots(part, mean, variance);
      for (int i = 0; i < part.count; ++i) variance[i] *= terms[0].scale;
    } else {
      data_.means().dots(part, w.data(), mean);
      std::fill_n(variance, part.count, 0.0);
    }
    for (std::size_t t = pair.exists(); t < terms.size(); ++t)
      terms[t].kind->quadratic(part, plans[t], terms[t].scale, variance);
    for (int i = 0; i < part.count; ++i) variance[i] = std::max(0.0, variance[i]);
  };
  const auto add_up = [&](Batch part, const double* coefficient, const double* kappa, Sums& sums) {
    if (pair.sparse()) {
      pair.add(part, coefficient, kappa, sums.sparse_pair.data());
    } else {
      data_.means().add(part, coefficient, sums.x.data());
    }
    for (std::size_t t = pair.sparse(); t < terms.size(); ++t)
      terms[t].kind->weigh(part, plans[t], kappa, sums.terms[t].data());
  };
  const auto add_by_class = [&](Batch part, const Index* position, const double* coefficient, const double* kappa,
                                Sums* sums) {
    Index id[2][kMaxBatch + 1];
    double x[2][kMaxBatch + 1], curvature[2][kMaxBatch + 1];
    int size[2] = {0, 0};
    for (int i = 0; i < part.count; ++i) {  // without a branch, which could not be foreseen: one write is void
      for (int side : {0, 1}) {
        id[side][size[side]] = part.id[i];
        x[side][size[side]] = coefficient[i];
        curvature[side][size[side]] = kappa[i];
      }
      const bool positive = data_.label(position[i]) > 0;
      size[0] += !positive;
      size[1] += positive;
    }
    for (int side : {0, 1})
      if (size[side] > 0) add_up(Batch{id[side], size[side]}, x[side], curvature[side], sums[side]);
  };

  if (kWrite) total->reset(features(), terms, kSides);
  ordered_blocks<Local>(
      blocks, threads,
      [&](Index k, Local& local) {
        double mean[kMaxBatch], variance[kMaxBatch], coefficient[kMaxBatch], kappa[kMaxBatch];
        if (kWrite) local.reset(features(), terms, kSides, pair.sparse());
        local.start = k * block;
        local.position.resize(static_cast<std::size_t>(std::min(block, count - local.start)));
        local.id.resize(local.position.size());
        local.losses.assign(kByClass ? local.position.size() : 0, 0.0);
        std::iota(local.position.begin(), local.position.end(), local.start);
        // A small batch of both classes would be added up in pieces of one or two.
        if (kByClass && batch < kManyExamples)
          std::stable_partition(local.position.begin(), local.position.end(),
                                [&](Index i) { return data_.label(i) < 0; });
        for (std::size_t i = 0; i < local.id.size(); ++i)
          local.id[i] = ids[static_cast<std::size_t>(local.position[i])];
        const auto size = static_cast<Index>(local.id.size());
        for (Index first = 0; first < size; first += batch) {
          const Batch part = batch_at(local.id, first, std::min(size, first + batch));
          const Index* position = &local.position[static_cast<std::size_t>(first)];
          if (kRead) read(part, mean, variance);
          link(position, part.count, mean, variance, coefficient, kappa, local);
          if (kWrite && !kByClass) add_up(part, coefficient, kappa, local.of[0]);
          if (kWrite && kByClass) add_by_class(part, position, coefficient, kappa, local.of);
        }
        for (const double loss : local.losses) local.smooth_loss += loss;
      },
      [&](const Local& local) {
        if (kWrite) total->add(local, kSides);
      });
}

// out += factor · Σ_t scale_t (the sum of term t) w
void Objective::finish(const std::vector<std::vector<double>>& terms, const Vector& w, double factor,
                       Vector& out) const {
  for (std::size_t t = 0; t < terms.size(); ++t)
    data_.covariance()[t].kind->finish(terms[t].data(), w.data(), features(), factor * data_.covariance()[t].scale,
                                       out.data());
}

// Loss, Φ and κ of some examples, given their labels, margins' means and variances.
void Objective::derivatives(const double* y, const double* mean, const double* variance, int count, double b,
                            double epsilon, double* loss, double* cdf, double* kappa) {
  double d[kMaxBatch], s[kMaxBatch];
  const double extra = epsilon * epsilon;
  for (int i = 0; i < count; ++i) {
    d[i] = 1 - y[i] * (mean[i] + b);
    s[i] = std::sqrt(variance[i] + extra);
  }
  kernels::expected_hinge(count, d, s, loss, cdf, kappa);
}

Margins Objective::margins(const Vector& w) const {
  std::vector<Plan> plans;
  return margins(w, plans);
}

Margins Objective::margins(const Vector& w, std::vector<Plan>& plans) const {
  Margins result;
  result.mean.resize(static_cast<std::size_t>(examples()));
  result.variance.resize(static_cast<std::size_t>(examples()));
  prepare(w, plans);
  sweep<true, false, false>(
      data_.ids(), w, plans,
      [&](const Index* position, int count, const double* mean, const double* variance, double*, double*, Local&) {
        std::copy_n(mean, count, result.mean.begin() + *position);
        std::copy_n(variance, count, result.variance.begin() + *position);
      },
      nullptr);
  return result;
}

// Summed in the blocks of evaluate(), so that both give the same bits.
double Objective::value(const Margins& margins, double w_squared, double b) const {
  double total = 0;
  double loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
  const Index block = block_size(examples(), 2 * sum_size());
  for (Index start = 0; start < examples(); start += block) {
    const Index end = std::min(examples(), start + block);
    double part = 0;
    for (Index first = start; first < end; first += kMaxBatch) {
      const auto at = static_cast<std::size_t>(first);
      const int count = static_cast<int>(std::min<Index>(kMaxBatch, end - first));
      derivatives(data_.labels() + first, &margins.mean[at], &margins.variance[at], count, b, smoothing, loss, cdf,
                  kappa);
      for (int i = 0; i < count; ++i) part += data_.weight(first + i) * loss[i];
    }
    total += part;
  }
  return lambda_ / 2 * w_squared + total / static_cast<double>(examples());
}

double Objective::value(const Vector& w, double b) const { return value(margins(w), w.squaredNorm(), b); }

// D from the sums of each class, g± = (1/ℓ) Σ± c (Φ x y − κ Σw) and masses P± = (1/ℓ) Σ± c Φ: the class
// with more mass is scaled down to the other. Any t·a with t in [0, 1] is feasible as well, and D is a
// parabola in t, of which the best is taken; `unscaled` is the value at t = 1.
Certificate Objective::dual_bound(const Vector& positive, const Vector& negative, const double* mass, double value,
                                  double* unscaled) const {
  double rho[2] = {1, 1};
  if (intercept_) {
    const double smaller = std::min(mass[0], mass[1]);
    for (int side : {0, 1}) rho[side] = mass[side] > 0 ? smaller / mass[side] : 0.0;
  }
  const double total = rho[0] * mass[0] + rho[1] * mass[1];
  const double square = (rho[1] * positive + rho[0] * negative).squaredNorm() / lambda_;
  const double t = square > total ? total / square : 1.0;
  if (unscaled) *unscaled = total - square / 2;
  return {value, t * total - t * t * square / 2};
}

Evaluation Objective::evaluate(const Vector& w, double b) const {
  Evaluation e;
  evaluate(w, b, e);
  return e;
}

void Objective::evaluate(const Vector& w, double b, Evaluation& e) const {
  e.w = w;
  e.b = b;
  const auto size = static_cast<std::size_t>(examples());
  for (auto* array : {&e.margins.mean, &e.margins.variance, &e.kappa}) array->resize(size);
  prepare(w, e.plans);
  Local total;
  sweep<true, true, true>(
      data_.ids(), w, e.plans,
      [&](const Index* position, int count, const double* mean, const double* variance, double* coefficient,
          double* kappa, Local& local) {
        double labels[kMaxBatch], loss[kMaxBatch], cdf[kMaxBatch];
        for (int i = 0; i < count; ++i) labels[i] = data_.label(position[i]);
        derivatives(labels, mean, variance, count, b, smoothing, loss, cdf, kappa);
        if (smoothing > 0) {
          double exact[kMaxBatch], ignored[kMaxBatch], ignored_too[kMaxBatch];
          derivatives(labels, mean, variance, count, b, 0.0, exact, ignored, ignored_too);
          for (int i = 0; i < count; ++i) local.loss += data_.weight(position[i]) * exact[i];
        }
        double mass_of[2] = {0, 0};
        for (int i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(position[i]);
          const double weight = data_.weight(position[i]), mass = weight * cdf[i];
          e.margins.mean[at] = mean[i];
          e.margins.variance[at] = variance[i];
          e.kappa[at] = kappa[i];
          local.losses[static_cast<std::size_t>(position[i] - local.start)] = weight * loss[i];
          coefficient[i] = labels[i] * mass;
          kappa[i] *= weight;
          local.kappa += kappa[i];
          mass_of[0] += labels[i] < 0 ? mass : 0.0;
          mass_of[1] += labels[i] > 0 ? mass : 0.0;
        }
        for (int side : {0, 1}) local.of[side].mass += mass_of[side];
      },
      &total);
  const double share = 1.0 / static_cast<double>(examples());
  const double penalty = lambda_ / 2 * w.squaredNorm();
  Vector side[2];
  double mass[2];
  for (int k : {0, 1}) {
    side[k] = share * total.of[k].x;
    finish(total.of[k].terms, w, -share, side[k]);
    mass[k] = share * total.of[k].mass;
  }
  e.value = penalty + total.smooth_loss / static_cast<double>(examples());
  const double exact = smoothing > 0 ? penalty + share * total.loss : e.value;
  e.certificate = dual_bound(side[1], side[0], mass, exact, &e.dual);
  e.smoothed_share = smoothing * smoothing * share * total.kappa;
  e.gradient = lambda_ * w - side[0] - side[1];
  e.gradient_b = mass[0] - mass[1];
  total.of[0].add(total.of[1]);
  e.sums = std::move(total.of[0].terms);
}

void Objective::sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                                double& gb) const {
  thread_local std::vector<Plan> plans;
  thread_local std::vector<Index> ids;
  prepare(w, plans);
  ids.resize(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) ids[i] = data_.ids()[static_cast<std::size_t>(sample[i])];
  auto& plans_here = plans;  // the lambda's threads share this thread's
  Local total;
  sweep<true, true, false>(
      ids, w, plans_here,
      [&](const Index* position, int count, const double* mean, const double* variance, double* coefficient,
          double* kappa, Local& local) {
        double labels[kMaxBatch], loss[kMaxBatch], cdf[kMaxBatch];
        const Index* drawn = &sample[static_cast<std::size_t>(*position)];
        for (int i = 0; i < count; ++i) labels[i] = data_.label(drawn[i]);
        derivatives(labels, mean, variance, count, b, 0.0, loss, cdf, kappa);
        for (int i = 0; i < count; ++i) {
          coefficient[i] = data_.weight(drawn[i]) * labels[i] * cdf[i];
          kappa[i] *= data_.weight(drawn[i]);
          local.of[0].mass += coefficient[i];
        }
      },
      &total);
  const double share = 1.0 / static_cast<double>(sample.size());
  gw = -share * total.of[0].x;
  finish(total.of[0].terms, w, share, gw);
  gb = -share * total.of[0].mass;
}

// Σ c y Φ at b, and its derivative −Σ c κ.
double Objective::mass_difference(const Margins& margins, double b, double* slope) const {
  double loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
  double difference = 0;
  *slope = 0;
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    derivatives(data_.labels() + first, &margins.mean[static_cast<std::size_t>(first)],
                &margins.variance[static_cast<std::size_t>(first)], count, b, smoothing, loss, cdf, kappa);
    for (int i = 0; i < count; ++i) {
      difference += data_.weight(first + i) * data_.label(first + i) * cdf[i];
      *slope -= data_.weight(first + i) * kappa[i];
    }
  }
  return difference;
}

// Newton's iteration inside a shrinking bracket: Σ c y Φ does not increase with b.
double Objective::best_intercept(const Margins& margins, double start) const {
  double low = std::numeric_limits<double>::infinity(), high = -low, mass[2] = {0, 0};
  for (Index i = 0; i < examples(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double reach = 40 * std::sqrt(margins.variance[at] + smoothing * smoothing);
    const double kink = data_.label(i) - margins.mean[at];
    low = std::min(low, kink - reach);
    high = std::max(high, kink + reach);
    mass[data_.label(i) > 0] += data_.weight(i);
  }
  if (mass[0] == 0) return high;  // nothing pulls back
  if (mass[1] == 0) return low;
  double b = std::min(std::max(start, low), high);
  double width_before = high - low;
  for (int step = 0; step < 200; ++step) {
    double slope;
    const double difference = mass_difference(margins, b, &slope);
    if (difference == 0) return b;
    (difference > 0 ? low : high) = b;
    const double newton = b - difference / slope;
    const bool halve = !(newton > low && newton < high) || (step % 3 == 2 && high - low > width_before / 2);
    if (step % 3 == 2) width_before = high - low;
    const double next = halve ? low + (high - low) / 2 : newton;
    if (next == b || next == low || next == high) {
      // No number lies between: of the two ends, the one with the smaller objective.
      return value(margins, 0, low) <= value(margins, 0, high) ? low : high;
    }
    b = next;
  }
  return b;
}

Certificate Objective::certify(const Vector& w, double b) const {
  const Margins m = margins(w);
  const Evaluation best = evaluate(w, intercept_ ? best_intercept(m, b) : b);
  return {value(m, w.squaredNorm(), b), best.certificate.bound};
}

}  // namespace svmgsu
