// Passes over the data: value, gradient and bound.
#include "engines/engine.hpp"

#include <cmath>

#include "engines/line.hpp"
#include "engines/requests.hpp"
#include "engines/rounding.hpp"
#include "support/random.hpp"

namespace svmgsu {

namespace {

std::shared_ptr<const Loss> loss_or_usual(std::shared_ptr<const Loss> loss, Task task) {
  return loss ? std::move(loss) : make_loss(task == Task::regression ? "squared" : "hinge");
}

Task task_of(const std::shared_ptr<const Source>& source, const std::shared_ptr<const Targets>& targets) {
  require(source != nullptr, "source: null pointer");
  require(targets != nullptr, "targets: null pointer");
  return targets->task();
}

}  // namespace

Engine::Engine(TrainingSet set, double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss)
    : Engine(std::make_shared<MemorySource>(std::move(set.data)),
             std::make_shared<const Targets>(std::move(set.targets)), lambda, threads, intercept, std::move(loss)) {}

Engine::Engine(std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets, double lambda, int threads,
               bool intercept, std::shared_ptr<const Loss> loss)
    : loss_(loss_or_usual(std::move(loss), task_of(source, targets))),
      lambda_(lambda),
      threads_(threads),
      intercept_(intercept),
      source_(std::move(source)),
      targets_(std::move(targets)),
      features_(source_->like().features()) {
  require(lambda > 0 && std::isfinite(lambda), "lambda: must be positive and finite, got " + std::to_string(lambda));
  targets_->require_samples(source_->samples());
  require_task(this->loss(), targets_->task());
  learn_targets();
}

Engine::Engine(const Engine& of, std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets,
               Vector origin, Vector moved)
    : Engine(of) {
  source_ = std::move(source);
  targets_ = std::move(targets);
  origin_ = std::move(origin);
  moved_ = std::move(moved);
  learn_targets();
}

void Engine::learn_targets() {
  columns_ = std::make_shared<Columns>();
  mean_weight_ = targets_->mean_weight();
  centre_ = intercept_ ? targets_->centre() : 0.0;
  cuts_ = std::make_shared<const Cuts>(pass_cuts(source_->like(), source_->numbers(), samples()));
}

void Engine::become_part(Vector origin, double centre, const Cuts& cuts) {
  origin_ = std::move(origin);
  centre_ = centre;
  cuts_ = std::make_shared<const Cuts>(cuts);
}

void Engine::require_point(const Vector& w, const char* name) const {
  if (w.size() != features())
    require(false, std::string(name) + ": " + std::to_string(w.size()) + " numbers for " + std::to_string(features()) +
                       " features");
}

Evaluated Engine::evaluate(const Vector& w, double b, double epsilon) const {
  Evaluated e;
  evaluate(w, b, epsilon, e);
  return e;
}

// Not far off, a number of each sum is corrected for the origin; far off, the numbers of the rows themselves.
Engine::Centred Engine::centred() const {
  if (!intercept()) return {};
  const Centre centre = centre_of(*source_);
  if (centre.at.size() == 0) return {};
  std::shared_ptr<const Source> source = centre.far ? seen_from(source_, centre.at) : source_;
  const Vector origin = centre.far ? Vector() : centre.at;
  return {std::unique_ptr<Engine>(new Engine(*this, source, targets_, origin, centre.at)), centre.at};
}

// One of each so many neighbours: in the order of memory, and no pattern of the data is met at every draw.
std::unique_ptr<Engine> Engine::subsample(Index rows, std::uint64_t seed) const {
  if (rows >= samples()) return nullptr;
  SplitMix64 random(seed);
  std::vector<Index> positions;
  for (Index k = 0; k < rows; ++k) {
    const Index first = k * samples() / rows, end = (k + 1) * samples() / rows;
    positions.push_back(first + static_cast<Index>(random() % static_cast<std::uint64_t>(end - first)));
  }
  const auto some = std::make_shared<const Targets>(targets().some(positions));
  double mass[2];
  some->masses(mass);
  if (task() == Task::classification && !(mass[0] > 0 && mass[1] > 0)) return nullptr;
  return std::unique_ptr<Engine>(new Engine(*this, source_->take(positions), some, origin_, moved_));
}

const PointCache& Engine::complete(PointCache& known, const Vector& w) const {
  if (!known.mean.empty()) return known;
  require_point(w);
  require(!source_->remote(), "objective: the samples are in shards, which are asked for sums alone");
  known.mean.resize(static_cast<std::size_t>(samples()));
  known.variance.resize(static_cast<std::size_t>(samples()));
  const double shift = this->shift(w), numbers = source_->numbers();
  sweep<Adds::nothing>(
      Visit{[&](const Source::Use& use) { source_->all(cuts(), use); }, cuts(), numbers, nullptr, threads(), nullptr},
      [&](const Piece& piece) { return PointForms(piece.data, w); },
      [&](Places places, int count, const double* mean, const double* variance, double*, double*, char*, PassSums&) {
        for (int i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(places.first + i);
          known.mean[at] = mean[i] - shift;
          known.variance[at] = std::max(0.0, variance[i]);
        }
      },
      nullptr);
  return known;
}

void Engine::require_known(const Evaluated& at, const char* name) const {
  const PointCache* const known = at.cache.get();
  require(
      known && at.w.size() == features_ && (known->mean.empty() || static_cast<Index>(known->mean.size()) == samples()),
      std::string(name) + ": not a point that this objective has evaluated");
}

void Engine::fill_curvature(const Evaluated& at, const PointCache& of, std::vector<double>& out) const {
  out.resize(static_cast<std::size_t>(samples()));
  Residuals r;
  for (Index first = 0; first < samples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, samples() - first));
    r.set(count, Targets::View(targets(), first, count), &of.mean[static_cast<std::size_t>(first)],
          &of.variance[static_cast<std::size_t>(first)], at.b, at.epsilon);
    r.evaluate(loss(), count);
    std::copy_n(r.curvature, count, out.begin() + first);
  }
}

