#include "svmgsu/data/targets.hpp"

#include <cmath>

namespace svmgsu {

Targets::Targets(Task task, std::vector<double> sign, std::vector<double> target, std::vector<double> weights)
    : task_(task), sign_(std::move(sign)), target_(std::move(target)), weight_(std::move(weights)) {
  if (weight_.empty()) weight_.assign(sign_.size(), 1.0);
  for (std::size_t i = 0; i < weight_.size(); ++i)
    if (!(weight_[i] >= 0 && std::isfinite(weight_[i])))
      require(false, "weights: example " + std::to_string(i) + " has " + std::to_string(weight_[i]) +
                         "; weights must be >= 0 and finite");
}

void Targets::require_examples(Index count) const {
  const auto check = [&](std::size_t size, const char* name) {
    if (static_cast<Index>(size) != count)
      require(false, std::string(name) + ": " + std::to_string(size) + " for " + std::to_string(count) + " examples");
  };
  check(sign_.size(), task_ == Task::regression ? "targets" : "labels");
  check(weight_.size(), "weights");
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
    sign.push_back(this->sign(i));
    target.push_back(this->target(i));
    weight.push_back(this->weight(i));
  }
  return {task_, std::move(sign), std::move(target), std::move(weight)};
}

double Targets::mean_weight() const {
  double sum = 0;
  for (const double c : weight_) sum += c;
  return sum / static_cast<double>(weight_.size());
}

void Targets::masses(double* of_sign) const {
  of_sign[0] = of_sign[1] = 0;
  for (std::size_t i = 0; i < sign_.size(); ++i) of_sign[sign_[i] > 0] += weight_[i];
}

double Targets::centre() const {
  if (task_ == Task::classification) return 0;
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < target_.size(); ++i) {
    sum += weight_[i] * target_[i];
    weight += weight_[i];
  }
  return weight > 0 ? sum / weight : 0.0;
}

}  // namespace svmgsu
