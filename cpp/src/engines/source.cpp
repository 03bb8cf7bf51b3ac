// Where the data lie, and samples as seen from there.
#include "engines/source.hpp"

#include <algorithm>
#include <cmath>

#include "engines/requests.hpp"

namespace svmgsu {
namespace {

constexpr Index kLookedAt = 1000;  // samples
constexpr double kFar = 1e4;       // spreads
constexpr double kSparseNear = 3;  // spreads within which a sparse column is left alone

// use(column, value) for the numbers of the rows looked at.
template <class Scalar, class Use>
void for_entries(const Scalar* values, const Rows& rows, const std::vector<Index>& ids, Use use) {
  const auto count = static_cast<Index>(ids.size()), looked = std::min(count, kLookedAt);
  for (Index k = 0; k < looked; ++k) {
    const Index id = ids[static_cast<std::size_t>(k * count / looked)];
    if (rows.sparse()) {
      for (Index at = rows.start()[id]; at < rows.start()[id + 1]; ++at)
        use(Index{rows.column()[at]}, static_cast<double>(values[at]));
    } else {
      const Scalar* const row = values + id * rows.columns();
      for (Index j = 0; j < rows.columns(); ++j) use(j, static_cast<double>(row[j]));
    }
  }
}
template <class Use>
void for_entries(const Rows& rows, const std::vector<Index>& ids, Use use) {
  if (rows.wide())
    for_entries(rows.wide(), rows, ids, use);
  else
    for_entries(rows.narrow(), rows, ids, use);
}

// Mean and standard deviation of each feature. Numbers that are not there are zeros.
void moments(const Rows& rows, const std::vector<Index>& ids, Vector& mean, Vector& spread) {
  const Index n = mean.size();
  const auto looked = static_cast<double>(std::min(static_cast<Index>(ids.size()), kLookedAt));
  // A value of each feature, from which the mean is summed, and how many values it has.
  Vector firsts = Vector::Zero(n), counts = Vector::Zero(n);
  double *const first = firsts.data(), *const there = counts.data(), *const sum = mean.data();
  for_entries(rows, ids, [=](Index j, double x) {
    if (there[j]++ == 0) first[j] = x;
    sum[j] += x - first[j];
  });
  for (Index j = 0; j < n; ++j) sum[j] = there[j] / looked * first[j] + sum[j] / looked;
  double* const square = spread.data();
  for_entries(rows, ids, [=](Index j, double x) { square[j] += (x - sum[j]) * (x - sum[j]); });
  for (Index j = 0; j < n; ++j) square[j] = std::sqrt((square[j] + (looked - there[j]) * sum[j] * sum[j]) / looked);
}

// Pieces that are seen from elsewhere as they come.
class ShiftedSource final : public Source {
 public:
  ShiftedSource(std::shared_ptr<const Source> of, const Vector& at)
      : of_(std::move(of)), like_(of_->like().seen_from(at)), at_(at) {}
  Index samples() const override { return of_->samples(); }
  const Gaussians& like() const override { return like_; }
  double numbers() const override { return of_->numbers(); }
  double rank() const override { return of_->rank(); }
  Index room() const override { return of_->room(); }
  void all(const Cuts& cuts, const Use& use) const override {
    of_->all(cuts,
             [&](const Piece& piece) { use({piece.data.seen_from(at_), piece.ids, piece.first, piece.prepare}); });
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    const std::shared_ptr<const Source> taken = of_->take(positions);
    return std::make_shared<MemorySource>(taken->whole()->seen_from(at_), taken);
  }

 private:
  std::shared_ptr<const Source> of_;
  Gaussians like_;
  Vector at_;
};

Centre centre_of(const Gaussians& data) {
  const Rows& rows = data.means();
  Centre result;
  if (rows.has_origin()) return result;
  Vector mean = Vector::Zero(data.features()), spread = Vector::Zero(data.features());
  moments(rows, data.ids(), mean, spread);
  const bool sparse = rows.sparse();
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

void Source::some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const {
  if (const Gaussians* const data = whole()) {
    std::vector<Index> ids;
    ids.reserve(positions.size());
    for (const Index i : positions) ids.push_back(data->ids()[static_cast<std::size_t>(i)]);
    return use({*data, ids, 0});
  }
  for (Index k = 0; k < cuts.blocks;) {  // whole blocks, one at least
    const Index first = cuts.first(k);
    Index end = k + 1;
    while (end < cuts.blocks && cuts.end(end) - first <= room()) ++end;
    const auto piece = take({positions.begin() + first, positions.begin() + cuts.end(end - 1)});
    use({*piece->whole(), piece->whole()->ids(), first});
    poll();
    k = end;
  }
}

Centre centre_of(const Source& source) {
  if (source.whole()) return centre_of(*source.whole());
  std::vector<Index> rows;
  const Index count = source.samples(), looked = std::min(count, kLookedAt);
  for (Index k = 0; k < looked; ++k) rows.push_back(k * count / looked);
  return centre_of(*source.take(rows)->whole());
}

std::shared_ptr<const Source> seen_from(const std::shared_ptr<const Source>& source, const Vector& at) {
  if (source->remote()) return source->moved(at);
  if (source->whole()) return std::make_shared<MemorySource>(source->whole()->seen_from(at), source);
  return std::make_shared<ShiftedSource>(source, at);
}

Response Source::ask(const Engine&, Request) const { throw InvalidArgument("source: the samples are here"); }

}  // namespace svmgsu
