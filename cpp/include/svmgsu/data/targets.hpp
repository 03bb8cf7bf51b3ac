// What the examples should become: the residual of example i is D = t − σ(w·X + b), and it counts with weight c.
// A classifier has σ = ±1, its label, and t = 1; a regression has σ = 1 and t, its target.
#pragma once

#include <string>
#include <vector>

#include "svmgsu/losses/loss.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

class Targets {
 public:
  // Labels ±1; `weights` may be empty (all 1).
  static Targets labels(std::vector<double> y, std::vector<double> weights = {});
  static Targets labels(const Vector& y, const Vector& weights = Vector()) { return labels(list(y), list(weights)); }
  // Values to be met by w·x + b.
  static Targets values(std::vector<double> t, std::vector<double> weights = {});
  static Targets values(const Vector& t, const Vector& weights = Vector()) { return values(list(t), list(weights)); }

  // Of some of the examples.
  Targets some(const std::vector<Index>& positions) const;

  Task task() const { return task_; }
  Index examples() const { return static_cast<Index>(sign_.size()); }
  const double* signs() const { return sign_.data(); }
  const double* targets() const { return target_.data(); }
  const double* weights() const { return weight_.data(); }
  double sign(Index i) const { return sign_[static_cast<std::size_t>(i)]; }
  double target(Index i) const { return target_[static_cast<std::size_t>(i)]; }
  double weight(Index i) const { return weight_[static_cast<std::size_t>(i)]; }
  // Refuses another number of targets or weights than of examples.
  void require_examples(Index count) const;
  double mean_weight() const;
  // The weights of the examples with σ = −1 and with σ = 1.
  void masses(double* of_sign) const;
  // A value in the midst of the targets: their weighted mean; 0 for labels.
  double centre() const;

 private:
  Targets(Task task, std::vector<double> sign, std::vector<double> target, std::vector<double> weights);
  static std::vector<double> list(const Vector& v) { return std::vector<double>(v.data(), v.data() + v.size()); }

  Task task_;
  std::vector<double> sign_, target_, weight_;
};

}  // namespace svmgsu
