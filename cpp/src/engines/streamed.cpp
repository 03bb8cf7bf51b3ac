// Samples in files, a window of them in memory at a time, and how a budget of memory is shared out.
#include "engines/streamed.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "data/faults.hpp"
#include "engines/read_ahead.hpp"
#include "engines/source.hpp"
#include "solvers/choices.hpp"
#include "support/parallel.hpp"
#include "support/poll.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

class StreamedSource final : public Source {
 public:
  StreamedSource(const FlatSet& set, int threads);

  Index samples() const override { return set_.means.rows; }
  const Gaussians& like() const override { return *like_; }
  double numbers() const override { return like_->numbers_per_sample(); }
  double rank() const override { return like_->mean_rank(); }
  bool has_room(Index rows) const override { return rows * row_bytes_ <= spare_; }
  void all(const Cuts& cuts, const Use& use) const override;
  void some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const override;
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override;

  std::int64_t row_bytes() const { return row_bytes_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  // Rows of a window, and bytes for chosen rows.
  void allot(Index window, std::int64_t spare) {
    window_ = window;
    spare_ = spare;
  }
  Index window() const { return window_; }
  Meeting& meeting() const { return meeting_; }
  // Of whoever works on the windows, for what is done to them before.
  void set_threads(int threads) { threads_ = threads; }

 private:
  template <class Groups>
  Gaussians at(const std::vector<const char*>& arrays, Index rows, Groups group_of) const;
  void look(const Gaussians& data, const std::vector<Index>* positions, Index first) const;
  void look_at_shared(const Gaussians& data) const;
  void require_unchanged() const {
    for (const auto& file : files_) file->require_unchanged();
  }

  FlatSet set_;
  std::atomic<int> threads_;
  mutable std::atomic<std::uint64_t> bytes_read_{0};
  mutable std::atomic<bool> checked_{false};
  mutable Meeting meeting_;
  OpenFiles files_;  // of the means and of each term that has one
  std::int64_t row_bytes_ = 0, spare_ = 0;
  Index window_ = 1;
  std::vector<std::vector<double>> zeros_;  // a sample
  std::unique_ptr<Gaussians> like_;
};

namespace {

// How many numbers of the file a sample has.
Index columns_of(const FlatTerm& term, Index n) {
  switch (term.layout) {
    case Covariance::Layout::isotropic:
      return 1;
    case Covariance::Layout::diagonal:
      return n;
    case Covariance::Layout::full:
      return n * (n + 1) / 2;
    case Covariance::Layout::low_rank:
      break;
  }
  return std::max<Index>(n, term.file.columns / n * n);
}

Rows rows_at(const FlatFile& file, const char* array, Index count, Index columns) {
  if (file.narrow) return {reinterpret_cast<const float*>(array), count, columns};
  return {reinterpret_cast<const double*>(array), count, columns};
}

// "sample 3 has ..." of a window or of chosen rows, with the number that the sample has in the files.
std::string renumbered(const std::string& message, const std::vector<Index>* positions, Index first) {
  const std::string mark = "sample ";
  const std::size_t at = message.find(mark);
  if (at == std::string::npos) return message;
  std::size_t end = at + mark.size();
  Index number = 0;
  for (; end < message.size() && message[end] >= '0' && message[end] <= '9'; ++end)
    number = 10 * number + (message[end] - '0');
  const Index global = positions ? (*positions)[static_cast<std::size_t>(number)] : number + first;
  return message.substr(0, at + mark.size()) + std::to_string(global) + message.substr(end);
}

}  // namespace

StreamedSource::StreamedSource(const FlatSet& set, int threads) : set_(set), threads_(threads) {
  const Index n = set.means.columns;
  const auto open = [&](const FlatFile& file) {
    files_.push_back(std::make_unique<OpenFile>(file, bytes_read_));
    row_bytes_ += file.row_bytes();
    require(file.rows == set.means.rows, file.path + ": " + std::to_string(file.rows) + " rows, but the means have " +
                                             std::to_string(set.means.rows));
  };
  open(set.means);
  for (const FlatTerm& term : set.terms) {
    require(term.scale >= 0 && term.scale < std::numeric_limits<double>::infinity(),
            "covariance: a factor must be >= 0 and finite, got " + to_text(term.scale));
    if (term.shared) continue;
    open(term.file);
    const Index columns = columns_of(term, n);
    require(term.file.columns == columns, term.file.path + ": " + std::to_string(term.file.columns) +
                                              " numbers per row, but " + std::to_string(n) + " features want " +
                                              std::to_string(columns));
  }
  std::vector<const char*> arrays;
  for (const auto& file : files_) {
    zeros_.emplace_back(static_cast<std::size_t>((file->file().row_bytes() + 7) / 8), 0.0);
    arrays.push_back(reinterpret_cast<const char*>(zeros_.back().data()));
  }
  like_ = std::make_unique<Gaussians>(at(arrays, 1, [](const Covariance& kind) { return kind.groups(); }));
}

// The samples whose numbers these arrays hold; `group_of(kind)` are the groups of those that share covariances.
template <class Groups>
Gaussians StreamedSource::at(const std::vector<const char*>& arrays, Index rows, Groups group_of) const {
  const Index n = set_.means.columns;
  std::vector<CovarianceSum::Term> terms;
  std::size_t next = 1;
  for (const FlatTerm& term : set_.terms) {
    if (term.shared) {
      terms.push_back(
          {term.shared->groups() ? term.shared->shared(group_of(*term.shared), rows) : *term.shared, term.scale});
      continue;
    }
    const Index rank = term.layout == Covariance::Layout::low_rank ? term.file.columns / n : 0;
    const Index count = rank > 0 ? rank * rows : rows, columns = rank > 0 ? n : term.file.columns;
    terms.push_back({Covariance(term.layout, rows_at(term.file, arrays[next++], count, columns), rank), term.scale});
  }
  return Gaussians(rows_at(set_.means, arrays[0], rows, n), CovarianceSum(std::move(terms)));
}

void StreamedSource::look(const Gaussians& data, const std::vector<Index>* positions, Index first) const {
  if (!set_.check || checked_) return;
  try {
    check(data, threads_);
  } catch (const InvalidArgument& fault) {
    throw InvalidArgument(renumbered(fault.what(), positions, first));
  }
}

void StreamedSource::look_at_shared(const Gaussians& data) const {
  if (!set_.check || checked_) return;
  for (const auto& term : data.covariance())
    if (term.kind.is_shared()) {
      const std::string fault = term.kind.fault(data.ids(), data.features(), threads_);
      require(fault.empty(), "covariance: " + fault);
    }
}

void StreamedSource::all(const Cuts& cuts, const Use& use) const {
  require_unchanged();
  const Index blocks = std::max<Index>(1, window_ / cuts.block);
  std::vector<Index> bounds;
  for (Index k = 0; k < cuts.blocks; k += blocks) bounds.push_back(cuts.first(k));
  bounds.push_back(cuts.count);
  const bool checks = set_.check && !checked_;
  ReadAhead::Reader ahead(meeting_.join(files_, bounds));
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    const std::vector<const char*>& arrays = ahead.wait();
    const Index first = bounds[k];
    const Gaussians piece =
        at(arrays, bounds[k + 1] - first, [&](const Covariance& kind) { return kind.groups() + first; });
    look_at_shared(piece);
    // Each block is checked by the thread that is about to work on it, so that its numbers are read from memory once.
    const std::function<void(Index, Index)> look_at_block = [&](Index at, Index count) {
      const auto begin = piece.ids().begin() + at;
      const std::string fault = fault_of(piece, {begin, begin + count});
      if (!fault.empty()) throw InvalidArgument(renumbered(fault, nullptr, first));
    };
    use({piece, piece.ids(), first, checks ? &look_at_block : nullptr});
    poll();
    ahead.release();
  }
  checked_ = true;
}

