#include "svmgsu/solvers/solve.hpp"

#include <algorithm>
#include <cmath>

#include "engines/engine.hpp"
#include "solvers/newton.hpp"
#include "solvers/sgd.hpp"
#include "solvers/span.hpp"
#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {
namespace {

constexpr double kGoodEnough = 1e-9;  // of J: no proof is wanted below it

void check_options(const Options& o) {
  const auto least = [](double value, double bound, const char* name) {
    require(value >= bound, std::string(name) + ": must be >= " + to_text(bound) + ", got " + to_text(value));
  };
  require(o.lambda > 0 && std::isfinite(o.lambda), "lambda: must be positive and finite, got " + to_text(o.lambda));
  require(o.tolerance > 0 && std::isfinite(o.tolerance),
          "tolerance: must be positive and finite, got " + to_text(o.tolerance));
  least(static_cast<double>(o.max_iterations), 0, "max_iterations");
  least(o.max_seconds, 0, "max_seconds");
  least(static_cast<double>(o.steps), 0, "steps");
  least(static_cast<double>(o.batch), 0, "batch");
  require(o.average >= 0 && o.average <= 1, "average: must be in [0, 1], got " + to_text(o.average));
}

// b − w·shift, rounded once: the terms may be far larger than what is left of them.
double shifted_back(double b, const Vector& w, const Vector& shift) {
  double sum = b, rest = 0;
  const auto add = [&](double x) {
    const double next = sum + x, part = next - sum;
    rest += (sum - (next - part)) + (x - part);
    sum = next;
  };
  for (Index j = 0; j < w.size(); ++j) {
    const double product = -w(j) * shift(j);
    add(product);
    rest += std::fma(-w(j), shift(j), -product);
  }
  return sum + rest;
}

}  // namespace

const char* status_of(Stop stop) {
  switch (stop) {
    case Stop::converged:
      return "converged";
    case Stop::iterations:
    case Stop::time:
      return "limit";
    case Stop::monitor:
      return "stopped";
    case Stop::stalled:
      return "stalled";
    case Stop::rounding:
      return "rounding";
  }
  return "";
}

Result solve(const Objective& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
             double start_b) {
  check_options(options);
  if (start_w)
    require(start_w->size() == objective.features(), "start_w: " + std::to_string(start_w->size()) + " numbers for " +
                                                         std::to_string(objective.features()) + " features");
  const Engine& engine = objective.engine();
  if (options.solver == Solver::sgd) return solve_sgd(engine, options, monitor);
  const auto newton = [&](const Engine& of, double b, const Monitor& seen) {
    if (std::optional<Result> found = solve_in_span(of, options, seen, start_w, b)) return std::move(*found);
    return solve_newton(of, options, seen, start_w, b);
  };
  const Engine::Centred centred = engine.centred();
  if (!centred.engine) return newton(engine, start_b, monitor);
  const Monitor uncentred = [&](Progress progress) {
    progress.b = shifted_back(progress.b, *progress.w, centred.shift);
    return monitor(progress);
  };
  Result result =
      newton(*centred.engine, start_w ? start_b + start_w->dot(centred.shift) : start_b, monitor ? uncentred : monitor);
  if (result.w.squaredNorm() > 0) result.b = shifted_back(result.b, result.w, centred.shift);
  return result;
}

// The losses' slopes at the point are a poor proof where it lies on kinks, for there any slope between those of both
// sides may be the right one. A solver that starts from the point finds better ones by smoothing, and it may stop once
// what it has proven is not much more than what it has gained itself.
Certificate prove(const Objective& objective, const Vector& w, double b) {
  Certificate best = objective.certify(w, b);
  if (!std::isfinite(best.value) || best.gap() <= kGoodEnough * best.value) return best;
  const auto learn = [&](double value, double gap) { best.bound = std::max(best.bound, value - gap); };
  Options options;
  options.tolerance = kGoodEnough;
  options.max_iterations = 100;  // a point that takes more is far off, and half a proof will do
  Index complete = 0;
  const Result found = solve(
      objective, options,
      [&](const Progress& progress) {
        // Calls within an iteration come when the clock says so: to stop there would make the proof depend on it.
        if (progress.iteration <= complete) return true;
        complete = progress.iteration;
        learn(progress.objective, progress.gap);
        return best.gap() > 2 * (best.value - progress.objective);
      },
      &w, b);
  learn(found.objective, found.gap);
  return best;
}

Result train(const TrainingSet& set, const Options& options, const Monitor& monitor) {
  check_options(options);
  if (options.check) check(set.data, options.threads);
  bool seen[2] = {false, false};
  for (Index i = 0; i < set.targets.samples(); ++i) seen[set.targets.sign(i) > 0] = true;
  if (set.targets.task() == Task::classification)
    require(seen[0] && seen[1], "labels: one class only; training needs samples of both");
  return solve(Objective(set, options.lambda, options.threads, options.intercept, options.loss), options, monitor);
}

Result train(const Gaussians& data, const Targets& targets, const Options& options, const Monitor& monitor) {
  return train(TrainingSet(data, targets), options, monitor);
}

}  // namespace svmgsu
