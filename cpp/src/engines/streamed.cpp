// Samples in files, a window of them in memory at a time, and how a budget of memory is shared out.
#include "engines/streamed.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/source.hpp"
#include "solvers/choices.hpp"
#include "support/parallel.hpp"
#include "support/poll.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{4} << 20;  // bytes that are read together, at the most
constexpr std::int64_t kGap = 16 << 10;                  // bytes that are read and not wanted rather than left out
constexpr std::size_t kRunsAhead = 64;                   // of chosen rows: a disk answers many requests at once

// Memory that is not initialised.
using Bytes = std::unique_ptr<char[]>;
Bytes new_bytes(std::int64_t size) { return Bytes(new char[static_cast<std::size_t>(size)]); }

[[noreturn]] void fail(const FlatFile& file, const std::string& what) {
  throw InvalidArgument(file.path + ": " + what);
}

class OpenFile {
 public:
  explicit OpenFile(const FlatFile& file);
  ~OpenFile() { ::close(file_descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const FlatFile& file() const { return file_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  // Reads rows first .. end, in any thread.
  void read(Index first, Index end, char* to);
  // Tells the system that these rows are wanted soon.
  void announce(Index first, Index end) const;
  // Copies some rows, by increasing positions, in the order of the file.
  void gather(const std::vector<Index>& rows, char* out);
  // Refuses a file that is no longer what it was when it was opened.
  void require_unchanged() const;

 private:
  std::int64_t begin_of(Index row) const { return file_.offset + row * file_.row_bytes(); }
  struct Seen {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  };
  Seen look() const;

  FlatFile file_;
  std::atomic<std::uint64_t> bytes_read_{0};
  int file_descriptor_ = -1;
  Seen seen_;
};

OpenFile::OpenFile(const FlatFile& file) : file_(file) {
  if (file.offset < 0 || file.offset % file.number_bytes() != 0)
    fail(file, "offset " + std::to_string(file.offset) + " is not a multiple of a number's size");
  if (file.rows <= 0 || file.columns <= 0)
    fail(file, std::to_string(file.rows) + " rows of " + std::to_string(file.columns) + " numbers; there must be some");
  constexpr std::int64_t kMost = std::int64_t{1} << 62;  // bytes, so that no place in a file is beyond an integer
  if (file.offset > kMost || file.columns > kMost / file.number_bytes() || file.rows > kMost / file.row_bytes())
    fail(file, std::to_string(file.rows) + " rows of " + std::to_string(file.columns) + " numbers from byte " +
                   std::to_string(file.offset) + " on: no file is so large");
  file_descriptor_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_descriptor_ < 0) fail(file, std::strerror(errno));
  seen_ = look();
  const std::int64_t wanted = file.offset + file.rows * file.row_bytes();
  if (seen_.size < wanted) {
    ::close(file_descriptor_);
    fail(file, std::to_string(seen_.size) + " bytes, but " + std::to_string(file.rows) + " rows of " +
                   std::to_string(file.columns) + " numbers from byte " + std::to_string(file.offset) + " on need " +
                   std::to_string(wanted) + ": the file is truncated");
  }
}

OpenFile::Seen OpenFile::look() const {
  struct stat found{};
  if (::fstat(file_descriptor_, &found) != 0) fail(file_, std::strerror(errno));
#ifdef __APPLE__
  return {found.st_size, found.st_mtimespec.tv_sec, found.st_mtimespec.tv_nsec};
#else
  return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
#endif
}

void OpenFile::require_unchanged() const {
  const Seen now = look();
  if (now.size != seen_.size)
    fail(file_, "the file has changed while it was read: " + std::to_string(now.size) + " bytes, and " +
                    std::to_string(seen_.size) + " before");
  if (now.seconds != seen_.seconds || now.nanoseconds != seen_.nanoseconds)
    fail(file_, "the file has changed while it was read: it was written to in the meantime");
}

void OpenFile::read(Index first, Index end, char* to) {
  for (std::int64_t at = begin_of(first), last = begin_of(end); at < last;) {
    const ssize_t got = ::pread(file_descriptor_, to, static_cast<std::size_t>(std::min(kAtOnce, last - at)), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file_, std::string("reading failed: ") + std::strerror(errno));
    if (got == 0) require_unchanged();
    if (got == 0) fail(file_, "reading failed: the file ends early");
    bytes_read_ += static_cast<std::uint64_t>(got);
    at += got;
    to += got;
  }
}

void OpenFile::announce(Index first, Index end) const {
#ifdef POSIX_FADV_WILLNEED
  if (first >= end) return;  // which would mean all up to the end of the file
  posix_fadvise(file_descriptor_, begin_of(first), begin_of(end) - begin_of(first), POSIX_FADV_WILLNEED);
#endif
}

void OpenFile::gather(const std::vector<Index>& rows, char* out) {
  struct Run {
    std::size_t first, last;
  };
  const std::int64_t size = file_.row_bytes();
  std::vector<Run> runs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool joins = !runs.empty() && begin_of(rows[i]) - begin_of(rows[i - 1] + 1) <= kGap &&
                       begin_of(rows[i] + 1) - begin_of(rows[runs.back().first]) <= kAtOnce;
    if (joins)
      runs.back().last = i;
    else
      runs.push_back({i, i});
  }
  const Bytes buffer = new_bytes(std::max(kAtOnce, size));
  std::size_t announced = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    for (; announced < std::min(runs.size(), k + kRunsAhead); ++announced)
      announce(rows[runs[announced].first], rows[runs[announced].last] + 1);
    const Index first = rows[runs[k].first];
    read(first, rows[runs[k].last] + 1, buffer.get());
    for (std::size_t i = runs[k].first; i <= runs[k].last; ++i)
      std::memcpy(out + static_cast<std::int64_t>(i) * size, buffer.get() + (rows[i] - first) * size,
                  static_cast<std::size_t>(size));
    poll();
  }
}

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