void StreamedSource::some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const {
  const Index most = std::max<Index>(1, spare_ / std::max<std::int64_t>(1, row_bytes_));
  for_pieces(positions, cuts, most, [&](const std::vector<Index>& rows, Index first) {
    const std::shared_ptr<const Source> piece = take(rows);
    use({*piece->whole(), piece->whole()->ids(), first});
  });
}

std::shared_ptr<const Source> StreamedSource::take(const std::vector<Index>& positions) const {
  struct Owned {
    std::vector<PageBuffer> arrays;
    std::vector<std::vector<std::int32_t>> groups;
  };
  require_unchanged();
  const auto owned = std::make_shared<Owned>();
  std::vector<const char*> arrays;
  const auto count = static_cast<Index>(positions.size());
  for (const auto& file : files_) {
    PageBuffer rows(file->file().row_bytes() * count);
    file->gather(positions, rows.data());
    owned->arrays.push_back(std::move(rows));
    arrays.push_back(owned->arrays.back().data());
  }
  require_unchanged();
  Gaussians data = at(arrays, count, [&](const Covariance& kind) {
    owned->groups.emplace_back();
    for (const Index i : positions) owned->groups.back().push_back(kind.groups()[i]);
    return owned->groups.back().data();
  });
  const auto result = std::make_shared<MemorySource>(std::move(data), owned);
  look(*result->whole(), &positions, 0);
  return result;
}