const Histogram& Engine::kappa_histogram(const Evaluated& at) const {
  PointCache& known = *at.cache;
  if (!known.kappa.empty()) return known.kappa;
  std::vector<double> made;
  if (known.curvature.empty()) fill_curvature(at, cached(at), made);
  const std::vector<double>& curvature = known.curvature.empty() ? made : known.curvature;
  known.kappa = Histogram::count(curvature.size(),
                                 [&](std::size_t i) { return curvature[i] * targets().weight(static_cast<Index>(i)); });
  return known.kappa;
}

double Engine::active_share(const Evaluated& at, double negligible) const {
  require_known(at, "at");
  const Histogram& levels = kappa_histogram(at);
  return static_cast<double>(levels.from(levels.above(negligible))) / static_cast<double>(samples());
}

namespace {

// A pass at (w, b): the losses of a batch, what is cached of them, and their coefficients.
struct GradientLink {
  const Loss& loss;
  const Targets& targets;
  double shift, b, epsilon, centre;
  PointCache& cache;
  const Piece* const& piece;
  bool columns;  // whether this pass looks at them

  void operator()(Places places, int count, const double* dot, const double* form, double* coefficient, double* kappa,
                  char* side, PassSums& local) const {
    double mean[kMaxBatch], variance[kMaxBatch];
    const Targets::View of =
        places.sorted ? Targets::View(targets, places.sorted, count) : Targets::View(targets, places.first, count);
    const double *sign = of.sign, *target = of.target, *weight = of.weight;
    for (int i = 0; i < count; ++i) {
      mean[i] = dot[i] - shift;
      variance[i] = std::max(0.0, form[i]);
    }
    Residuals r;
    if (epsilon > 0) {
      r.set(count, of, mean, variance, b, 0.0);
      r.evaluate(loss, count);
      for (int i = 0; i < count; ++i) local.loss += weight[i] * r.loss[i];
    }
    r.set(count, of, mean, variance, b, epsilon);
    r.evaluate(loss, count);
    keep(places, count, mean, variance, r.curvature);
    if (columns) look(places, count, weight, local);
    if (loss.gap_error() > 0)
      for (int i = 0; i < count; ++i) local.spread += weight[i] * r.s[i];
    double mass_of[2] = {0, 0}, dual_of[2] = {0, 0}, losses[kMaxBatch];
    for (int i = 0; i < count; ++i) {
      const double slope = weight[i] * r.slope[i];
      losses[i] = weight[i] * r.loss[i];
      coefficient[i] = sign[i] * slope;
      kappa[i] = weight[i] * r.curvature[i];
      local.curvature += kappa[i];
      // Any constant may be taken from σt, because Σ cρa = 0: near the targets' own, little cancels.
      const double margin = (target[i] - sign[i] * centre - r.d[i]) * slope, spread = r.s[i] * r.s[i] * kappa[i];
      const double dual = margin - spread + losses[i], steep = std::abs(r.slope[i]) + r.s[i] * r.curvature[i];
      local.terms += std::abs(margin) + spread + losses[i];
      local.slope_squares += weight[i] * steep * steep;  // s L″: the slope may change by so much nearby
      side[i] = coefficient[i] > 0 || (coefficient[i] == 0 && sign[i] > 0);
      const double mass = std::abs(slope);
      mass_of[0] += side[i] ? 0.0 : mass;
      mass_of[1] += side[i] ? mass : 0.0;
      dual_of[0] += side[i] ? 0.0 : dual;
      dual_of[1] += side[i] ? dual : 0.0;
    }
    for (int k : {0, 1}) {
      local.of[k].mass += mass_of[k];
      local.dual[k] += dual_of[k];
    }
    for (int i = 0; i < count; ++i) {
      if (places.sorted)
        local.sorted.losses[static_cast<std::size_t>(places.sorted[i] - local.start)] = losses[i];
      else
        local.smooth_loss += losses[i];
    }
  }

