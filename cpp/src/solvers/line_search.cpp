#include "solvers/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace svmgsu {
namespace {

double ratio(double a, double b) { return std::abs(b) > std::numeric_limits<double>::min() ? a / b : 0; }

// By LDLᵀ with the larger diagonal entry first. Along what has no curvature the step is 0.
LineStep newton_step(const Line::Value& at) {
  const bool t_first = at.t_t >= at.beta_beta;
  const double first = t_first ? at.t_t : at.beta_beta, l = ratio(at.t_beta, first);
  const double second = (t_first ? at.beta_beta : at.t_t) - l * at.t_beta;
  const double r_first = -(t_first ? at.t : at.beta), r_second = -(t_first ? at.beta : at.t) - l * r_first;
  const double x_second = ratio(r_second, second), x_first = ratio(r_first, first) - l * x_second;
  return t_first ? LineStep{x_first, x_second} : LineStep{x_second, x_first};
}

// Damped Newton in both: t is scarce where b is far off.
LineStep refine(const Line& line, LineStep x) {
  Line::Value now = line.at(x.t, x.beta);
  for (int k = 0; k < 20; ++k) {
    const LineStep step = newton_step(now);
    const double gain = -(now.t * step.t + now.beta * step.beta);
    if (!(gain > 1e-12 * std::abs(now.value))) break;
    double scale = 1;
    Line::Value next = line.at(x.t + step.t, x.beta + step.beta);
    while (!(next.value <= now.value - 1e-4 * scale * gain) && scale > 1e-6) {
      scale *= 0.3;
      next = line.at(x.t + scale * step.t, x.beta + scale * step.beta);
    }
    if (scale <= 1e-6) break;
    x.t += scale * step.t;
    x.beta += scale * step.beta;
    now = next;
  }
  return x;
}

}  // namespace

LineStep line_search(const Line& line, bool intercept) {
  const Line::Value here = line.at(0, 0);
  if (!(here.t < 0)) return {0, 0};
  // First t alone: Newton on the slope inside a bracket that grows until the slope has turned.
  double low = 0, high = std::numeric_limits<double>::infinity(), t = 1;
  for (int k = 0; k < 60; ++k) {
    const Line::Value point = line.at(t, 0);
    if (std::abs(point.t) <= 1e-2 * std::abs(here.t) && point.value <= here.value) break;
    (point.t > 0 ? high : low) = t;
    const double newton = t - point.t / point.t_t;
    if (high == std::numeric_limits<double>::infinity()) {
      t = newton > t ? std::min(newton, 4 * t) : 2 * t;
    } else {
      t = newton > low && newton < high ? newton : (low + high) / 2;
    }
  }
  return intercept ? refine(line, {t, 0}) : LineStep{t, 0};
}

}  // namespace svmgsu
