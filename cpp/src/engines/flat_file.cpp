#include "engines/flat_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{4} << 20;  // bytes between two looks at whether to stop
constexpr std::int64_t kGap = 16 << 10;                  // bytes that are read and not wanted rather than left out
constexpr Index kReaders = 16;                           // of chosen rows: a disk answers many questions at once
constexpr Index kFewRuns = 32;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20, kManyPages = 2 * kHugePage;

std::int64_t page_of(std::int64_t at) { return at / kPage * kPage; }
std::int64_t next_page(std::int64_t at) { return (at + kPage - 1) / kPage * kPage; }

[[noreturn]] void fail(const FlatFile& file, const std::string& what) {
  throw InvalidArgument(file.path + ": " + what);
}

}  // namespace

PageBuffer::PageBuffer(std::int64_t bytes) {
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(next_page(bytes));
  const std::int64_t unit = bytes >= kManyPages ? kHugePage : kPage;
  if (posix_memalign(&memory, static_cast<std::size_t>(unit), size) != 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == kHugePage) madvise(memory, size, MADV_HUGEPAGE);  // a window is new memory: few large faults, not many
#endif
  data_.reset(static_cast<char*>(memory));
}

OpenFile::OpenFile(const FlatFile& file, bool direct, std::atomic<std::uint64_t>& bytes_read)
    : file_(file), bytes_read_(bytes_read) {
  if (file.offset < 0 || file.offset % file.number_bytes() != 0)
    fail(file, "offset " + std::to_string(file.offset) + " is not a multiple of a number's size");
  if (file.rows <= 0 || file.columns <= 0)
    fail(file, std::to_string(file.rows) + " rows of " + std::to_string(file.columns) + " numbers; there must be some");
  plain_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (plain_ < 0) fail(file, std::strerror(errno));
#ifdef O_DIRECT
  if (direct) direct_opened_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
#endif
  direct_ = direct_opened_;
  seen_ = look();
  const std::int64_t wanted = file.offset + file.rows * file.row_bytes();
  if (seen_.size < wanted) {
    ::close(plain_);
    if (direct_opened_ >= 0) ::close(direct_opened_);
    fail(file, std::to_string(seen_.size) + " bytes, but " + std::to_string(file.rows) + " rows of " +
                   std::to_string(file.columns) + " numbers from byte " + std::to_string(file.offset) + " on need " +
                   std::to_string(wanted) + ": the file is truncated");
  }
#ifdef POSIX_FADV_SEQUENTIAL
  posix_fadvise(plain_, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

OpenFile::~OpenFile() {
  ::close(plain_);
  if (direct_opened_ >= 0) ::close(direct_opened_);
}

OpenFile::Seen OpenFile::look() const {
  struct stat found{};
  if (::fstat(plain_, &found) != 0) fail(file_, std::strerror(errno));
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

// Bytes [first, end) of whole pages (but for the end of the file).
void OpenFile::read_range(std::int64_t first, std::int64_t end, char* to, const std::atomic<bool>* stop) {
  while (first < end && !(stop && *stop)) {
    const int direct = direct_;
    const auto wanted = static_cast<std::size_t>(std::min(kAtOnce, end - first));
    const ssize_t got = ::pread(direct >= 0 ? direct : plain_, to, wanted, first);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && direct >= 0) {
      direct_ = -1;
      continue;
    }
    if (got < 0) fail(file_, std::string("reading failed: ") + std::strerror(errno));
    if (got == 0) return;  // the end; whoever wanted more finds out
    bytes_read_ += static_cast<std::uint64_t>(got);
#ifdef POSIX_FADV_DONTNEED
    if (direct < 0) posix_fadvise(plain_, first, got, POSIX_FADV_DONTNEED);
#endif
    first += got;
    to += got;
    if (direct >= 0 && got % kPage != 0) {  // the end of the file, or a disk that gives less
      if (first < std::min(end, seen_.size)) direct_ = -1;
      if (first >= seen_.size) return;
    }
  }
}

const char* OpenFile::read(Index first, Index end, char* buffer, const std::atomic<bool>* stop) {
  const std::int64_t from = file_.offset + first * file_.row_bytes(), to = file_.offset + end * file_.row_bytes();
  const std::int64_t base = page_of(from);
  read_range(base, next_page(to), buffer, stop);
  return stop && *stop ? nullptr : buffer + (from - base);
}

void OpenFile::gather(const std::vector<Index>& rows, char* out) {
  struct Run {
    std::size_t first, end;
  };
  const std::int64_t size = file_.row_bytes();
  const auto begin_of = [&](std::size_t i) { return file_.offset + rows[i] * size; };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool joins = !runs.empty() && page_of(begin_of(i)) - next_page(begin_of(i - 1) + size) <= kGap &&
                       begin_of(i) + size - begin_of(runs.back().first) <= std::max(kAtOnce, size);
    if (joins)
      runs.back().end = i + 1;
    else
      runs.push_back({i, i + 1});
  }
  std::exception_ptr failure;
  std::mutex mutex;
  const auto count = static_cast<Index>(runs.size());
  parallel_for(count, count > kFewRuns ? static_cast<int>(kReaders) : 1, [&](Index k) {
    try {
      const Run run = runs[static_cast<std::size_t>(k)];
      const std::int64_t base = page_of(begin_of(run.first)), end = next_page(begin_of(run.end - 1) + size);
      const PageBuffer buffer(end - base);
      read_range(base, end, buffer.data(), nullptr);
      for (std::size_t i = run.first; i < run.end; ++i)
        std::memcpy(out + static_cast<std::int64_t>(i) * size, buffer.data() + (begin_of(i) - base),
                    static_cast<std::size_t>(size));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace svmgsu
