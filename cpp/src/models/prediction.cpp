#include "models/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engines/sweep.hpp"

namespace svmgsu {
namespace {

// Reads samples a batch at a time: f = w·x + b and, where they are noisy, v = wᵀΣw.
class Sight {
 public:
  Sight(const Planes& planes, const Gaussians& data, bool noisy)
      : planes_(planes), data_(data), noisy_(noisy && !data.covariance().empty()) {
    require(planes.count >= 0, "count: must be >= 0, got " + std::to_string(planes.count));
    require(planes.count == 0 || planes.w, "w: null pointer");
    require(planes.count == 0 || planes.b, "b: null pointer");
    require(planes.features == data.features(), "w: " + std::to_string(planes.features) +
                                                    " features, but the means have " + std::to_string(data.features()));
    using View = Eigen::Map<const EigenVector>;
    require(View(planes.w, planes.count * planes.features).allFinite(), "w: all numbers must be finite");
    require(View(planes.b, planes.count).allFinite(), "b: all numbers must be finite");
    if (!noisy_) return;
    const auto each = static_cast<std::size_t>(planes.count);
    points_.reserve(each);
    forms_.reserve(each);
    readers_.reserve(each);
    for (std::size_t k = 0; k < each; ++k) {
      points_.emplace_back(Eigen::Map<const EigenVector>(plane(static_cast<Index>(k)), planes.features));
      forms_.emplace_back(data, points_[k]);
      readers_.emplace_back(data, forms_[k]);
    }
  }

  // use(i, f, v) for each sample, of which v is null where it is not noisy; in any order, in several threads.
  template <class Use>
  void each(int threads, Use use) const {
    const double numbers = data_.numbers_per_sample();
    const int batch = batch_size(numbers);
    const Index count = data_.samples(), block = block_size(data_, numbers, count, 0);
    const auto width = static_cast<std::size_t>(planes_.count);
    const int team = team_for(static_cast<double>(count) * numbers * static_cast<double>(planes_.count), threads);
    parallel_for((count + block - 1) / block, team, [&](Index number) {
      std::vector<double> f(width * kMaxBatch), v(noisy_ ? f.size() : 0);
      const Index last = std::min(count, (number + 1) * block);
      for (Index first = number * block; first < last; first += batch) {
        const Batch part = batch_at(data_.ids(), first, std::min(last, first + batch));
        read(part, f.data(), v.data());
        for (int i = 0; i < part.count; ++i) {
          const std::size_t row = static_cast<std::size_t>(i) * width;
          for (std::size_t k = row; k < row + width; ++k)
            if (std::isnan(f[k]))
              require(false, "means: the decision value of sample " + std::to_string(first + i) + " is not a number");
          use(first + i, f.data() + row, noisy_ ? v.data() + row : nullptr);
        }
      }
    });
  }

 private:
  const double* plane(Index k) const { return planes_.w + k * planes_.features; }

  void read(Batch part, double* f, double* v) const {
    double dot[kMaxBatch], form[kMaxBatch];
    for (Index k = 0; k < planes_.count; ++k) {
      data_.means().dots(part, plane(k), dot);
      for (int i = 0; i < part.count; ++i) f[i * planes_.count + k] = dot[i] + planes_.b[k];
      if (!noisy_) continue;
      readers_[static_cast<std::size_t>(k)].read(part, dot, form);
      for (int i = 0; i < part.count; ++i) v[i * planes_.count + k] = std::max(0.0, form[i]);
    }
  }

  Planes planes_;
  const Gaussians& data_;
  bool noisy_;
  std::vector<Vector> points_;
  std::vector<PointForms> forms_;
  std::vector<BatchReader<PointForms>> readers_;
};

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

// Classes from the decision values of one sample at a time; what does not depend on the sample is kept.
class Decider {
 public:
  explicit Decider(const Classification& task)
      : task_(task), classes_(static_cast<Index>(task.labels.size())), values_(task.hyperplanes()) {
    require(classes_ >= 2, "task: a regression has no classes");
    require(task.calibration.empty() || static_cast<Index>(task.calibration.size()) == values_,
            "calibration: one for each decision value is wanted");
    for (const Calibration& c : task.calibration)
      require(
          std::isfinite(c.a) && std::isfinite(c.b) && std::isfinite(c.base) && c.kappa >= 0 && std::isfinite(c.kappa),
          "calibration: its numbers must be finite, and kappa >= 0");
    const auto require_positive = [&](const Vector& each, const char* name) {
      require(!each.size() || (each.size() == classes_ && each.allFinite() && (each.array() > 0).all()),
              std::string(name) + ": one finite number > 0 for each class is wanted");
    };
    require_positive(task.prior, "prior");
    require_positive(task.class_weight, "class_weight");
    if (!task.calibration.empty()) log_priors_ = log_priors(task);
  }

