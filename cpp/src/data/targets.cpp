#include <algorithm>
#include <cmath>

#include "svmgsu/data/training_set.hpp"

namespace svmgsu {
namespace {

struct Ones {
  double of[kMaxBatch];
  constexpr Ones() : of() {
    for (double& one : of) one = 1.0;
  }
};
constexpr Ones kOnes;

}  // namespace

Targets::Targets(Task task, Index samples, std::vector<double> weights) : task_(task), samples_(samples) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0 && std::isfinite(weights[i])))
      require(false, "weights: sample " + std::to_string(i) + " has " + std::to_string(weights[i]) +
                         "; weights must be >= 0 and finite");
  const bool ones = static_cast<Index>(weights.size()) == samples &&
                    std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 1; });
  if (!ones) weight_ = std::move(weights);
}

void Targets::require_samples(Index count) const {
  const auto check = [&](Index size, const char* name) {
    if (size != count)
      require(false, std::string(name) + ": " + std::to_string(size) + " for " + std::to_string(count) + " samples");
  };
  check(samples_, task_ == Task::regression ? "targets" : "labels");
  if (!weight_.empty()) check(static_cast<Index>(weight_.size()), "weights");
}

Targets Targets::labels(const std::vector<double>& y, std::vector<double> weights) {
  for (std::size_t i = 0; i < y.size(); ++i)  // the message only where it is needed: it takes longer than the check
    if (y[i] != 1 && y[i] != -1)
      require(false,
              "labels: sample " + std::to_string(i) + " has " + std::to_string(y[i]) + "; labels must be -1 or +1");
  Targets result(Task::classification, static_cast<Index>(y.size()), std::move(weights));
  result.label_.reserve(y.size());
  for (const double label : y) result.label_.push_back(static_cast<std::int8_t>(label));
  return result;
}

Targets Targets::values(std::vector<double> t, std::vector<double> weights) {
  for (std::size_t i = 0; i < t.size(); ++i)
    if (!std::isfinite(t[i]))
      require(false, "targets: sample " + std::to_string(i) + " has " + std::to_string(t[i]) +
                         "; targets must be finite numbers");
  Targets result(Task::regression, static_cast<Index>(t.size()), std::move(weights));
  result.target_ = std::move(t);
  return result;
}

Targets Targets::some(const std::vector<Index>& positions) const {
  Targets part(task_, static_cast<Index>(positions.size()), {});
  for (const Index i : positions) {
    if (i < 0 || i >= samples_) require(false, "positions: " + std::to_string(i) + " is not a sample");
    const auto at = static_cast<std::size_t>(i);
    if (!label_.empty()) part.label_.push_back(label_[at]);
    if (!target_.empty()) part.target_.push_back(target_[at]);
    if (!weight_.empty()) part.weight_.push_back(weight_[at]);
  }
  return part;
}

std::size_t Targets::bytes() const { return label_.size() + sizeof(double) * (target_.size() + weight_.size()); }

Targets::View::View(const Targets& of, Index first, int count)
    : sign(of.label_.empty() ? kOnes.of : signs_),
      target(of.target_.empty() ? kOnes.of : of.target_.data() + first),
      weight(of.weight_.empty() ? kOnes.of : of.weight_.data() + first) {
  if (of.label_.empty()) return;
  const std::int8_t* const label = of.label_.data() + first;
  for (int i = 0; i < count; ++i) signs_[i] = label[i];
}

Targets::View::View(const Targets& of, const Index* positions, int count)
    : sign(of.label_.empty() ? kOnes.of : signs_),
      target(of.target_.empty() ? kOnes.of : targets_),
      weight(of.weight_.empty() ? kOnes.of : weights_) {
  const auto gather = [&](const auto& from, double* to) {
    for (int i = 0; i < count && !from.empty(); ++i) to[i] = from[static_cast<std::size_t>(positions[i])];
  };
  gather(of.label_, signs_);
  gather(of.target_, targets_);
  gather(of.weight_, weights_);
}

double Targets::mean_weight() const {
  double sum = 0;
  for (Index i = 0; i < samples_; ++i) sum += weight(i);
  return sum / static_cast<double>(samples_);
}

void Targets::masses(double* of_sign) const {
  of_sign[0] = of_sign[1] = 0;
  for (Index i = 0; i < samples_; ++i) of_sign[sign(i) > 0] += weight(i);
}

double Targets::centre() const {
  if (task_ == Task::classification) return 0;
  double sum = 0, total = 0;
  for (Index i = 0; i < samples_; ++i) {
    sum += weight(i) * target(i);
    total += weight(i);
  }
  return total > 0 ? sum / total : 0.0;
}

}  // namespace svmgsu
