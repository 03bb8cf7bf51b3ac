// Passes over the data: value, gradient, certificate and Hessian products.
#include "svmgsu/objective.hpp"

#include <cmath>
#include <limits>

#include "svmgsu/expected_hinge.hpp"
#include "svmgsu/parallel.hpp"
#include "svmgsu/random.hpp"

namespace svmgsu {
namespace {

// Examples visited together: as many as stay in a core's second-level cache between the two uses of
// their numbers, so that memory is read once.
int batch_size(double numbers_per_example) {
  constexpr double kCacheNumbers = 32768;
  const double fit = kCacheNumbers / std::max(1.0, numbers_per_example);
  if (fit < 4) return 1;
  return std::min(kMaxBatch, static_cast<int>(fit) / 4 * 4);
}

double numbers_per_example(const Gaussians& data) {
  double sum = data.means().numbers_per_example();
  for (const auto& term : data.covariance()) sum += term.kind->numbers_per_example();
  return sum;
}

// Below this many numbers a pass is over before a second thread has woken up.
constexpr double kSerialNumbers = 20000;

}  // namespace

// What one block sums, for all examples or for each class apart: losses, Σ c Φ, Σ c Φ x, and each
// covariance term's own sum of c κ Σ.
struct Objective::Sums {
  double mass = 0;
  Vector x;
  std::vector<std::vector<double>> terms;

  void reset(Index features, const std::vector<CovarianceSum::Term>& covariance) {
    mass = 0;
    x.setZero(features);
    terms.resize(covariance.size());
    for (std::size_t t = 0; t < terms.size(); ++t)
      terms[t].assign(static_cast<std::size_t>(covariance[t].kind->sum_size()), 0.0);
  }
  void add(const Sums& other) {
    mass += other.mass;
    x += other.x;
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t j = 0; j < terms[t].size(); ++j) terms[t][j] += other.terms[t][j];
  }
};

struct Objective::Local {
  double loss = 0, smooth_loss = 0, kappa = 0;
  Sums of[2];  // negative and positive examples; all in of[0] where classes are not kept apart