class StreamedSource final : public Source {
 public:
  explicit StreamedSource(const FlatSet& set);

  Index samples() const override { return set_.means.rows; }
  const Gaussians& like() const override { return *like_; }
  double numbers() const override { return like_->numbers_per_sample(); }
  double rank() const override { return like_->mean_rank(); }
  Index room() const override { return spare_ / row_bytes_; }
  void all(const Cuts& cuts, const Use& use) const override;
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override;

  std::int64_t row_bytes() const { return row_bytes_; }
  std::uint64_t bytes_read() const {
    std::uint64_t sum = 0;
    for (const auto& file : files_) sum += file->bytes_read();
    return sum;
  }
  // Rows of a window, and bytes for chosen rows.
  void allot(Index window, std::int64_t spare) {
    window_ = window;
    spare_ = spare;
  }
  Index window() const { return window_; }

 private:
  Gaussians at(const std::vector<const char*>& arrays, Index rows, bool with_shared = true) const;
  void look(const Gaussians& data, const std::vector<Index>* positions, Index first) const;
  void require_unchanged() const {
    for (const auto& file : files_) file->require_unchanged();
  }

  FlatSet set_;
  mutable std::atomic<bool> checked_;
  std::vector<std::unique_ptr<OpenFile>> files_;  // of the means and of each term that has one
  std::int64_t row_bytes_ = 0, spare_ = 0;
  Index window_ = 1;
  std::vector<std::vector<double>> zeros_;  // a sample
  std::unique_ptr<Gaussians> like_;
};

