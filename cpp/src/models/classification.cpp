#include "svmgsu/models/classification.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/decider.hpp"

namespace svmgsu {
namespace {

// The messages only where they are needed: these functions are called for every sample.
void require_pairs(const double* pairs, Index classes, const double* out) {
  if (classes < 2) require(false, "classes: at least two are wanted, got " + std::to_string(classes));
  if (!pairs) require(false, "pairs: null pointer");
  if (!out) require(false, "out: null pointer");
  const Index count = count_pairs(classes);
  for (Index k = 0; k < count; ++k)
    if (std::isnan(pairs[k])) require(false, "pairs: number " + std::to_string(k) + " is not a number");
}

// log σ(z) without overflow.
double log_sigmoid(double z) { return z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z)); }

// Logarithms of the class priors in training.
std::vector<double> log_priors(const Classification& task) {
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
  if (!task.calibration.empty()) log_priors_ = log_priors(task);
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
void Decider::probabilities(const double* f, const double* v, const double* prior, double* out) const {
  if (task_.calibration.empty()) require(false, "calibration: the model has no probabilities");
  if (classes_ == 2) {
    log_odds(f, v, out + 1);
    out[0] = -out[1];
  } else {
    scores(f, v, out);
  }
  if (!prior && task_.prior.size()) prior = task_.prior.data();
  for (Index k = 0; k < classes_; ++k) {
    out[k] = log_sigmoid(out[k]);
    if (prior) out[k] += std::log(prior[k]) - log_priors_[static_cast<std::size_t>(k)];
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

Vector Classification::probabilities(const Vector& decision, const Vector* variance, const Vector* prior) const {
  const Decider decider(*this);
  require_sizes(decider, decision, variance);
  require(!prior || (prior->size() == decider.classes() && prior->allFinite() && (prior->array() > 0).all()),
          "prior: one finite number > 0 for each class is wanted");
  Vector out(decider.classes());
  decider.probabilities(decision.data(), data_of(variance), data_of(prior), out.data());
  return out;
}

Index Classification::predict(const Vector& decision, const Vector* variance) const {
  const Decider decider(*this);
  require_sizes(decider, decision, variance);
  return decider.predict(decision.data(), data_of(variance));
}

void couple(const double* pairs, Index classes, double* out) {
  require_pairs(pairs, classes, out);
  // Odds against each class, Σ exp(-z_ij), as logarithms: the largest term, and the sum relative to it.
  constexpr double kMost = std::numeric_limits<double>::max() / 4;  // so that differences stay finite
  const auto count = static_cast<std::size_t>(classes);
  std::vector<double> most(count, -kMost), sum(count, 0.0);
  const auto each = [&](const auto& add) {
    const double* z = pairs;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j, ++z) {
        const double value = std::clamp(*z, -kMost, kMost);
        add(i, value);
        add(j, -value);
      }
  };
  each([&](std::size_t k, double against) { most[k] = std::max(most[k], against); });
  each([&](std::size_t k, double against) { sum[k] += std::exp(against - most[k]); });
  for (std::size_t k = 0; k < count; ++k) out[k] = -(most[k] + std::log(sum[k]));
}

void vote(const double* pairs, Index classes, double* out) {
  require_pairs(pairs, classes, out);
  const auto count = static_cast<std::size_t>(classes);
  std::vector<double> margins(count, 0.0);
  std::fill(out, out + count, 0.0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j, ++pairs) {
      out[*pairs > 0 ? j : i] += 1;
      margins[i] -= *pairs;
      margins[j] += *pairs;
    }
  for (std::size_t k = 0; k < count; ++k) out[k] += margins[k] / (3 * (std::abs(margins[k]) + 1));
}

}  // namespace svmgsu
