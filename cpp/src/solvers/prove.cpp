// A proof for a point that came from elsewhere.
#include <algorithm>
#include <cmath>

#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {
namespace {

constexpr double kGoodEnough = 1e-9;  // of J
constexpr Index kIterations = 100;
constexpr double kOfTheTruth = 2;

}  // namespace

// The losses' slopes at the point are a poor proof where it lies on kinks, for there any slope between those of both
// sides may be the right one. A solver that starts from the point finds better ones by smoothing, and it may stop once
// what it has proven is not much more than what it has gained itself.
Certificate prove(const Objective& objective, const Vector& w, double b) {
  Certificate best = objective.certify(w, b);
  if (!std::isfinite(best.value) || best.gap() <= kGoodEnough * best.value) return best;
  const auto learn = [&](double value, double gap) { best.bound = std::max(best.bound, value - gap); };
  Options options;
  options.tolerance = kGoodEnough;
  options.max_iterations = kIterations;
  Index complete = 0;
  const Result found = solve(
      objective, options,
      [&](const Progress& progress) {
        // Calls within an iteration come when the clock says so: to stop there would make the proof depend on it.
        if (progress.iteration <= complete) return true;
        complete = progress.iteration;
        learn(progress.objective, progress.gap);
        return best.gap() > kOfTheTruth * (best.value - progress.objective);
      },
      &w, b);
  learn(found.objective, found.gap);
  return best;
}

}  // namespace svmgsu
