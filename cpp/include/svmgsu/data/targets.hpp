// What the examples should become: the residual of example i is D = t − σ(w·X + b), and it counts with weight c.
// A classifier has σ = ±1, its label, and t = 1; a regression has σ = 1 and t, its target.
#pragma once

#include <cstdint>
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
  // The same numbers in as little memory as they need: a byte for a label, eight for a value, none for a weight of 1.
  Targets compact() const;
  // What they take, in bytes.
  std::size_t bytes() const;

  Task task() const { return task_; }
  Index examples() const { return examples_; }
  double sign(Index i) const { return sign_.empty() ? packed_sign(i) : sign_[static_cast<std::size_t>(i)]; }
  double target(Index i) const { return target_.empty() ? 1.0 : target_[static_cast<std::size_t>(i)]; }
  double weight(Index i) const { return weight_.empty() ? 1.0 : weight_[static_cast<std::size_t>(i)]; }

  // Of examples that follow one another: where they lie, or copied to `room`.
  struct Span {
    const double *sign, *target, *weight;
  };
  struct Room {
    double of[3][kMaxBatch];
  };
  Span span(Index first, int count, Room& room) const {
    if (!sign_.empty() && !target_.empty() && !weight_.empty())
      return {sign_.data() + first, target_.data() + first, weight_.data() + first};
    return expand(first, count, room);
  }
  Span some(const Index* positions, int count, Room& room) const;

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
  double packed_sign(Index i) const { return label_.empty() ? 1.0 : label_[static_cast<std::size_t>(i)]; }
  Span expand(Index first, int count, Room& room) const;

  Task task_;
  Index examples_;
  std::vector<double> sign_, target_, weight_;  // empty where compact: labels, or all 1
  std::vector<std::int8_t> label_;
};

}  // namespace svmgsu
