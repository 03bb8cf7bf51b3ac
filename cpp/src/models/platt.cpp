#include "svmgsu/models/platt.hpp"

#include <cmath>

namespace svmgsu {
namespace {

// log(1 + exp(x)) without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

}  // namespace

double Platt::probability(double score) const { return sigmoid(-(a * score + b)); }

Platt fit_platt(const std::vector<double>& scores, const std::vector<double>& labels, std::vector<double> weights) {
  require(scores.size() == labels.size() && !scores.empty(), "scores: as many as labels, and at least one");
  if (weights.empty()) weights.assign(scores.size(), 1.0);
  require(weights.size() == scores.size(), "weights: as many as scores");
  double count = 0, positives = 0, mean = 0, spread = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) require(false, "scores: number " + std::to_string(i) + " is not finite");
    count += weights[i];
    positives += labels[i] > 0 ? weights[i] : 0.0;
    mean += weights[i] * scores[i];
  }
  mean /= count;
  for (const double f : scores) spread = std::max(spread, std::abs(f - mean));
  if (spread <= 1e-12 * std::abs(mean)) spread = 1;  // all scores are equal, up to rounding
  const double high = (positives + 1) / (positives + 2), low = 1 / (count - positives + 2);

  // Minimise Σ softplus(z) − (1 − t) z over z = a f + b, the cross-entropy of σ(−z) against targets t.
  const auto scaled = [&](std::size_t i) { return (scores[i] - mean) / spread; };
  const auto loss = [&](double a, double b) {
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double z = a * scaled(i) + b, target = labels[i] > 0 ? high : low;
      sum += weights[i] * (softplus(z) - (1 - target) * z);
    }
    return sum;
  };
  double a = 0, b = std::log((count - positives + 1) / (positives + 1));
  double now = loss(a, b);
  for (int iteration = 0; iteration < 200; ++iteration) {
    double ga = 0, gb = 0, haa = 1e-12 * count, hab = 0, hbb = 1e-12 * count;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double f = scaled(i), p = sigmoid(a * f + b), target = labels[i] > 0 ? high : low;
      const double slope = weights[i] * (p - (1 - target)), curve = weights[i] * p * (1 - p);
      ga += slope * f;
      gb += slope;
      haa += curve * f * f;
      hab += curve * f;
      hbb += curve;
    }
    if (std::hypot(ga, gb) <= 1e-12 * count) break;
    const double determinant = haa * hbb - hab * hab;
    const double da = -(hbb * ga - hab * gb) / determinant, db = -(haa * gb - hab * ga) / determinant;
    // Newton's decrement: what the step can still gain. Below rounding there is nothing left to search.
    if (-(ga * da + gb * db) <= 1e-14 * now) {
      a += da;
      b += db;
      break;
    }
    double step = 1;
    double next = loss(a + da, b + db);
    while (!(next <= now + 1e-4 * step * (ga * da + gb * db)) && step > 1e-10) {
      step /= 2;
      next = loss(a + step * da, b + step * db);
    }
    if (step <= 1e-10) break;  // no descent is left at this precision
    a += step * da;
    b += step * db;
    now = next;
  }
  return {a / spread, b - a * mean / spread};
}

}  // namespace svmgsu