namespace {

constexpr std::int64_t kLargestWindow = std::int64_t{64} << 20;  // bytes: no disk reads faster in larger ones
constexpr std::int64_t kSmallestWindow = std::int64_t{64} << 10;
constexpr std::int64_t kFairWindow = std::int64_t{8} << 20;  // for which a second point is not remembered
constexpr Index kWindows = 2;                                // at a time, each in halves (ReadAhead::kPlaces)
constexpr Index kChosen = 2;                                 // and chosen rows of each problem as much as these
constexpr std::int64_t kPoint = 16;                          // bytes per sample that are kept of a point: w·x and wᵀΣw
constexpr std::int64_t kEstimate = 8;                        // and while the Hessian is estimated: κ
constexpr std::int64_t kMatrices = 4;                        // of features × features at a time

std::int64_t block_bytes(const StreamedSource& source, double sums) {
  const Index block = block_size(source.like(), source.numbers(), source.samples(), 2 * sums);
  return std::max(kSmallestWindow, block * source.row_bytes());
}

// What is wanted beside the windows and the state of each sample.
std::int64_t for_solver(const StreamedSource& source, double sums, int threads) {
  const Index n = source.like().features();
  const std::int64_t matrix = 8 * (n + 1) * (n <= choices::kMostDense ? n + 1 : choices::kMostRows);
  const auto of_blocks = static_cast<std::int64_t>(8 * 2 * sums) * (2 * resolve_threads(threads) + 4);
  const Index subsample = std::max(choices::kSampleRows * (n + 10), choices::subsample_rows(source.samples(), n));
  return kMatrices * matrix + of_blocks + subsample * source.row_bytes();
}

}  // namespace

Streamed::Streamed(FlatSet set, int threads) : targets_(set.targets) {
  require(targets_ != nullptr, "targets: expected at least one");
  require(set.window >= 0, "window: must be >= 0, got " + std::to_string(set.window));
  require(set.problems > 0, "problems: must be > 0, got " + std::to_string(set.problems));
  source_ = std::make_shared<StreamedSource>(set, threads);
  targets_->require_samples(source_->samples());
  const std::int64_t count = source_->samples();
  const double sums = source_->like().sum_size();

  const std::int64_t block = block_bytes(*source_, sums);
  const Index parts = kWindows + kChosen * set.problems;
  const std::int64_t of_problem =
      for_solver(*source_, sums, threads) + static_cast<std::int64_t>(targets_->bytes()) + (kPoint + kEstimate) * count;
  const std::int64_t fixed = set.problems * of_problem;
  least_ = static_cast<std::size_t>(fixed + parts * block);
  std::int64_t window = kLargestWindow;
  if (set.memory > 0) {
    require(set.memory >= least_, "memory: " + std::to_string(set.memory) + " bytes, but " + std::to_string(count) +
                                      " samples of " + std::to_string(features()) + " features need at least " +
                                      std::to_string(least_));
    std::int64_t left = static_cast<std::int64_t>(set.memory) - fixed;
    const std::int64_t second = set.problems * kPoint * count;
    lean_ = left - second < parts * kFairWindow;
    if (!lean_) left -= second;
    window = std::min(kLargestWindow, left / parts);
  }
  const Index rows =
      set.window > 0 ? set.window : std::max<Index>(1, window / 2 / std::max<Index>(1, source_->row_bytes()));
  source_->allot(std::min(rows, source_->samples()), kChosen * window);
  source_->meeting().expect(set.problems);
}

std::shared_ptr<Streamed> Streamed::beside(std::shared_ptr<const Targets> targets) const {
  require(targets != nullptr, "targets: expected at least one");
  targets->require_samples(source_->samples());
  auto other = std::make_shared<Streamed>(*this);
  other->targets_ = std::move(targets);
  other->left_ = false;
  return other;
}

void Streamed::leave() {
  if (!left_) source_->meeting().leave();
  left_ = true;
}

Index Streamed::samples() const { return source_->samples(); }
Index Streamed::features() const { return source_->like().features(); }
Index Streamed::window() const { return source_->window(); }
std::uint64_t Streamed::bytes() const { return static_cast<std::uint64_t>(source_->row_bytes() * samples()); }
std::uint64_t Streamed::bytes_read() const { return source_->bytes_read(); }

Objective Streamed::objective(double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss) const {
  source_->set_threads(threads);
  return Objective(source_, targets_, lambda, threads, intercept, std::move(loss), lean_);
}

}  // namespace svmgsu