StreamedSource::StreamedSource(const FlatSet& set) : set_(set), checked_(!set.check) {
  const Index n = set.means.columns;
  const auto open = [&](const FlatFile& file) {
    files_.push_back(std::make_unique<OpenFile>(file));
    row_bytes_ += file.row_bytes();
    require(file.rows == set.means.rows, file.path + ": " + std::to_string(file.rows) + " rows, but the means have " +
                                             std::to_string(set.means.rows));
  };
  open(set.means);
  for (const FlatTerm& term : set.terms) {
    require(term.scale >= 0 && std::isfinite(term.scale), "covariance: its scale must be >= 0 and finite");
    if (term.shared) {
      require(!term.shared->groups(), "covariance: samples in files share one matrix, not one for each group");
      continue;
    }
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
  like_ = std::make_unique<Gaussians>(at(arrays, 1));
  if (set.check) check(*like_, 1);  // scales, and what all samples share
}

// The samples whose numbers these arrays hold.
Gaussians StreamedSource::at(const std::vector<const char*>& arrays, Index rows, bool with_shared) const {
  const Index n = set_.means.columns;
  std::vector<CovarianceSum::Term> terms;
  std::size_t next = 1;
  for (const FlatTerm& term : set_.terms) {
    if (term.shared) {
      if (with_shared) terms.push_back({*term.shared, term.scale});
      continue;
    }
    const Index rank = term.layout == Covariance::Layout::low_rank ? term.file.columns / n : 0;
    const Index count = rank > 0 ? rank * rows : rows, columns = rank > 0 ? n : term.file.columns;
    terms.push_back({Covariance(term.layout, rows_at(term.file, arrays[next++], count, columns), rank), term.scale});
  }
  return Gaussians(rows_at(set_.means, arrays[0], rows, n), CovarianceSum(std::move(terms)));
}

void StreamedSource::look(const Gaussians& data, const std::vector<Index>* positions, Index first) const {
  if (checked_) return;
  try {
    check(data, 1);
  } catch (const InvalidArgument& fault) {
    throw InvalidArgument(renumbered(fault.what(), positions, first));
  }
}

void StreamedSource::all(const Cuts& cuts, const Use& use) const {
  require_unchanged();
  const Index rows = std::max<Index>(1, window_ / cuts.block) * cuts.block;
  std::vector<Bytes> buffers;
  std::vector<const char*> arrays;
  for (const auto& file : files_) {
    buffers.push_back(new_bytes(std::min(rows, cuts.count) * file->file().row_bytes()));
    arrays.push_back(buffers.back().get());
  }
  for (Index first = 0; first < cuts.count; first += rows) {
    const Index size = std::min(rows, cuts.count - first);
    const Gaussians piece = at(arrays, size);
    const std::function<void(Index, Index)> read = [&](Index begin, Index count) {
      std::vector<const char*> block;
      for (std::size_t f = 0; f < files_.size(); ++f) {
        char* to = buffers[f].get() + begin * files_[f]->file().row_bytes();
        const Index next = std::min(cuts.count, first + begin + rows);
        files_[f]->announce(next, std::min(cuts.count, next + count));
        files_[f]->read(first + begin, first + begin + count, to);
        block.push_back(to);
      }
      if (!checked_) look(at(block, count, false), nullptr, first + begin);
    };
    use({piece, piece.ids(), first, &read});
    require_unchanged();
    poll();
  }
  checked_ = true;
}

std::shared_ptr<const Source> StreamedSource::take(const std::vector<Index>& positions) const {
  require_unchanged();
  const auto owned = std::make_shared<std::vector<Bytes>>();
  std::vector<const char*> arrays;
  const auto count = static_cast<Index>(positions.size());
  for (const auto& file : files_) {
    owned->push_back(new_bytes(file->file().row_bytes() * count));
    file->gather(positions, owned->back().get());
    arrays.push_back(owned->back().get());
  }
  require_unchanged();
  const auto result = std::make_shared<MemorySource>(at(arrays, count), owned);
  look(*result->whole(), &positions, 0);
  return result;
}

namespace {

constexpr std::int64_t kLargestWindow = std::int64_t{32} << 20;  // bytes: no disk reads faster in larger ones
constexpr std::int64_t kSmallestWindow = std::int64_t{64} << 10;
constexpr Index kChosen = 3;           // windows' worth of chosen rows
constexpr std::int64_t kState = 32;    // bytes per sample that are kept of two points: w·x and wᵀΣw
constexpr std::int64_t kEstimate = 8;  // and while the Hessian is estimated: κ
constexpr std::int64_t kMatrices = 4;  // of features × features at a time

// What is wanted beside the windows and the state of each sample.
std::int64_t for_solver(const StreamedSource& source, double sums, int threads) {
  const Index n = source.like().features();
  const std::int64_t matrix = 8 * (n + 1) * (n <= choices::kMostDense ? n + 1 : choices::kMostRows);
  const auto of_blocks = static_cast<std::int64_t>(8 * 2 * sums) * (2 * resolve_threads(threads) + 4);
  const Index subsample = std::max(choices::kSampleRows * (n + 10), choices::subsample_rows(source.samples(), n));
  return kMatrices * matrix + of_blocks + subsample * source.row_bytes();
}

}  // namespace

Streamed::Streamed(const FlatSet& set, int threads) : targets_(set.targets) {
  require(targets_ != nullptr, "targets: expected at least one");
  require(set.window >= 0, "window: must be >= 0, got " + std::to_string(set.window));
  source_ = std::make_shared<StreamedSource>(set);
  targets_->require_samples(source_->samples());
  const std::int64_t count = source_->samples();
  const double sums = source_->like().sum_size();

  const Index block = block_size(source_->like(), source_->numbers(), count, 2 * sums);
  const Index parts = 1 + kChosen;  // of the size of a window
  const std::int64_t fixed =
      for_solver(*source_, sums, threads) + static_cast<std::int64_t>(targets_->bytes()) + (kState + kEstimate) * count;
  least_ = static_cast<std::size_t>(fixed + parts * std::max(kSmallestWindow, block * source_->row_bytes()));
  std::int64_t window = kLargestWindow;
  if (set.memory > 0) {
    require(set.memory >= least_, "memory: " + std::to_string(set.memory) + " bytes, but " + std::to_string(count) +
                                      " samples of " + std::to_string(features()) + " features need at least " +
                                      std::to_string(least_));
    window = std::min(kLargestWindow, (static_cast<std::int64_t>(set.memory) - fixed) / parts);
  }
  const Index rows = set.window > 0 ? set.window : std::max<Index>(1, window / source_->row_bytes());
  source_->allot(std::min(rows, source_->samples()), kChosen * window);
}

Index Streamed::samples() const { return source_->samples(); }
Index Streamed::features() const { return source_->like().features(); }
Index Streamed::window() const { return source_->window(); }
std::uint64_t Streamed::bytes() const { return static_cast<std::uint64_t>(source_->row_bytes() * samples()); }
std::uint64_t Streamed::bytes_read() const { return source_->bytes_read(); }

Objective Streamed::objective(double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss) const {
  return Objective(std::make_shared<Engine>(source_, targets_, lambda, threads, intercept, std::move(loss)));
}

}  // namespace svmgsu
