// Passes over the data: value, gradient, certificate and Hessian products.
#include "svmgsu/objective.hpp"

#include <cmath>
#include <limits>

#include "svmgsu/expected_hinge.hpp"
#include "svmgsu/parallel.hpp"

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

// What one block sums: losses, Σ c y Φ, Σ c y Φ x, and each covariance term's own sum.
struct Objective::Local {
  double loss = 0, mass = 0;
  Vector x;
  std::vector<std::vector<double>> terms;
};

struct Objective::Totals : Local {
  Totals(Index features, const std::vector<CovarianceSum::Term>& covariance) {
    x = Vector::Zero(features);
    for (const auto& term : covariance) terms.emplace_back(static_cast<std::size_t>(term.kind->sum_size()), 0.0);
  }
  void clear(Local& local) const {
    local.loss = local.mass = 0;
    local.x.setZero(x.size());
    local.terms.resize(terms.size());
    for (std::size_t t = 0; t < terms.size(); ++t) local.terms[t].assign(terms[t].size(), 0.0);
  }
  void merge(const Local& local) {
    loss += local.loss;
    mass += local.mass;
    x += local.x;
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t j = 0; j < terms[t].size(); ++j) terms[t][j] += local.terms[t][j];
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

void Objective::prepare(const Vector& w, std::vector<Plan>& plans) const {
  plans.resize(data_.covariance().size());
  for (std::size_t t = 0; t < plans.size(); ++t) data_.covariance()[t].kind->prepare(w.data(), features(), plans[t]);
}

// The one loop over examples. For each batch: read w·x and wᵀΣw (kRead), let `link(first, count,
// mean, variance, x_coefficient, kappa, local)` turn them into coefficients, and add the weighted
// examples up (kWrite). `ids` are rows of the data; `first` is a position in `ids`.
template <bool kRead, bool kWrite, class Link>
void Objective::sweep(const std::vector<Index>& ids, const Vector& w, std::vector<Plan>& plans, Link link,
                      Totals* totals) const {
  const auto& terms = data_.covariance();
  const Index count = static_cast<Index>(ids.size());
  double sum_size = static_cast<double>(features());
  for (const auto& term : terms) sum_size += static_cast<double>(term.kind->sum_size());
  const Index block = block_size(count, kWrite ? sum_size : 0);
  const Index blocks = (count + block - 1) / block;
  const double numbers = numbers_per_example(data_);
  const int batch = batch_size(numbers);
  const int threads = static_cast<double>(count) * numbers < kSerialNumbers ? 1 : resolve_threads(threads_);

  std::vector<Local> locals(static_cast<std::size_t>(std::min<Index>(threads, blocks)));
  ordered_blocks(
      blocks, threads, locals,
      [&](Index k, Local& local) {
        double mean[kMaxBatch], variance[kMaxBatch], coefficient[kMaxBatch], kappa[kMaxBatch];
        if (totals) totals->clear(local);
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
          if (kWrite) {
            data_.means().add(part, coefficient, local.x.data());
            for (std::size_t t = 0; t < terms.size(); ++t)
              terms[t].kind->weigh(part, plans[t], kappa, local.terms[t].data());
          }
        }
      },
      [&](const Local& local) {
        if (totals) totals->merge(local);
      });
}

void Objective::derivatives(const double* mean, const double* variance, Index first, int count, double b,
                            double* loss, double* cdf, double* kappa) const {
  double d[kMaxBatch], s[kMaxBatch];
  const double extra = smoothing * smoothing;
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
  sweep<true, false>(
      data_.ids(), w, plans,
      [&](Index first, int count, const double* mean, const double* variance, double*, double*, Local&) {
        std::copy_n(mean, count, result.mean.begin() + first);
        std::copy_n(variance, count, result.variance.begin() + first);
      },
      nullptr);
  return result;
}

double Objective::value(const Margins& margins, double w_squared, double b) const {
  double total = 0;
  double loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    derivatives(&margins.mean[static_cast<std::size_t>(first)], &margins.variance[static_cast<std::size_t>(first)],
                first, count, b, loss, cdf, kappa);
    for (int i = 0; i < count; ++i) total += data_.weight(first + i) * loss[i];
  }
  return lambda_ / 2 * w_squared + total / static_cast<double>(examples());
}

double Objective::value(const Vector& w, double b) const { return value(margins(w), w.squaredNorm(), b); }

