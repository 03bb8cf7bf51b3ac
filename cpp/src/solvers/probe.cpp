#include "solvers/probe.hpp"

namespace svmgsu {
namespace {

constexpr Index kExamples = 1000;

}  // namespace

Probe probe_step(const Objective& objective, const Evaluation& at, const Step& p, double sharp, double epsilon) {
  Probe result;
  const std::unique_ptr<Objective> some = objective.sample(kExamples, 1);
  if (!some) return result;
  const Evaluation from = some->evaluate(at.w, at.b, at.epsilon);
  const Evaluation there = some->evaluate(at.w + p.w, at.b + p.b, at.epsilon);
  result.done = true;
  result.blurred = some->sharp_share(there, sharp) == 0;
  result.best =
      line_search(*some->ray(from, there, p.w, p.b, result.blurred ? epsilon : at.epsilon), objective.intercept());
  return result;
}

Step with_epsilon(const Loss& loss, const Step& gradient, double from, double to) {
  const double d[2] = {1, 1}, s[2] = {from, to};
  double value[2], slope[2], curvature[2];
  loss.gradient(2, d, s, value, slope, curvature);
  return {slope[1] / slope[0] * gradient.w, slope[1] / slope[0] * gradient.b};
}

}  // namespace svmgsu
