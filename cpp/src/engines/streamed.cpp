// How a budget of memory is shared out.
#include "engines/streamed.hpp"

#include <algorithm>

#include "engines/streamed_source.hpp"
#include "solvers/choices.hpp"
#include "support/parallel.hpp"

namespace svmgsu {
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
  const Index unit = n + 10;
  const Index subsample = std::max(choices::kSampleRows * unit,
                                   std::min(choices::kMostSampleRows * unit, source.samples() / choices::kOfMany));
  return kMatrices * matrix + of_blocks + subsample * source.row_bytes();
}

}  // namespace

Streamed::Streamed(FlatSet set, int threads) : targets_(set.targets) {
  require(targets_ != nullptr, "targets: there are none");
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
  require(targets != nullptr, "targets: there are none");
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
