#include "svmgsu/models/classification.hpp"

#include <algorithm>
#include <cmath>

#include "models/decider.hpp"
#include "svmgsu/models/coupling.hpp"

namespace svmgsu {
namespace {

// log σ(z) without overflow.
double log_sigmoid(double z) { return z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z)); }

// Logarithms of the classes' shares in training.
std::vector<double> log_shares(const Classification& task) {
  std::vector<double> base, out;
  for (const Calibration& c : task.calibration) base.push_back(c.base);
  if (base.size() == 1) {
    out = {-base[0], base[0]};
  } else if (task.multi_class == MultiClass::ovo) {
    out.resize(task.labels.size());
    couple(base.data(), static_cast<Index>(out.size()), out.data());
  } else {
    out = base;
  }
  for (double& share : out) share = log_sigmoid(share);
  return out;
}

void require_sizes(const Decider& decider, const Vector& decision, const Vector* variance) {
  require(decision.size() == decider.values(), "decision: " + std::to_string(decision.size()) +
                                                   " values, where the model of " + std::to_string(decider.classes()) +
                                                   " classes has " + std::to_string(decider.values()));
  require(!decision.hasNaN(), "decision: all values must be numbers, and there is a NaN");
  require(!variance || variance->size() == decision.size(), "variance: one for each decision value is wanted");
  require(!variance || (variance->array() >= 0).all(), "variance: all must be >= 0");
}

const double* data_of(const Vector* values) { return values ? values->data() : nullptr; }

}  // namespace

Decider::Decider(const Classification& task)
    : task_(task), classes_(static_cast<Index>(task.labels.size())), values_(task.hyperplanes()) {
  require(classes_ >= 2, "task: a regression has no classes");
  require(task.calibration.empty() || static_cast<Index>(task.calibration.size()) == values_,
          "calibration: one for each decision value is wanted");
  for (const Calibration& c : task.calibration)
    require(std::isfinite(c.a) && std::isfinite(c.b) && std::isfinite(c.base) && c.kappa >= 0 && std::isfinite(c.kappa),
            "calibration: its numbers must be finite, and kappa >= 0");
  const auto require_positive = [&](const Vector& each, const char* name) {
    require(!each.size() || (each.size() == classes_ && each.allFinite() && (each.array() > 0).all()),
            std::string(name) + ": one finite number > 0 for each class is wanted");
  };
  require_positive(task.prior, "prior");
  require_positive(task.class_weight, "class_weight");
  if (!task.calibration.empty()) log_shares_ = log_shares(task);
}

void Decider::log_odds(const double* f, const double* v, double* out) const {
  for (Index k = 0; k < values_; ++k)
    out[k] = task_.calibration[static_cast<std::size_t>(k)].log_odds(f[k], v ? v[k] : 0.0);
}

void Decider::scores(const double* f, const double* v, double* out) const {
  if (classes_ <= 2) require(false, "decision: of two classes there is one value to compare with 0");
  const bool calibrated = !task_.calibration.empty(), pairs = task_.multi_class == MultiClass::ovo;
  if (!calibrated) {
    if (pairs) return vote(f, classes_, out);
    std::copy_n(f, values_, out);
  } else if (pairs) {
    std::vector<double> z(static_cast<std::size_t>(values_));
    log_odds(f, v, z.data());
    couple(z.data(), classes_, out);
  } else {
    log_odds(f, v, out);
  }
}

// By logarithms, so that a row of tiny ones can be scaled up.
void Decider::probabilities(const double* f, const double* v, const double* shares, double* out) const {
  if (task_.calibration.empty()) require(false, "calibration: the model has no probabilities");
  if (classes_ == 2) {
    log_odds(f, v, out + 1);
    out[0] = -out[1];
  } else {
    scores(f, v, out);
  }
  if (!shares && task_.prior.size()) shares = task_.prior.data();
  for (Index k = 0; k < classes_; ++k) {
    out[k] = log_sigmoid(out[k]);
    if (shares) out[k] += std::log(shares[k]) - log_shares_[static_cast<std::size_t>(k)];
  }
  const double most = *std::max_element(out, out + classes_);
  double sum = 0;
  for (Index k = 0; k < classes_; ++k) sum += out[k] = std::exp(out[k] - most);
  for (Index k = 0; k < classes_; ++k) out[k] /= sum;
}

Index Decider::predict(const double* f, const double* v) const {
  const bool calibrated = !task_.calibration.empty();
  if (!calibrated && classes_ == 2) return f[0] > 0 ? 1 : 0;
  std::vector<double> of_class(static_cast<std::size_t>(classes_));
  if (calibrated) {
    probabilities(f, v, nullptr, of_class.data());
    for (Index k = 0; k < task_.class_weight.size(); ++k)
      of_class[static_cast<std::size_t>(k)] *= task_.class_weight(k);
  } else {
    scores(f, v, of_class.data());
  }
  return std::max_element(of_class.begin(), of_class.end()) - of_class.begin();
}

Index Classification::hyperplanes() const {
  const auto classes = static_cast<Index>(labels.size());
  if (classes == 0) return 1;
  return classes > 2 && multi_class == MultiClass::ovr ? classes : count_pairs(classes);
}

Vector Classification::class_scores(const Vector& decision, const Vector* variance) const {
  const Decider decider(*this);
  require_sizes(decider, decision, variance);
  Vector out(decider.classes());
  decider.scores(decision.data(), data_of(variance), out.data());
  return out;
}

Vector Classification::probabilities(const Vector& decision, const Vector* variance, const Vector* shares) const {
  const Decider decider(*this);
  require_sizes(decider, decision, variance);
  require(!shares || (shares->size() == decider.classes() && shares->allFinite() && (shares->array() > 0).all()),
          "shares: one finite share > 0 for each class is wanted");
  Vector out(decider.classes());
  decider.probabilities(decision.data(), data_of(variance), data_of(shares), out.data());
  return out;
}

Index Classification::predict(const Vector& decision, const Vector* variance) const {
  const Decider decider(*this);
  require_sizes(decider, decision, variance);
  return decider.predict(decision.data(), data_of(variance));
}

}  // namespace svmgsu
