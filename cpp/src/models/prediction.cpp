#include "models/prediction.hpp"

#include "engines/sweep.hpp"
#include "models/decider.hpp"

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
    plans_.resize(each);
    points_.reserve(each);
    forms_.reserve(each);
    readers_.reserve(each);
    for (std::size_t k = 0; k < each; ++k) {
      points_.emplace_back(Eigen::Map<const EigenVector>(plane(static_cast<Index>(k)), planes.features));
      forms_.emplace_back(data, points_[k], plans_[k]);
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
  std::vector<std::vector<Plan>> plans_;
  std::vector<PointForms> forms_;
  std::vector<BatchReader<PointForms>> readers_;
};

}  // namespace

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

Matrix class_scores(const Classification& task, const Planes& planes, const Gaussians& data, bool noisy, int threads) {
  const Decider decider(task);
  require(planes.count == decider.values() && decider.classes() > 2, "w: one row for each hyperplane is wanted");
  Matrix out(data.samples(), decider.classes());
  Sight(planes, data, noisy && !task.calibration.empty()).each(threads, [&](Index i, const double* f, const double* v) {
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
