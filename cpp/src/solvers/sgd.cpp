#include "solvers/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engines/cache.hpp"
#include "solvers/choices.hpp"
#include "support/clock.hpp"

namespace svmgsu {
namespace {

// Draws k of ℓ positions without replacement in O(k): the first k places of a Fisher–Yates shuffle
// whose permutation is kept from step to step.
class Sampler {
 public:
  Sampler(Index samples, std::uint64_t seed) : order_(static_cast<std::size_t>(samples)), random_(seed) {
    std::iota(order_.begin(), order_.end(), Index{0});
  }
  void draw(std::vector<Index>& drawn) {
    for (std::size_t j = 0; j < drawn.size(); ++j) {
      const std::size_t i = j + random_.below(static_cast<std::uint32_t>(order_.size() - j));
      std::swap(order_[j], order_[i]);
      drawn[j] = order_[j];
    }
  }

 private:
  std::vector<Index> order_;
  SplitMix64 random_;
};

// A convex loss is Lipschitz if its slope stops growing.
void require_lipschitz(const Loss& loss) {
  const double d[4] = {-1e6, 1e6, -1e12, 1e12}, s[4] = {0, 0, 0, 0};
  double value[4], slope[4], curvature[4];
  loss.gradient(4, d, s, value, slope, curvature);
  const double near = std::max(std::abs(slope[0]), std::abs(slope[1]));
  const double far = std::max(std::abs(slope[2]), std::abs(slope[3]));
  require(far <= 2 * near, std::string("solver sgd: the loss ") + loss.name() + " is not Lipschitz; use newton");
}

// The loss of a sample with label at w = 0, b = 0.
double loss_at_zero(const Loss& loss) {
  const double d = 1, s = 0;
  double value, slope, curvature;
  loss.gradient(1, &d, &s, &value, &slope, &curvature);
  return value;
}

struct Gradient {
  Vector w;
  double b = 0;
};

// Sums of the loss gradient over a part of the data: (1/k) Σ_{i in sample} c_i ∇L_i. Returns the sample's Σ c_i.
double sample_gradient(const Engine& objective, const Vector& w, double b, const std::vector<Index>& drawn,
                       Gradient& gradient) {
  const Source& source = objective.source();
  thread_local std::vector<Plan> plans;
  thread_local std::vector<Index> ids;
  if (!source.whole()) require(false, "solver sgd: it draws samples by chance, so all must be in memory; use newton");
  const Gaussians& data = *source.whole();
  const auto& covariance = data.covariance();
  ids.resize(drawn.size());
  const double origin = objective.shift(w), numbers = source.numbers();
  for (std::size_t i = 0; i < drawn.size(); ++i) ids[i] = data.ids()[static_cast<std::size_t>(drawn[i])];
  const auto count_of_all = static_cast<Index>(ids.size());
  const double sums = data.sum_size();
  const Cuts cuts(count_of_all, block_size(data, numbers, count_of_all, sums), sums);
  const Piece piece{data, ids, 0};
  PassSums total;
  sweep<Adds::together>(
      Visit{[&](const auto& use) { use(piece); }, cuts, numbers, nullptr, objective.threads(), nullptr},
      [&](const Piece&) { return PointForms(data, w, &plans); },
      [&](Places places, int count, const double* dot, const double* form, double* coefficient, double* kappa, char*,
          PassSums& local) {
        double mean[kMaxBatch], variance[kMaxBatch];
        Residuals r;
        const Targets::View of(objective.targets(), &drawn[static_cast<std::size_t>(places.first)], count);
        for (int i = 0; i < count; ++i) {
          mean[i] = dot[i] - origin;
          variance[i] = std::max(0.0, form[i]);
        }
        r.set(count, of, mean, variance, b, 0.0);
        r.evaluate(objective.loss(), count);
        for (int i = 0; i < count; ++i) {
          const double weight = of.weight[i];
          coefficient[i] = weight * of.sign[i] * r.slope[i];
          kappa[i] = weight * r.curvature[i];
          local.of[0].mass += coefficient[i];
          local.loss += weight;
        }
      },
      &total);
  const double share = 1.0 / static_cast<double>(drawn.size());
  gradient.w = -share * total.of[0].x;
  for (std::size_t t = 0; t < covariance.size(); ++t)
    covariance[t].kind.finish(total.of[0].terms[t].data(), w.data(), objective.features(), share * covariance[t].scale,
                              gradient.w.data());
  gradient.b = -share * total.of[0].mass;
  if (objective.origin().size()) gradient.w -= gradient.b * objective.origin();
  return total.loss;
}

// Step t of Algorithm 1, corrected.
void step(const Engine& objective, const Gradient& gradient, Index t, double radius, Vector& w, double& b) {
  const double rate = 1.0 / (objective.lambda() * static_cast<double>(t));
  w = (1 - 1 / static_cast<double>(t)) * w - rate * gradient.w;
  const double norm = w.norm();
  if (norm > radius) w *= radius / norm;
  if (objective.intercept()) b -= std::min(rate, 1 / std::sqrt(static_cast<double>(t))) * gradient.b;
}

}  // namespace

Result solve_sgd(const Engine& objective, const Options& options, const Monitor& monitor) {
  require_lipschitz(objective.loss());
  const Clock clock;
  const Index samples = objective.samples();
  const Index batch = options.batch > 0 ? options.batch : std::min<Index>(samples, 100);
  require(batch <= samples, "k: a minibatch of " + std::to_string(batch) + " from " + std::to_string(samples) +
                                " samples; k must be at most the number of samples");
  require(samples < (Index{1} << 32), "means: the stochastic solver takes fewer than 2^32 samples");
  const Index steps = options.steps > 0 ? options.steps : std::max<Index>(1000, 20 * ((samples + batch - 1) / batch));
  // At the optimum λ‖w‖² ≤ (1/ℓ) Σ c ℓ(t − σb) for any b, since J = D there and tL′ − E ℓ*(ℓ′(D)) ≤ ℓ(t).
  const bool values = objective.task() == Task::regression;
  const Engine::Trivial trivial = values ? objective.trivial() : Engine::Trivial();
  const double most = values ? trivial.value : loss_at_zero(objective.loss()) * objective.mean_weight();
  const double radius = std::sqrt(most / objective.lambda());
  const Index first_averaged = steps - static_cast<Index>(std::floor(options.average * static_cast<double>(steps)));
  const double passes_per_step = static_cast<double>(batch) / static_cast<double>(samples);
  const double unknown = std::numeric_limits<double>::quiet_NaN();

  Vector w = Vector::Zero(objective.features()), average = w;
  double b = values ? trivial.b : 0.0, last_report = 0;
  Sampler sampler(samples, options.seed);
  std::vector<Index> drawn(static_cast<std::size_t>(batch));
  Gradient gradient;
  Result result;
  result.stop = Stop::iterations;

  Index t = 0;
  while (t < steps) {
    ++t;
    sampler.draw(drawn);
    sample_gradient(objective, w, b, drawn, gradient);
    step(objective, gradient, t, radius, w, b);
    if (t > first_averaged) average += (w - average) / static_cast<double>(t - first_averaged);

    const double now = clock.seconds();
    if (now - last_report >= choices::kSecondsBetweenCalls) {
      last_report = now;
      const Progress progress{t, unknown, unknown, now, static_cast<double>(t) * passes_per_step};
      if (monitor && !monitor(progress)) result.stop = Stop::monitor;
      if (now > options.max_seconds) result.stop = Stop::time;
      if (result.stop != Stop::iterations) break;
    }
  }

  result.w = t > first_averaged ? average : w;
  result.b = objective.intercept() ? objective.best_intercept(result.w, b) : 0.0;
  const Certificate certificate = objective.certify(result.w, result.b);
  result.objective = certificate.value;
  result.gap = certificate.gap();
  result.iterations = t;
  const Progress end{t, result.objective, result.gap, clock.seconds(), static_cast<double>(t) * passes_per_step + 3};
  result.history.push_back(end);
  if (monitor) monitor(end);
  if (result.stop == Stop::iterations && result.gap <= options.tolerance * result.objective)
    result.stop = Stop::converged;
  return result;
}

void continue_sgd(const Objective& of, Index batch, std::uint64_t seed, Stream& stream) {
  const Engine& objective = of.engine();
  require_lipschitz(objective.loss());
  const Index samples = objective.samples();
  require(batch > 0, "k: a minibatch needs at least one sample");
  require(samples < (Index{1} << 32), "means: the stochastic solver takes fewer than 2^32 samples at a time");
  if (stream.w.size() == 0) stream.w = stream.average = Vector::Zero(objective.features());
  require(stream.w.size() == objective.features(), "means: " + std::to_string(objective.features()) +
                                                       " features, but the stream began with " +
                                                       std::to_string(stream.w.size()));
  std::vector<Index> order(static_cast<std::size_t>(samples));
  Sampler(samples, seed).draw(order);
  Gradient gradient;
  for (Index first = 0; first < samples; first += batch) {
    const std::vector<Index> drawn(order.begin() + first, order.begin() + std::min(samples, first + batch));
    stream.weight += sample_gradient(objective, stream.w, stream.b, drawn, gradient);
    stream.samples += static_cast<double>(drawn.size());
    const double most = loss_at_zero(objective.loss()) * (stream.weight / stream.samples);
    const double radius = objective.task() == Task::regression ? std::numeric_limits<double>::infinity()
                                                               : std::sqrt(most / objective.lambda());
    step(objective, gradient, ++stream.steps, radius, stream.w, stream.b);
    const double share = 4 / (static_cast<double>(stream.steps) + 3);
    stream.average += share * (stream.w - stream.average);
    stream.average_b += share * (stream.b - stream.average_b);
  }
}

}  // namespace svmgsu
