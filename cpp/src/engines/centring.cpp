#include "engines/centring.hpp"

#include <algorithm>
#include <cmath>

#include "svmgsu/kernels/kernels.hpp"

namespace svmgsu {
namespace {

constexpr Index kLookedAt = 1000;  // examples
constexpr double kFar = 1e4;       // spreads
constexpr double kSparseNear = 3;  // spreads within which a sparse column is left alone

// use(entry, column, value) for the numbers of the rows looked at.
template <class Scalar, class Use>
void for_entries(const Scalar* values, const RowsView& rows, const std::vector<Index>& ids, Index n, Use use) {
  const auto count = static_cast<Index>(ids.size()), looked = std::min(count, kLookedAt);
  for (Index k = 0; k < looked; ++k) {
    const Index id = ids[static_cast<std::size_t>(k * count / looked)];
    const Index first = rows.column ? rows.start[id] : id * n, last = rows.column ? rows.start[id + 1] : first + n;
    for (Index at = first; at < last; ++at)
      use(rows.column ? Index{rows.column[at]} : at - first, static_cast<double>(values[at]));
  }
}

// Mean and standard deviation of each feature. Numbers that are not there are zeros.
template <class Scalar>
void moments(const Scalar* values, const RowsView& rows, const std::vector<Index>& ids, Vector& mean, Vector& spread) {
  const Index n = mean.size();
  const auto looked = static_cast<double>(std::min(static_cast<Index>(ids.size()), kLookedAt));
  Vector first = Vector::Zero(n), there = Vector::Zero(n);  // a value of each feature, from which the mean is summed
  for_entries(values, rows, ids, n, [&](Index j, double x) {
    if (there(j)++ == 0) first(j) = x;
    mean(j) += x - first(j);
  });
  for (Index j = 0; j < n; ++j) mean(j) = there(j) / looked * first(j) + mean(j) / looked;
  for_entries(values, rows, ids, n, [&](Index j, double x) { spread(j) += (x - mean(j)) * (x - mean(j)); });
  for (Index j = 0; j < n; ++j) spread(j) = std::sqrt((spread(j) + (looked - there(j)) * mean(j) * mean(j)) / looked);
}

template <class Scalar>
class ShiftedMeans final : public Means {
 public:
  ShiftedMeans(const Means& means, const Scalar* values, Vector at)
      : values_(values), examples_(means.examples()), at_(std::move(at)) {}
  Index examples() const override { return examples_; }
  Index features() const override { return at_.size(); }
  double numbers_per_example() const override { return static_cast<double>(at_.size()); }
  RowsView rows() const override { return {}; }
  void dots(Batch batch, const double* w, double* out) const override {
    const Shifted rows(*this, batch);
    kernels::row_dots(rows.at, batch.count, features(), w, out);
  }
  void add(Batch batch, const double* coefficient, double* sum) const override {
    const Shifted rows(*this, batch);
    kernels::add_rows(rows.at, batch.count, features(), coefficient, sum);
  }
  void add_squares(Batch batch, const double* coefficient, double* sum) const override {
    const Shifted rows(*this, batch);
    for (int i = 0; i < batch.count; ++i)
      for (Index j = 0; j < features(); ++j) sum[j] += coefficient[i] * (rows.at[i][j] * rows.at[i][j]);
  }

 private:
  struct Shifted {
    const double* at[kMaxBatch];
    Shifted(const ShiftedMeans& means, Batch batch) {
      thread_local std::vector<double> buffer;
      const Index n = means.features();
      buffer.resize(static_cast<std::size_t>(batch.count * n));
      for (int i = 0; i < batch.count; ++i) {
        double* out = buffer.data() + i * n;
        const Scalar* row = means.values_ + batch.id[i] * n;
        for (Index j = 0; j < n; ++j) out[j] = static_cast<double>(row[j]) - means.at_.data()[j];
        at[i] = out;
      }
    }
  };
  const Scalar* values_;
  Index examples_;
  Vector at_;
};

}  // namespace

Gaussians seen_from(const Gaussians& data, const Vector& at) {
  const RowsView rows = data.means().rows();
  std::shared_ptr<const Means> means;
  if (rows.wide) means = std::make_shared<ShiftedMeans<double>>(data.means(), rows.wide, at);
  if (rows.narrow) means = std::make_shared<ShiftedMeans<float>>(data.means(), rows.narrow, at);
  return {means, CovarianceSum(data.covariance()), &data.ids()};
}

namespace {

// Pieces that are seen from elsewhere as they come.
class ShiftedSource final : public Source {
 public:
  ShiftedSource(std::shared_ptr<const Source> of, const Vector& at)
      : of_(std::move(of)), like_(seen_from(of_->like(), at)), at_(at) {}
  Index examples() const override { return of_->examples(); }
  const Gaussians& like() const override { return like_; }
  double numbers() const override { return of_->numbers(); }
  double rank() const override { return of_->rank(); }
  void all(const Cuts& cuts, const Use& use) const override { of_->all(cuts, shifted(use)); }
  void some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const override {
    of_->some(positions, cuts, shifted(use));
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    const std::shared_ptr<const Source> taken = of_->take(positions);
    return std::make_shared<MemorySource>(seen_from(*taken->whole(), at_), taken);
  }

 private:
  Use shifted(const Use& use) const {
    return
        [this, &use](const Piece& piece) { use({seen_from(piece.data, at_), piece.ids, piece.first, piece.prepare}); };
  }

  std::shared_ptr<const Source> of_;
  Gaussians like_;
  Vector at_;
};

Centre centre_of(const Gaussians& data) {
  const RowsView rows = data.means().rows();
  Centre result;
  if (!rows.wide && !rows.narrow) return result;
  Vector mean = Vector::Zero(data.features()), spread = Vector::Zero(data.features());
  if (rows.wide) moments(rows.wide, rows, data.ids(), mean, spread);
  if (rows.narrow) moments(rows.narrow, rows, data.ids(), mean, spread);
  const bool sparse = rows.column != nullptr;
  const double widest = spread.maxCoeff();
  for (Index j = 0; j < mean.size(); ++j) {
    const double unit = spread(j) > 0 ? spread(j) : widest;  // one that does not vary has no unit of its own
    if (!std::isfinite(mean(j)) || (sparse && std::abs(mean(j)) <= kSparseNear * unit)) mean(j) = 0;
    result.far |= !sparse && std::abs(mean(j)) > kFar * unit;
  }
  if (mean.squaredNorm() > 0) result.at = std::move(mean);
  return result;
}

}  // namespace

Centre centre_of(const Source& source) {
  if (source.whole()) return centre_of(*source.whole());
  std::vector<Index> rows;
  const Index count = source.examples(), looked = std::min(count, kLookedAt);
  for (Index k = 0; k < looked; ++k) rows.push_back(k * count / looked);
  return centre_of(*source.take(rows)->whole());
}

std::shared_ptr<const Source> seen_from(const std::shared_ptr<const Source>& source, const Vector& at) {
  if (source->remote()) return source->moved(at);
  if (source->whole()) return std::make_shared<MemorySource>(seen_from(*source->whole(), at), source);
  return std::make_shared<ShiftedSource>(source, at);
}

}  // namespace svmgsu
