#include "svmgsu/models/platt.hpp"

#include <cmath>

namespace svmgsu {
namespace {

// log(1 + exp(x)) without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// Scores in units of their spread about their mean, and the targets of their labels.
class Scores {
 public:
  Scores(const std::vector<double>& scores, const std::vector<double>& labels, const std::vector<double>& weights)
      : scores_(scores), labels_(labels), weights_(weights) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!std::isfinite(scores[i])) require(false, "scores: number " + std::to_string(i) + " is not finite");
      if (!(std::abs(labels[i]) == 1))
        require(false, "labels: number " + std::to_string(i) + " is " + to_text(labels[i]) + "; -1 or 1 is wanted");
      if (!(weights[i] >= 0 && std::isfinite(weights[i])))
        require(false, "weights: number " + std::to_string(i) + " is " + to_text(weights[i]) +
                           "; weights must be >= 0 and finite");
      count += weights[i];
      positives_ += labels[i] > 0 ? weights[i] : 0.0;
      mean += weights[i] * scores[i];
    }
    require(count > 0 && std::isfinite(count), "weights: their sum must be > 0 and finite");
    mean /= count;
    for (const double f : scores) spread = std::max(spread, std::abs(f - mean));
    if (spread <= 1e-12 * std::abs(mean)) spread = 1;  // all scores are equal, up to rounding
  }
  double start() const { return std::log((count - positives_ + 1) / (positives_ + 1)); }

  // Σ softplus(z) − (1 − t) z over z = a f + b, the cross-entropy of σ(−z) against targets t.
  double loss(double a, double b) const {
    double sum = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const double z = a * scaled(i) + b;
      sum += weights_[i] * (softplus(z) - (1 - target(i)) * z);
    }
    return sum;
  }

  struct Derivatives {
    double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
  };
  Derivatives derivatives(double a, double b) const {
    Derivatives d;
    d.haa = d.hbb = 1e-12 * count;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const double f = scaled(i), p = sigmoid(a * f + b);
      const double slope = weights_[i] * (p - (1 - target(i))), curve = weights_[i] * p * (1 - p);
      d.ga += slope * f;
      d.gb += slope;
      d.haa += curve * f * f;
      d.hab += curve * f;
      d.hbb += curve;
    }
    return d;
  }

  double count = 0, mean = 0, spread = 0;

 private:
  double scaled(std::size_t i) const { return (scores_[i] - mean) / spread; }
  double target(std::size_t i) const {
    return labels_[i] > 0 ? (positives_ + 1) / (positives_ + 2) : 1 / (count - positives_ + 2);
  }

  const std::vector<double>&scores_, &labels_, &weights_;
  double positives_ = 0;
};

}  // namespace

double Platt::probability(double score) const { return sigmoid(-(a * score + b)); }

Platt fit_platt(const std::vector<double>& scores, const std::vector<double>& labels, std::vector<double> weights) {
  require(scores.size() == labels.size() && !scores.empty(), "scores: as many as labels, and at least one");
  if (weights.empty()) weights.assign(scores.size(), 1.0);
  require(weights.size() == scores.size(), "weights: as many as scores");
  const Scores of(scores, labels, weights);
  double a = 0, b = of.start(), now = of.loss(a, b);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const Scores::Derivatives d = of.derivatives(a, b);
    if (std::hypot(d.ga, d.gb) <= 1e-12 * of.count) break;
    const double determinant = d.haa * d.hbb - d.hab * d.hab;
    const double da = -(d.hbb * d.ga - d.hab * d.gb) / determinant, db = -(d.haa * d.gb - d.hab * d.ga) / determinant;
    const double slope = d.ga * da + d.gb * db;
    // Newton's decrement: what the step can still gain. Below rounding there is nothing left to search.
    if (-slope <= 1e-14 * now) {
      a += da;
      b += db;
      break;
    }
    double step = 1, next = of.loss(a + da, b + db);
    while (!(next <= now + 1e-4 * step * slope) && step > 1e-10) {
      step /= 2;
      next = of.loss(a + step * da, b + step * db);
    }
    if (step <= 1e-10) break;  // no descent is left at this precision
    a += step * da;
    b += step * db;
    now = next;
  }
  return {a / of.spread, b - a * of.mean / of.spread};
}

}  // namespace svmgsu