Evaluation Objective::evaluate(const Vector& w, double b) const {
  Evaluation e;
  e.w = w;
  e.b = b;
  const auto size = static_cast<std::size_t>(examples());
  for (auto* array : {&e.margins.mean, &e.margins.variance, &e.cdf, &e.kappa}) array->resize(size);
  prepare(w, e.plans);
  Totals totals(features(), data_.covariance());
  sweep<true, true>(
      data_.ids(), w, e.plans,
      [&](Index first, int count, const double* mean, const double* variance, double* coefficient, double* kappa,
          Local& local) {
        const auto at = static_cast<std::size_t>(first);
        double loss[kMaxBatch];
        derivatives(mean, variance, first, count, b, loss, &e.cdf[at], &e.kappa[at]);
        std::copy_n(mean, count, &e.margins.mean[at]);
        std::copy_n(variance, count, &e.margins.variance[at]);
        for (int i = 0; i < count; ++i) {
          const double weight = data_.weight(first + i);
          local.loss += weight * loss[i];
          coefficient[i] = weight * data_.label(first + i) * e.cdf[at + static_cast<std::size_t>(i)];
          kappa[i] = weight * e.kappa[at + static_cast<std::size_t>(i)];
          local.mass += coefficient[i];
        }
      },
      &totals);
  const double share = 1.0 / static_cast<double>(examples());
  e.value = lambda_ / 2 * w.squaredNorm() + share * totals.loss;
  e.gradient = lambda_ * w - share * totals.x;
  for (std::size_t t = 0; t < totals.terms.size(); ++t)
    data_.covariance()[t].kind->finish(totals.terms[t].data(), w.data(), features(),
                                       share * data_.covariance()[t].scale, e.gradient.data());
  e.gradient_b = -share * totals.mass;
  e.sums = std::move(totals.terms);
  return e;
}

void Objective::sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                                double& gb) const {
  thread_local std::vector<Plan> plans;
  thread_local std::vector<Index> ids;
  prepare(w, plans);
  ids.resize(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) ids[i] = data_.ids()[static_cast<std::size_t>(sample[i])];
  auto& plans_here = plans;
  Totals totals(features(), data_.covariance());
  sweep<true, true>(
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
          local.mass += coefficient[i];
        }
      },
      &totals);
  const double share = 1.0 / static_cast<double>(sample.size());
  gw = -share * totals.x;
  for (std::size_t t = 0; t < totals.terms.size(); ++t)
    data_.covariance()[t].kind->finish(totals.terms[t].data(), w.data(), features(),
                                       share * data_.covariance()[t].scale, gw.data());
  gb = -share * totals.mass;
}

// Σ c y Φ at b, and its derivative −Σ c κ.
double Objective::mass_difference(const Margins& margins, double b, double* slope) const {
  double loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
  double difference = 0;
  *slope = 0;
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    derivatives(&margins.mean[static_cast<std::size_t>(first)], &margins.variance[static_cast<std::size_t>(first)],
                first, count, b, loss, cdf, kappa);
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
  std::vector<Plan> plans;
  const Margins m = margins(w, plans);
  const double at = intercept_ ? best_intercept(m, b) : b;

  // The dual point: the half-spaces at (w, at), scaled class by class until their masses agree.
  std::vector<double> a(static_cast<std::size_t>(examples())), kappa(a.size());
  double mass[2] = {0, 0};
  double loss[kMaxBatch];
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const auto k = static_cast<std::size_t>(first);
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    derivatives(&m.mean[k], &m.variance[k], first, count, at, loss, &a[k], &kappa[k]);
    for (std::size_t i = k; i < k + static_cast<std::size_t>(count); ++i) {
      const auto position = static_cast<Index>(i);
      a[i] *= data_.weight(position);
      kappa[i] *= data_.weight(position);
      mass[data_.label(position) > 0] += a[i];
    }
  }
  double factor[2] = {1, 1};
  if (intercept_) {
    const double smaller = std::min(mass[0], mass[1]);
    for (int c : {0, 1}) factor[c] = mass[c] > 0 ? smaller / mass[c] : 0.0;
  }
  Totals totals(features(), data_.covariance());
  sweep<false, true>(
      data_.ids(), w, plans,
      [&](Index first, int count, const double*, const double*, double* coefficient, double* weight, Local& local) {
        for (int i = 0; i < count; ++i) {
          const auto k = static_cast<std::size_t>(first + i);
          const double y = data_.label(first + i);
          const double scale = factor[y > 0];
          coefficient[i] = scale * y * a[k];
          weight[i] = scale * kappa[k];
          local.mass += scale * a[k];
        }
      },
      &totals);
  const double share = 1.0 / static_cast<double>(examples());
  Vector dual = share * totals.x;  // λ w(a)
  for (std::size_t t = 0; t < totals.terms.size(); ++t)
    data_.covariance()[t].kind->finish(totals.terms[t].data(), w.data(), features(),
                                       -share * data_.covariance()[t].scale, dual.data());
  // Any t·a with t in [0, 1] is feasible too; D is a parabola in t, and we take its best.
  const double mass_sum = share * totals.mass, square = dual.squaredNorm() / lambda_;
  const double t = square > mass_sum ? mass_sum / square : 1.0;
  Certificate result;
  result.bound = t * mass_sum - t * t * square / 2;
  result.value = value(m, w.squaredNorm(), b);
  return result;
}

