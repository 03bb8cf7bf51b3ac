// What the samples should become, and samples together with that: all that training learns from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/losses/loss.hpp"

namespace svmgsu {

// The residual of sample i is D = t − σ(w·X + b), and it counts with weight c. A classifier has σ = ±1, its label, and
// t = 1; a regression has σ = 1 and t, its target. A label takes a byte, a target eight, a weight of 1 none.
class Targets {
 public:
  // Labels ±1; `weights` may be empty (all 1).
  static Targets labels(const std::vector<double>& y, std::vector<double> weights = {});
  static Targets labels(const Vector& y, const Vector& weights = Vector()) { return labels(list(y), list(weights)); }
  // Values to be met by w·x + b.
  static Targets values(std::vector<double> t, std::vector<double> weights = {});
  static Targets values(const Vector& t, const Vector& weights = Vector()) { return values(list(t), list(weights)); }

  // Of some of the samples.
  Targets some(const std::vector<Index>& positions) const;
  // What they take, in bytes.
  std::size_t bytes() const;

  Task task() const { return task_; }
  Index samples() const { return samples_; }
  double sign(Index i) const { return label_.empty() ? 1.0 : label_[static_cast<std::size_t>(i)]; }
  double target(Index i) const { return target_.empty() ? 1.0 : target_[static_cast<std::size_t>(i)]; }
  double weight(Index i) const { return weight_.empty() ? 1.0 : weight_[static_cast<std::size_t>(i)]; }

  // The numbers of some samples, at most kMaxBatch: that follow one another, or by their positions.
  class View {
   public:
    View(const Targets& of, Index first, int count);
    View(const Targets& of, const Index* positions, int count);
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    const double *sign, *target, *weight;

   private:
    double signs_[kMaxBatch], targets_[kMaxBatch], weights_[kMaxBatch];
  };

  // Refuses another number of targets or weights than of samples.
  void require_samples(Index count) const;
  double mean_weight() const;
  // The weights of the samples with σ = −1 and with σ = 1.
  void masses(double* of_sign) const;
  // A value in the midst of the targets: their weighted mean; 0 for labels.
  double centre() const;

 private:
  Targets(Task task, Index samples, std::vector<double> weights);
  static std::vector<double> list(const Vector& v) { return std::vector<double>(v.data(), v.data() + v.size()); }

  Task task_;
  Index samples_;
  std::vector<std::int8_t> label_;  // of a classifier
  std::vector<double> target_;      // of a regression
  std::vector<double> weight_;      // empty: all 1
};

struct TrainingSet {
  Gaussians data;
  Targets targets;

  TrainingSet(Gaussians data_, Targets targets_) : data(std::move(data_)), targets(std::move(targets_)) {
    targets.require_samples(data.samples());
  }
  // Of two classes, with labels ±1.
  TrainingSet(Rows means, CovarianceSum covariance, const Vector& labels, const Vector& weights = Vector())
      : TrainingSet(Gaussians(std::move(means), std::move(covariance)), Targets::labels(labels, weights)) {}
};

}  // namespace svmgsu
