// The best intercept at given margins, and at w = 0.
#include <cmath>
#include <limits>

#include "engines/memory_kept.hpp"

namespace svmgsu {
namespace {

// Where f, which does not increase and is ≥ 0 at `low` and ≤ 0 at `high`, changes its sign: Newton's iteration inside
// a shrinking bracket. f(x, &slope) gives its derivative as well; lower(x, y) tells at which of two neighbouring
// numbers the integral −∫f is smaller.
template <class F, class Lower>
double falling_root(double low, double high, double start, F f, Lower lower) {
  double x = std::min(std::max(start, low), high), width_before = high - low;
  for (int step = 0; step < 200; ++step) {
    double slope;
    const double here = f(x, &slope);
    if (here == 0) return x;
    (here > 0 ? low : high) = x;
    const double newton = x - here / slope;
    const bool halve = !(newton > low && newton < high) || (step % 3 == 2 && high - low > width_before / 2);
    if (step % 3 == 2) width_before = high - low;
    const double next = halve ? low + (high - low) / 2 : newton;
    if (next == x || next == low || next == high) return lower(low, high) ? low : high;  // no number lies between
    x = next;
  }
  return x;
}

// Losses that only tend to zero (logistic, squared hinge) may have their balance beyond every kink.
template <class F>
void widen(double& low, double& high, F f) {
  double slope, step = std::max(1.0, high - low);
  for (int k = 0; k < 60 && f(low, &slope) < 0; ++k, step *= 2) low -= step;
  step = std::max(1.0, high - low);
  for (int k = 0; k < 60 && f(high, &slope) > 0; ++k, step *= 2) high += step;
}

}  // namespace

// Σ cσL′ at b, and its derivative −Σ cL″.
double MemoryObjective::slope_in_b(const Margins& margins, double b, double* slope) const {
  Residuals r;
  double difference = 0, curvature = 0;
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    const Targets::View of(targets(), first, count);
    r.set(count, of, &margins.mean[static_cast<std::size_t>(first)], &margins.variance[static_cast<std::size_t>(first)],
          b, 0.0);
    r.evaluate(loss(), count);
    for (int i = 0; i < count; ++i) {
      difference += of.weight[i] * of.sign[i] * r.slope[i];
      curvature -= of.weight[i] * r.curvature[i];
    }
  }
  *slope = curvature;
  return difference;
}

double MemoryObjective::best_intercept(const Margins& margins, double start) const {
  double low = std::numeric_limits<double>::infinity(), high = -low, mass[2];
  for (Index i = 0; i < examples(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double reach = 40 * std::sqrt(margins.variance[at]);
    const double zero = targets().sign(i) * targets().target(i) - margins.mean[at];  // of the residual
    low = std::min(low, zero - reach);
    high = std::max(high, zero + reach);
  }
  targets().masses(mass);
  if (task() == Task::classification && mass[0] == 0) return high;  // nothing pulls back
  if (task() == Task::classification && mass[1] == 0) return low;
  const auto f = [&](double b, double* slope) { return slope_in_b(margins, b, slope); };
  if (loss().smooth()) widen(low, high, f);
  const auto at = [&](double b) { return value(margins.mean.data(), margins.variance.data(), 0, b, 0.0); };
  return falling_root(low, high, start, f, [&](double x, double y) { return at(x) <= at(y); });
}

double MemoryObjective::best_intercept(const Vector& w, double start) const {
  return best_intercept(margins(w), start);
}

// At w = 0 labels leave two residuals, 1 − b and 1 + b. Where the loss has a kink (hinge: b = ±1) it is met exactly.
Objective::Trivial MemoryObjective::trivial_of_labels() const {
  double mass[2];
  targets().masses(mass);
  const auto slopes = [&](double b, double* loss_of, double* slope_of, double* curvature_of) {
    const double d[2] = {1 + b, 1 - b}, s[2] = {0, 0};
    loss().gradient(2, d, s, loss_of, slope_of, curvature_of);
  };
  double of[2], slope_of[2], curvature_of[2];
  const auto at = [&](double b) {
    slopes(b, of, slope_of, curvature_of);
    return (mass[1] * of[1] + mass[0] * of[0]) / static_cast<double>(examples());
  };
  Trivial result;
  result.start = at(0);
  result.value = result.start;
  if (!intercept()) return result;
  result.b = mass[1] >= mass[0] ? 1.0 : -1.0;
  result.value = at(result.b);
  if (!loss().smooth() || mass[0] == 0 || mass[1] == 0) return result;
  const auto f = [&](double b, double* slope) {
    slopes(b, of, slope_of, curvature_of);
    *slope = -mass[1] * curvature_of[1] - mass[0] * curvature_of[0];
    return mass[1] * slope_of[1] - mass[0] * slope_of[0];
  };
  double low = -1, high = 1;
  widen(low, high, f);
  result.b = falling_root(low, high, 0.0, f, [&](double x, double y) { return at(x) <= at(y); });
  result.value = at(result.b);
  return result;
}

Objective::Trivial MemoryObjective::trivial() const {
  if (task() == Task::classification) return trivial_of_labels();
  Margins zero;
  zero.mean.assign(static_cast<std::size_t>(examples()), 0.0);
  zero.variance = zero.mean;
  Trivial result;
  result.b = intercept() ? best_intercept(zero, centre_) : 0.0;
  result.value = value(zero.mean.data(), zero.variance.data(), 0, result.b, 0.0);
  result.start = value(zero.mean.data(), zero.variance.data(), 0, 0.0, 0.0);
  return result;
}

}  // namespace svmgsu
