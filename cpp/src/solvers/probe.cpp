#include "solvers/probe.hpp"

namespace svmgsu {
namespace {

constexpr Index kSamples = 1000;

}  // namespace

Probe probe_step(const Objective& objective, const Evaluation& at, const Step& p, double sharp, double epsilon) {
  Probe result;
  const std::unique_ptr<Objective> some = objective.subsample(kSamples, 1);
  if (!some) return result;
  const Evaluation from = some->evaluate(at.w, at.b, at.epsilon);
  const Evaluation there = some->evaluate(at.w + p.w, at.b + p.b, at.epsilon);
  result.done = true;
  result.blurred = some->sharp_share(there, sharp) == 0;
  result.best =
      line_search(some->line(from, there, p.w, p.b, result.blurred ? epsilon : at.epsilon), objective.intercept());
  return result;
}

}  // namespace svmgsu