  void reset(Index features, const std::vector<CovarianceSum::Term>& covariance, int sides) {
    loss = smooth_loss = kappa = 0;
    for (int side = 0; side < sides; ++side) of[side].reset(features, covariance);
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

// Blocks are large enough for their work to outweigh the summing of their results, and depend on the
// problem alone.
Index Objective::block_size(Index count, double sum_size) const {
  const double per_example = std::max(1.0, numbers_per_example(data_));
  const Index for_sums = static_cast<Index>(32 * sum_size / per_example);
  return std::max<Index>({32, for_sums, std::min<Index>(256, count / 64)});
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

// The one loop over examples. For each batch: read w·x and wᵀΣw (kRead), let `link(first, count,
// mean, variance, x_coefficient, kappa, local)` turn them into coefficients, and add the weighted
// examples up (kWrite), each class for itself or together. `ids` are rows of the arrays; `first` is a
// position in `ids`.
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

  if (kWrite) total->reset(features(), terms, kSides);
  std::vector<Local> locals(static_cast<std::size_t>(std::min<Index>(threads, blocks)));
  const auto add_up = [&](Batch part, const double* coefficient, const double* kappa, Sums& sums) {
    data_.means().add(part, coefficient, sums.x.data());
    for (std::size_t t = 0; t < terms.size(); ++t) terms[t].kind->weigh(part, plans[t], kappa, sums.terms[t].data());
  };
  ordered_blocks(
      blocks, threads, locals,
      [&](Index k, Local& local) {
        double mean[kMaxBatch], variance[kMaxBatch], coefficient[kMaxBatch], kappa[kMaxBatch];
        if (kWrite) local.reset(features(), terms, kSides);
        const Index last = std::min(count, (k + 1) * block);
        for (Index first = k * block; first < last; first += batch) {
          const Batch part{ids.data() + first, static_cast<int>(std::min<Index>(batch, last - first))};
          if (kRead) {
            data_.means().dots(part, w.data(), mean);
            std::fill_n(variance, part.count, 0.0);
            for (std::size_t t = 0; t < terms.size(); ++t)
              terms[t].kind->quadratic(part, plans[t], terms[t].scale, variance);
            for (int i = 0; i < part.count; ++i) variance[i] = std::max(0.0, variance[i]);
          }
          link(first, part.count, mean, variance, coefficient, kappa, local);
          if (kWrite && !kByClass) add_up(part, coefficient, kappa, local.of[0]);
          if (kWrite && kByClass) {
            Index id[2][kMaxBatch];
            double x[2][kMaxBatch], curvature[2][kMaxBatch];
            int size[2] = {0, 0};
            for (int i = 0; i < part.count; ++i) {
              const int side = data_.label(first + i) > 0;
              const int at = size[side]++;
              id[side][at] = part.id[i];
              x[side][at] = coefficient[i];
              curvature[side][at] = kappa[i];
            }
            for (int side : {0, 1}) add_up(Batch{id[side], size[side]}, x[side], curvature[side], local.of[side]);
          }
        }
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

void Objective::derivatives(const double* mean, const double* variance, Index first, int count, double b,
                            double epsilon, double* loss, double* cdf, double* kappa) const {
  double d[kMaxBatch], s[kMaxBatch];
  const double extra = epsilon * epsilon;
  for (int i = 0; i < count; ++i) {
    d[i] = 1 - data_.label(first + i) * (mean[i] + b);
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
      [&](Index first, int count, const double* mean, const double* variance, double*, double*, Local&) {
        std::copy_n(mean, count, result.mean.begin() + first);
        std::copy_n(variance, count, result.variance.begin() + first);
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
      derivatives(&margins.mean[at], &margins.variance[at], first, count, b, smoothing, loss, cdf, kappa);
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
  e.w = w;
  e.b = b;
  const auto size = static_cast<std::size_t>(examples());
  for (auto* array : {&e.margins.mean, &e.margins.variance, &e.cdf, &e.kappa}) array->resize(size);
  prepare(w, e.plans);
  Local total;
  sweep<true, true, true>(
      data_.ids(), w, e.plans,
      [&](Index first, int count, const double* mean, const double* variance, double* coefficient, double* kappa,
          Local& local) {
        const auto at = static_cast<std::size_t>(first);
        double loss[kMaxBatch], true_loss[kMaxBatch];
        derivatives(mean, variance, first, count, b, smoothing, loss, &e.cdf[at], &e.kappa[at]);
        const double* exact = loss;
        if (smoothing > 0) {
          double ignored[kMaxBatch], ignored_too[kMaxBatch];
          derivatives(mean, variance, first, count, b, 0.0, true_loss, ignored, ignored_too);
          exact = true_loss;
        }
        std::copy_n(mean, count, &e.margins.mean[at]);
        std::copy_n(variance, count, &e.margins.variance[at]);
        for (int i = 0; i < count; ++i) {
          const double weight = data_.weight(first + i), y = data_.label(first + i);
          const double mass = weight * e.cdf[at + static_cast<std::size_t>(i)];
          coefficient[i] = y * mass;
          kappa[i] = weight * e.kappa[at + static_cast<std::size_t>(i)];
          local.smooth_loss += weight * loss[i];
          local.loss += weight * exact[i];
          local.kappa += kappa[i];
          local.of[y > 0].mass += mass;
        }
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
  e.certificate = dual_bound(side[1], side[0], mass, penalty + share * total.loss, &e.dual);
  e.smoothed_share = smoothing * smoothing * share * total.kappa;
  e.gradient = lambda_ * w - side[0] - side[1];
  e.gradient_b = mass[0] - mass[1];
  total.of[0].add(total.of[1]);
  e.sums = std::move(total.of[0].terms);
  return e;
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
      [&](Index first, int count, const double* mean, const double* variance, double* coefficient, double* kappa,
          Local& local) {
        double d[kMaxBatch], s[kMaxBatch], loss[kMaxBatch], cdf[kMaxBatch];
        for (int i = 0; i < count; ++i) {
          d[i] = 1 - data_.label(sample[static_cast<std::size_t>(first + i)]) * (mean[i] + b);
          s[i] = std::sqrt(variance[i]);
        }
        kernels::expected_hinge(count, d, s, loss, cdf, kappa);
        for (int i = 0; i < count; ++i) {
          const Index position = sample[static_cast<std::size_t>(first + i)];
          coefficient[i] = data_.weight(position) * data_.label(position) * cdf[i];
          kappa[i] *= data_.weight(position);
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
    derivatives(&margins.mean[static_cast<std::size_t>(first)], &margins.variance[static_cast<std::size_t>(first)],
                first, count, b, smoothing, loss, cdf, kappa);
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

Hessian::Hessian(const Objective& objective, const Evaluation& at, double negligible)
    : objective_(objective), w_(at.w), sums_(at.sums) {
  const Gaussians& data = objective.data();
  const double extra = objective.smoothing * objective.smoothing;
  double largest = 0;
  for (Index i = 0; i < data.examples(); ++i)
    largest = std::max(largest, data.weight(i) * at.kappa[static_cast<std::size_t>(i)]);
  for (Index i = 0; i < data.examples(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double kappa = data.weight(i) * at.kappa[k];
    if (kappa <= negligible * largest) continue;
    const double q = at.margins.variance[k] + extra;
    positions_.push_back(i);
    ids_.push_back(data.ids()[k]);
    label_.push_back(data.label(i));
    kappa_.push_back(kappa);
    rho_.push_back((1 - data.label(i) * (at.margins.mean[k] + at.b)) / q);
    inverse_q_.push_back(1 / q);
  }
  const auto& terms = data.covariance();
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms_.push_back(terms[t].kind->curvature(at.w, at.plans[t], at.sums[t], ids_, objective.threads()));
  xv_.resize(ids_.size());
  uv_.resize(ids_.size());
}

template <class Link>
void Hessian::sweep(const Vector& v, double vb, Link link, Vector& out, double& out_b) const {
  const Gaussians& data = objective_.data();
  const auto& terms = data.covariance();
  for (const auto& term : terms_) term->prepare(v.data());
  struct Local {
    double b = 0;
    Vector x;
    std::vector<std::vector<double>> terms;
  };
  Local total;
  total.x = Vector::Zero(data.features());
  double sum_size = static_cast<double>(data.features());
  for (const auto& term : terms_) {
    total.terms.emplace_back(static_cast<std::size_t>(term->sum_size()), 0.0);
    sum_size += static_cast<double>(term->sum_size());
  }
  const Index count = active();
  const Index block = objective_.block_size(count, sum_size);
  const Index blocks = (count + block - 1) / block;
  const double numbers = numbers_per_example(data);
  const int batch = batch_size(numbers);
  const int threads = static_cast<double>(count) * numbers < kSerialNumbers ? 1 : resolve_threads(objective_.threads());
  std::vector<Local> locals(static_cast<std::size_t>(std::max<Index>(1, std::min<Index>(threads, blocks))));
  ordered_blocks(
      blocks, threads, locals,
      [&](Index k, Local& local) {
        local.b = 0;
        local.x.setZero(data.features());
        local.terms.resize(terms_.size());
        for (std::size_t t = 0; t < terms_.size(); ++t) local.terms[t].assign(total.terms[t].size(), 0.0);
        double coefficient[kMaxBatch], tau[kMaxBatch];
        const Index last = std::min(count, (k + 1) * block);
        for (Index first = k * block; first < last; first += batch) {
          const auto at = static_cast<std::size_t>(first);
          const Batch part{ids_.data() + first, static_cast<int>(std::min<Index>(batch, last - first))};
          double* xv = &xv_[at];
          double* uv = &uv_[at];
          data.means().dots(part, v.data(), xv);
          std::fill_n(uv, part.count, 0.0);
          for (std::size_t t = 0; t < terms_.size(); ++t) terms_[t]->cross(part, terms[t].scale, uv);
          for (int i = 0; i < part.count; ++i) {
            xv[i] += vb;
            link(at + static_cast<std::size_t>(i), xv[i], uv[i], coefficient[i], tau[i]);
            local.b += coefficient[i];
          }
          data.means().add(part, coefficient, local.x.data());
          for (std::size_t t = 0; t < terms_.size(); ++t)
            terms_[t]->weigh(part, tau, &kappa_[at], local.terms[t].data());
        }
      },
      [&](const Local& local) {
        total.b += local.b;
        total.x += local.x;
        for (std::size_t t = 0; t < total.terms.size(); ++t)
          for (std::size_t j = 0; j < total.terms[t].size(); ++j) total.terms[t][j] += local.terms[t][j];
      });
  const double share = 1.0 / static_cast<double>(data.examples());
  out = share * total.x;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t]->finish(total.terms[t].data(), share * terms[t].scale, out.data());
  out_b = share * total.b;
}

// Example i adds κ[α y x + (α r/s − uᵀv/q) u + Σv] with u = Σw and α = y(x·v + v_b) + (r/s) uᵀv.
void Hessian::times(const Vector& v, double vb, Vector& out, double& out_b) const {
  sweep(
      v, vb,
      [&](std::size_t j, double xv, double uv, double& coefficient, double& tau) {
        const double alpha = label_[j] * xv + rho_[j] * uv;
        coefficient = kappa_[j] * alpha * label_[j];
        tau = kappa_[j] * (alpha * rho_[j] - uv * inverse_q_[j]);
      },
      out, out_b);
  out += objective_.lambda() * v;
}

// Example i adds κ ε [(r/s) y x + ((r² − 1)/q) u].
void Hessian::smoothing_derivative(Vector& out, double& out_b) const {
  const double epsilon = objective_.smoothing;
  sweep(
      Vector::Zero(w_.size()), 0.0,
      [&](std::size_t j, double, double, double& coefficient, double& tau) {
        coefficient = kappa_[j] * epsilon * rho_[j] * label_[j];
        tau = kappa_[j] * epsilon * (rho_[j] * rho_[j] - inverse_q_[j]);
      },
      out, out_b);
}

namespace {

struct Choice {
  std::vector<std::size_t> place;
  std::vector<double> factor;
};

// About `rows` of the examples, each with probability min(1, τ κ) and then weight 1/probability.
Choice choose_rows(const std::vector<double>& kappa, Index rows, std::uint64_t seed) {
  Choice choice;
  const auto count = static_cast<Index>(kappa.size());
  double tau = std::numeric_limits<double>::infinity();
  if (count > rows) {
    double certain = 0, rest = 0;
    for (const double k : kappa) rest += k;
    tau = static_cast<double>(rows) / rest;
    for (int round = 0; round < 20; ++round) {
      certain = rest = 0;
      for (const double k : kappa) (tau * k >= 1 ? certain : rest) += tau * k >= 1 ? 1 : k;
      if (!(rest > 0)) break;
      const double next = std::max(0.0, static_cast<double>(rows) - certain) / rest;
      if (std::abs(next - tau) <= 1e-3 * tau) break;
      tau = next;
    }
  }
  SplitMix64 random(seed);
  for (std::size_t i = 0; i < kappa.size(); ++i) {
    const double odds = count > rows ? std::min(1.0, tau * kappa[i]) : 1.0;
    const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
    if (draw >= odds) continue;
    choice.place.push_back(i);
    choice.factor.push_back(1 / odds);
  }
  return choice;
}

}  // namespace

void Hessian::outer_rows(std::size_t j, double weight, double* z, double* u) const {
  const Gaussians& data = objective_.data();
  const Index n = data.features();
  const double root = std::sqrt(weight), y = root * label_[j];
  for (const auto& term : data.covariance()) term.kind->add_product(ids_[j], term.scale, w_.data(), n, u);
  data.means().add(Batch{&ids_[j], 1}, &y, z);
  z[n] = y;
  Eigen::Map<Vector> z_row(z, n), u_row(u, n);
  z_row += root * rho_[j] * u_row;
  u_row *= std::sqrt(weight * inverse_q_[j]);
}

Matrix Hessian::dense(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features(), width = n + 1;
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Matrix h = Matrix::Zero(width, width);
  h.diagonal().head(n).setConstant(objective_.lambda());
  bool factors = false;  // some term is known by factors only
  for (std::size_t t = 0; t < terms.size(); ++t)
    factors |= !terms[t].kind->expand(sums_[t].data(), n, share * terms[t].scale, h.data(), width);

  const Choice choice = choose_rows(kappa_, rows, seed);
  const bool exact = static_cast<Index>(choice.place.size()) == active();
  constexpr Index kChunk = 512;
  Matrix z, u, f;
  const auto factor_rows = [&](const Choice& chosen, std::size_t first, Index count) {
    Index sum = 0;
    for (std::size_t at = first; at < first + static_cast<std::size_t>(count); ++at)
      for (const auto& term : terms) sum += std::max<Index>(0, term.kind->rank(ids_[chosen.place[at]]));
    return sum;
  };
  for (std::size_t first = 0; first < choice.place.size(); first += kChunk) {
    const auto count = static_cast<Index>(std::min<std::size_t>(kChunk, choice.place.size() - first));
    z.setZero(count, width);
    u.setZero(count, width);
    f.resize(factors ? factor_rows(choice, first, count) : 0, n);
    double* f_row = f.data();
    for (Index i = 0; i < count; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i), j = choice.place[at];
      const double weight = share * kappa_[j] * choice.factor[at];
      outer_rows(j, weight, z.row(i).data(), u.row(i).data());
      for (const auto& term : terms) {
        const Index rank = term.kind->rank(ids_[j]);
        if (!factors || rank <= 0) continue;
        term.kind->factors(ids_[j], weight * term.scale, f_row);
        f_row += rank * n;
      }
    }
    kernels::add_gram(z.data(), count, width, 1.0, h.data(), width, objective_.threads());
    if (f.rows() > 0) kernels::add_gram(f.data(), f.rows(), n, 1.0, h.data(), width, objective_.threads());
    // Left out of an estimate: Σ and uuᵀ/q would no longer be of the same examples, and H not positive.
    if (exact) kernels::add_gram(u.data(), count, width, -1.0, h.data(), width, objective_.threads());
  }
  return h;
}

Hessian::Sketch Hessian::sketch(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Sketch result;
  result.diagonal = Vector::Zero(n + 1);
  result.diagonal.head(n).setConstant(objective_.lambda());
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms[t].kind->expand_diagonal(sums_[t].data(), n, share * terms[t].scale, result.diagonal.data());

  const Choice choice = choose_rows(kappa_, rows, seed);
  Index count = static_cast<Index>(choice.place.size());
  for (const std::size_t j : choice.place)
    for (const auto& term : terms) count += std::max<Index>(0, term.kind->rank(ids_[j]));
  result.rows.setZero(count, n + 1);
  Vector u(n + 1);
  MatrixOf<double> f;
  Index next = 0;
  for (std::size_t at = 0; at < choice.place.size(); ++at) {
    const std::size_t j = choice.place[at];
    const double weight = share * kappa_[j] * choice.factor[at];
    u.setZero();
    outer_rows(j, weight, result.rows.row(next++).data(), u.data());
    for (const auto& term : terms) {
      const Index rank = term.kind->rank(ids_[j]);
      if (rank <= 0) continue;
      f.resize(rank, n);
      term.kind->factors(ids_[j], weight * term.scale, f.data());
      result.rows.block(next, 0, rank, n) = f;
      next += rank;
    }
  }
  return result;
}

}  // namespace svmgsu
