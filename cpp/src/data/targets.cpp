#include "svmgsu/data/targets.hpp"

#include <cmath>

namespace svmgsu {

Targets::Targets(Task task, std::vector<double> sign, std::vector<double> target, std::vector<double> weights)
    : task_(task),
      examples_(static_cast<Index>(sign.size())),
      sign_(std::move(sign)),
      target_(std::move(target)),
      weight_(std::move(weights)) {
  if (weight_.empty()) weight_.assign(sign_.size(), 1.0);
  for (std::size_t i = 0; i < weight_.size(); ++i)
    if (!(weight_[i] >= 0 && std::isfinite(weight_[i])))
      require(false, "weights: example " + std::to_string(i) + " has " + std::to_string(weight_[i]) +
                         "; weights must be >= 0 and finite");
}

void Targets::require_examples(Index count) const {
  const auto check = [&](Index size, const char* name) {
    if (size != count)
      require(false, std::string(name) + ": " + std::to_string(size) + " for " + std::to_string(count) + " examples");
  };
  check(examples_, task_ == Task::regression ? "targets" : "labels");
  if (!weight_.empty()) check(static_cast<Index>(weight_.size()), "weights");
}

Targets Targets::labels(std::vector<double> y, std::vector<double> weights) {
  for (std::size_t i = 0; i < y.size(); ++i)  // the message only where it is needed: it takes longer than the check
    if (y[i] != 1 && y[i] != -1)
      require(false,
              "labels: example " + std::to_string(i) + " has " + std::to_string(y[i]) + "; labels must be -1 or +1");
  std::vector<double> ones(y.size(), 1.0);
  return Targets(Task::classification, std::move(y), std::move(ones), std::move(weights));
}

Targets Targets::values(std::vector<double> t, std::vector<double> weights) {
  for (std::size_t i = 0; i < t.size(); ++i)
    if (!std::isfinite(t[i]))
      require(false, "targets: example " + std::to_string(i) + " has " + std::to_string(t[i]) +
                         "; targets must be finite numbers");
  std::vector<double> ones(t.size(), 1.0);
  return Targets(Task::regression, std::move(ones), std::move(t), std::move(weights));
}

Targets Targets::some(const std::vector<Index>& positions) const {
  std::vector<double> sign, target, weight;
  for (const Index i : positions) {
    if (i < 0 || i >= examples_) require(false, "positions: " + std::to_string(i) + " is not an example");
    sign.push_back(this->sign(i));
    target.push_back(this->target(i));
    weight.push_back(this->weight(i));
  }
  return {task_, std::move(sign), std::move(target), std::move(weight)};
}

Targets Targets::compact() const {
  Targets small(task_, {}, {}, {});  // not a copy, which would take all that is to be saved once more
  small.examples_ = examples_;
  if (task_ == Task::classification) {
    small.label_.reserve(static_cast<std::size_t>(examples_));
    for (Index i = 0; i < examples_; ++i) small.label_.push_back(static_cast<std::int8_t>(sign(i)));
  } else {
    small.target_ = target_;
  }
  bool ones = true;
  for (Index i = 0; i < examples_; ++i) ones &= weight(i) == 1.0;
  if (!ones) small.weight_ = weight_;
  return small;
}

std::size_t Targets::bytes() const {
  return label_.size() + sizeof(double) * (sign_.size() + target_.size() + weight_.size());
}

Targets::Span Targets::expand(Index first, int count, Room& room) const {
  for (int i = 0; i < count; ++i) {
    room.of[0][i] = sign(first + i);
    room.of[1][i] = target(first + i);
    room.of[2][i] = weight(first + i);
  }
  return {room.of[0], room.of[1], room.of[2]};
}

Targets::Span Targets::some(const Index* positions, int count, Room& room) const {
  if (!sign_.empty() && !target_.empty() && !weight_.empty()) {
    const double *sign = sign_.data(), *target = target_.data(), *weight = weight_.data();
    for (int i = 0; i < count; ++i) {
      const Index at = positions[i];
      room.of[0][i] = sign[at];
      room.of[1][i] = target[at];
      room.of[2][i] = weight[at];
    }
    return {room.of[0], room.of[1], room.of[2]};
  }
  for (int i = 0; i < count; ++i) {
    room.of[0][i] = sign(positions[i]);
    room.of[1][i] = target(positions[i]);
    room.of[2][i] = weight(positions[i]);
  }
  return {room.of[0], room.of[1], room.of[2]};
}

double Targets::mean_weight() const {
  double sum = 0;
  for (Index i = 0; i < examples_; ++i) sum += weight(i);
  return sum / static_cast<double>(examples_);
}

void Targets::masses(double* of_sign) const {
  of_sign[0] = of_sign[1] = 0;
  for (Index i = 0; i < examples_; ++i) of_sign[sign(i) > 0] += weight(i);
}

double Targets::centre() const {
  if (task_ == Task::classification) return 0;
  double sum = 0, total = 0;
  for (Index i = 0; i < examples_; ++i) {
    sum += weight(i) * target(i);
    total += weight(i);
  }
  return total > 0 ? sum / total : 0.0;
}

}  // namespace svmgsu