Hessian::Hessian(const Objective& objective, const Evaluation& at) : objective_(objective) {
  const Gaussians& data = objective.data();
  const double extra = objective.smoothing * objective.smoothing;
  for (Index i = 0; i < data.examples(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double kappa = data.weight(i) * at.kappa[k];
    if (kappa == 0) continue;
    const double q = at.margins.variance[k] + extra;
    ids_.push_back(data.ids()[k]);
    label_.push_back(data.label(i));
    kappa_.push_back(kappa);
    rho_.push_back((1 - data.label(i) * (at.margins.mean[k] + at.b)) / q);
    inverse_q_.push_back(1 / q);
  }
  const auto& terms = data.covariance();
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms_.push_back(terms[t].kind->curvature(at.w, at.plans[t], at.sums[t], ids_, objective.threads()));
}

// Example i adds κ[α y x + (α r/s − uᵀv/q) u + Σv] with u = Σw and α = y(x·v + v_b) + (r/s) uᵀv.
void Hessian::times(const Vector& v, double vb, Vector& out, double& out_b) const {
  const Gaussians& data = objective_.data();
  const auto& terms = data.covariance();
  for (const auto& term : terms_) term->prepare(v.data());
  struct Local {
    double b = 0;
    Vector x;
    std::vector<std::vector<double>> terms;
  };
  double sum_size = static_cast<double>(data.features());
  for (const auto& term : terms_) sum_size += static_cast<double>(term->sum_size());
  const Index count = active();
  const Index block = objective_.block_size(count, sum_size);
  const Index blocks = (count + block - 1) / block;
  const double numbers = numbers_per_example(data);
  const int batch = batch_size(numbers);
  const int threads =
      static_cast<double>(count) * numbers < kSerialNumbers ? 1 : resolve_threads(objective_.threads());
  std::vector<Local> locals(static_cast<std::size_t>(std::max<Index>(1, std::min<Index>(threads, blocks))));
  Local total;
  total.x = Vector::Zero(data.features());
  for (const auto& term : terms_) total.terms.emplace_back(static_cast<std::size_t>(term->sum_size()), 0.0);
  ordered_blocks(
      blocks, threads, locals,
      [&](Index k, Local& local) {
        local.b = 0;
        local.x.setZero(data.features());
        local.terms.resize(terms_.size());
        for (std::size_t t = 0; t < terms_.size(); ++t) local.terms[t].assign(total.terms[t].size(), 0.0);
        double xv[kMaxBatch], uv[kMaxBatch], coefficient[kMaxBatch], tau[kMaxBatch];
        const Index last = std::min(count, (k + 1) * block);
        for (Index first = k * block; first < last; first += batch) {
          const auto at = static_cast<std::size_t>(first);
          const Batch part{ids_.data() + first, static_cast<int>(std::min<Index>(batch, last - first))};
          data.means().dots(part, v.data(), xv);
          std::fill_n(uv, part.count, 0.0);
          for (std::size_t t = 0; t < terms_.size(); ++t) terms_[t]->cross(part, terms[t].scale, uv);
          for (int i = 0; i < part.count; ++i) {
            const std::size_t j = at + static_cast<std::size_t>(i);
            const double alpha = label_[j] * (xv[i] + vb) + rho_[j] * uv[i];
            coefficient[i] = kappa_[j] * alpha * label_[j];
            tau[i] = kappa_[j] * (alpha * rho_[j] - uv[i] * inverse_q_[j]);
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
  out = objective_.lambda() * v + share * total.x;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t]->finish(total.terms[t].data(), share * terms[t].scale, out.data());
  out_b = share * total.b;
}

}  // namespace svmgsu