 private:
  void keep(Places places, int count, const double* mean, const double* variance, const double* curvature) const {
    const auto to = [&](std::vector<double>& all, const double* values) {
      if (!places.sorted) std::copy_n(values, count, all.begin() + places.first);
      for (int i = 0; places.sorted && i < count; ++i) all[static_cast<std::size_t>(places.sorted[i])] = values[i];
    };
    to(cache.mean, mean);
    to(cache.variance, variance);
    if (!cache.curvature.empty()) to(cache.curvature, curvature);
  }
  void look(Places places, int count, const double* weight, PassSums& local) const {
    Index id[kMaxBatch];
    for (int i = 0; i < count; ++i) id[i] = piece->ids[static_cast<std::size_t>(places[i] - piece->first)];
    Columns::look(piece->data, Batch{id, count}, weight, local.squares);
  }
};

}  // namespace

void Engine::pass(const Vector& w, double b, double epsilon, bool columns, PointCache& cache, const Emit* emit,
                  PassSums& total) const {
  cache.kappa = Histogram();
  const Index known = source_->remote() ? 0 : samples();  // of which w·x and wᵀΣw are cached here
  for (auto* array : {&cache.mean, &cache.variance}) array->resize(static_cast<std::size_t>(known));
  cache.curvature.resize(source_->whole() ? static_cast<std::size_t>(samples()) : 0);
  if (source_->remote()) {
    Response found = source_->ask(*this, PassRequest{{w, b, epsilon}, columns});
    cache.kappa = std::move(found.kappa);
    cache.along_w = std::move(found.numbers);
    total.reset(features_, PointForms(source_->like(), w), 2);
    total.add(found.groups, 2);
    return;
  }
  const Piece* here = nullptr;
  sweep<Adds::by_side>(
      Visit{[&](const Source::Use& use) { source_->all(cuts(), use); }, cuts(), source_->numbers(), targets_.get(),
            threads(), emit},
      [&](const Piece& piece) {
        here = &piece;
        return PointForms(piece.data, w);
      },
      GradientLink{loss(), targets(), shift(w), b, epsilon, centre_, cache, here, columns}, &total);
}

void Engine::evaluate(const Vector& w, double b, double epsilon, Evaluated& e) const {
  require_point(w);
  e.w = w;
  e.b = b;
  e.epsilon = epsilon;
  if (!e.cache || e.cache.use_count() > 1) e.cache = std::make_shared<PointCache>();
  PointCache& cache = *e.cache;
  PassSums total;
  pass(w, b, epsilon, !columns_->known, cache, nullptr, total);
  const auto& covariance = source_->like().covariance();

  const double share = 1.0 / static_cast<double>(samples());
  const double penalty = lambda() / 2 * w.squaredNorm();
  DualPoint& slopes = e.slopes;
  for (int k : {0, 1}) {
    Vector& side = slopes.sum[k];
    side = share * total.of[k].x;
    for (std::size_t t = 0; t < covariance.size(); ++t)
      covariance[t].kind.finish(total.of[k].terms[t].data(), w.data(), features(), -share * covariance[t].scale,
                                side.data());
    slopes.mass[k] = share * total.of[k].mass;
    if (origin_.size()) side -= (k == 1 ? slopes.mass[k] : -slopes.mass[k]) * origin_;
    slopes.value[k] = share * total.dual[k];
  }
  e.value = penalty + total.smooth_loss / static_cast<double>(samples());
  e.gradient = lambda() * w - slopes.sum[0] - slopes.sum[1];
  e.gradient_b = slopes.mass[0] - slopes.mass[1];
  e.curvature_b = share * total.curvature;
  e.smoothed_share = epsilon * epsilon * e.curvature_b;
  total.of[0].add(total.of[1]);
  cache.sums = std::move(total.of[0].terms);

  if (!columns_->known) columns_->learn(total.squares, targets(), origin_);
  Rounding rounding(*source_, cuts(), *columns_, total, cache.sums, w, mean_weight_, moved_);
  slopes.unseen = loss().gap_error() * share * total.spread;
  const double above = rounding.of_value(w, penalty);
  rounding.of_slopes(slopes);
  e.certificate = slopes.bound(lambda(), intercept(), &e.dual);
  e.certificate.value = epsilon > 0 ? penalty + share * total.loss : e.value;
  e.certificate.above = above;
}

Certificate Engine::certify(const Vector& w, double b) const {
  const Evaluated here = at_zero(w);
  Certificate result = evaluate(w, intercept() ? best_intercept(here, b) : b).certificate;
  result.value = Line(*this, here, 0.0).at(0, b).value;
  return result;
}

Objective::Objective(TrainingSet set, double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss)
    : engine_(std::make_shared<const Engine>(std::move(set), lambda, threads, intercept, std::move(loss))) {}
Index Objective::samples() const { return engine_->samples(); }
Index Objective::features() const { return engine_->features(); }
Evaluation Objective::evaluate(const Vector& w, double b, double epsilon) const {
  return engine_->evaluate(w, b, epsilon);
}
double Objective::value(const Vector& w, double b, double epsilon) const { return engine_->value(w, b, epsilon); }
double Objective::best_intercept(const Vector& w, double start) const { return engine_->best_intercept(w, start); }
Certificate Objective::certify(const Vector& w, double b) const { return engine_->certify(w, b); }

}  // namespace svmgsu