  Index classes() const { return classes_; }
  Index values() const { return values_; }

  // `f` and `v` (null: noise-free) have one number for each hyperplane, `out` gets one for each class: log-odds, or
  // where there are no probabilities the votes of pairs, or the plain decision values.
  void scores(const double* f, const double* v, double* out) const {
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

  // `prior` (null: those of the model) has one number > 0 for each class. By logarithms, so that a row of tiny ones can
  // be scaled up.
  void probabilities(const double* f, const double* v, const double* prior, double* out) const {
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

  Index predict(const double* f, const double* v) const {
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

 private:
  void log_odds(const double* f, const double* v, double* out) const {
    for (Index k = 0; k < values_; ++k)
      out[k] = task_.calibration[static_cast<std::size_t>(k)].log_odds(f[k], v ? v[k] : 0.0);
  }

  const Classification& task_;
  Index classes_, values_;
  std::vector<double> log_priors_;  // of training
};

}  // namespace

void couple(const double* pairs, Index classes, double* out) {
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

Index Classification::hyperplanes() const {
  const auto classes = static_cast<Index>(labels.size());
  if (classes == 0) return 1;
  return classes > 2 && multi_class == MultiClass::ovr ? classes : count_pairs(classes);
}

Matrix decision_values(const Planes& planes, const Gaussians& data, int threads) {
  const Sight sight(planes, data, false);
  Matrix out(data.samples(), planes.count);
  sight.each(threads, [&](Index i, const double* f, const double*) { std::copy_n(f, planes.count, &out(i, 0)); });
  return out;
}

Margins margins(const Planes& planes, const Gaussians& data, int threads) {
  const Sight sight(planes, data, true);
  Margins out;
  out.mean.resize(data.samples(), planes.count);
  out.variance.setZero(data.samples(), planes.count);
  sight.each(threads, [&](Index i, const double* f, const double* v) {
    std::copy_n(f, planes.count, &out.mean(i, 0));
    if (v) std::copy_n(v, planes.count, &out.variance(i, 0));
  });
  return out;
}

Matrix class_scores(const Classification& task, const Planes& planes, const Gaussians& data, int threads) {
  const Decider decider(task);
  require(planes.count == decider.values() && decider.classes() > 2, "w: one row for each hyperplane is wanted");
  Matrix out(data.samples(), decider.classes());
  Sight(planes, data, !task.calibration.empty()).each(threads, [&](Index i, const double* f, const double* v) {
    decider.scores(f, v, &out(i, 0));
  });
  return out;
}

Matrix probabilities(const Classification& task, const Planes& planes, const Gaussians& data, const Matrix* prior,
                     int threads) {
  const Decider decider(task);
  require(planes.count == decider.values(), "w: one row for each hyperplane is wanted");
  require(!task.calibration.empty(), "calibration: the model has no probabilities");
  if (prior)
    require(prior->cols() == decider.classes() && (prior->rows() == 1 || prior->rows() == data.samples()) &&
                prior->allFinite() && (prior->array() > 0).all(),
            "prior: one finite number > 0 for each class is wanted, of all samples or of each");
  const Index step = prior && prior->rows() > 1 ? 1 : 0;
  Matrix out(data.samples(), decider.classes());
  Sight(planes, data, true).each(threads, [&](Index i, const double* f, const double* v) {
    decider.probabilities(f, v, prior ? &prior->coeffRef(i * step, 0) : nullptr, &out(i, 0));
  });
  return out;
}

std::vector<Index> predict(const Classification& task, const Planes& planes, const Gaussians& data, int threads) {
  const Decider decider(task);
  require(planes.count == decider.values(), "w: one row for each hyperplane is wanted");
  std::vector<Index> out(static_cast<std::size_t>(data.samples()));
  Sight(planes, data, !task.calibration.empty()).each(threads, [&](Index i, const double* f, const double* v) {
    out[static_cast<std::size_t>(i)] = decider.predict(f, v);
  });
  return out;
}

}  // namespace svmgsu
