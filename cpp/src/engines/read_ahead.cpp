#include "engines/read_ahead.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>

#include "support/poll.hpp"

namespace svmgsu {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{4} << 20;  // bytes between two looks at whether to stop
constexpr std::int64_t kGap = 16 << 10;                  // bytes that are read and not wanted rather than left out
constexpr std::size_t kRunsAhead = 64;                   // of chosen rows: a disk answers many questions at once
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20, kManyPages = 2 * kHugePage;

[[noreturn]] void fail(const FlatFile& file, const std::string& what) {
  throw InvalidArgument(file.path + ": " + what);
}

}  // namespace

PageBuffer::PageBuffer(std::int64_t bytes) {
  void* memory = nullptr;
  const std::int64_t unit = bytes >= kManyPages ? kHugePage : kPage;
  const auto size = static_cast<std::size_t>((bytes + kPage - 1) / kPage * kPage);
  if (posix_memalign(&memory, static_cast<std::size_t>(unit), size) != 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == kHugePage) madvise(memory, size, MADV_HUGEPAGE);  // a window is new memory: few large faults, not many
#endif
  data_.reset(static_cast<char*>(memory));
}

OpenFile::OpenFile(const FlatFile& file, std::atomic<std::uint64_t>& bytes_read)
    : file_(file), bytes_read_(bytes_read) {
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
#ifdef POSIX_FADV_SEQUENTIAL
  posix_fadvise(file_descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

OpenFile::~OpenFile() { ::close(file_descriptor_); }

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

// Bytes [first, end). They are not kept in the system's cache: data that do not fit would only push out all else.
void OpenFile::read_range(std::int64_t first, std::int64_t end, char* to, const std::atomic<bool>* stop) {
  while (first < end && !(stop && *stop)) {
    const auto wanted = static_cast<std::size_t>(std::min(kAtOnce, end - first));
    const ssize_t got = ::pread(file_descriptor_, to, wanted, first);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file_, std::string("reading failed: ") + std::strerror(errno));
    if (got == 0) return;  // the end; whoever wanted more finds out
    bytes_read_ += static_cast<std::uint64_t>(got);
#ifdef POSIX_FADV_DONTNEED
    posix_fadvise(file_descriptor_, first, got, POSIX_FADV_DONTNEED);
#endif
    first += got;
    to += got;
  }
}

void OpenFile::read(Index first, Index end, char* buffer, const std::atomic<bool>* stop) {
  read_range(begin_of(first), begin_of(end), buffer, stop);
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
  PageBuffer buffer(std::max(kAtOnce, size));
  std::size_t announced = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
#ifdef POSIX_FADV_WILLNEED
    for (; announced < std::min(runs.size(), k + kRunsAhead); ++announced) {
      const std::int64_t first = begin_of(rows[runs[announced].first]), end = begin_of(rows[runs[announced].last] + 1);
      posix_fadvise(file_descriptor_, first, end - first, POSIX_FADV_WILLNEED);
    }
#endif
    const Run run = runs[k];
    const std::int64_t first = begin_of(rows[run.first]);
    read_range(first, begin_of(rows[run.last] + 1), buffer.data(), nullptr);
    for (std::size_t i = run.first; i <= run.last; ++i)
      std::memcpy(out + static_cast<std::int64_t>(i) * size, buffer.data() + (begin_of(rows[i]) - first),
                  static_cast<std::size_t>(size));
    poll();
  }
}

namespace {

// Waits until `ready`, and asks now and then whether to go on.
template <class Ready>
void wait_politely(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) {
  while (!changed.wait_for(lock, std::chrono::milliseconds(50), ready)) {
    lock.unlock();
    poll();
    lock.lock();
  }
}

}  // namespace

ReadAhead::ReadAhead(const OpenFiles& files, std::vector<Index> bounds) : files_(files), bounds_(std::move(bounds)) {}

void ReadAhead::begin(int readers) {
  readers_ = readers;
  Index most = 0;
  for (std::size_t k = 1; k < bounds_.size(); ++k) most = std::max(most, bounds_[k] - bounds_[k - 1]);
  try {
    for (Place& place : places_)
      for (const auto& file : files_) place.buffers.emplace_back(most * file->file().row_bytes());
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no memory for a thread, as a rule
    failure_ = std::make_exception_ptr(std::bad_alloc());
  } catch (...) {
    failure_ = std::current_exception();
  }
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const std::vector<const char*>& ReadAhead::wait(std::size_t k) {
  Place& place = places_[k % kPlaces];
  std::unique_lock<std::mutex> lock(mutex_);
  const auto here = [&] { return place.full && place.window == k; };
  wait_politely(changed_, lock, [&] { return here() || failure_; });
  if (!here()) std::rethrow_exception(failure_);
  return place.arrays;
}

void ReadAhead::release(std::size_t k) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Place& place = places_[k % kPlaces];
    if (--place.users == 0) place.full = false;
  }
  changed_.notify_all();
}

void ReadAhead::leave(std::size_t k) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--readers_ == 0) stop_ = true;
    for (Place& place : places_)
      if (place.full && place.window >= k && --place.users == 0) place.full = false;
  }
  changed_.notify_all();
}

void ReadAhead::run() {
  try {
    for (std::size_t k = 0; k + 1 < bounds_.size() && !stop_; ++k) read(k);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::current_exception();
  }
  changed_.notify_all();
}

void ReadAhead::read(std::size_t k) {
  Place& place = places_[k % kPlaces];
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || !place.full; });
  }
  std::vector<const char*> arrays;
  for (std::size_t f = 0; f < files_.size() && !stop_; ++f) {
    files_[f]->read(bounds_[k], bounds_[k + 1], place.buffers[f].data(), &stop_);
    arrays.push_back(place.buffers[f].data());
  }
  if (stop_) return;
  for (const auto& file : files_) file->require_unchanged();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    place.arrays = std::move(arrays);
    place.window = k;
    place.users = readers_;
    place.full = readers_ > 0;
  }
  changed_.notify_all();
}

void Meeting::expect(int members) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_ = members;
}

void Meeting::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --members_;
    begin_if_all_wait();
  }
  changed_.notify_all();
}

// The mutex is held.
void Meeting::begin_if_all_wait() {
  int wanting = 0;
  for (const Waiting& one : waiting_) wanting += !one.pass;
  if (wanting == 0 || wanting < members_) return;
  std::shared_ptr<ReadAhead> pass;
  int readers = 0;
  for (Waiting& one : waiting_) {
    if (one.pass || (pass && one.bounds != pass->bounds())) continue;
    if (!pass) pass = std::make_shared<ReadAhead>(one.files, one.bounds);
    one.pass = pass;
    ++readers;
  }
  pass->begin(readers);
}

std::shared_ptr<ReadAhead> Meeting::join(const OpenFiles& files, const std::vector<Index>& bounds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto mine = waiting_.insert(waiting_.end(), {files, bounds, nullptr});
  try {
    begin_if_all_wait();
    changed_.notify_all();
    wait_politely(changed_, lock, [&] { return mine->pass != nullptr; });
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    const std::shared_ptr<ReadAhead> pass = mine->pass;
    waiting_.erase(mine);
    lock.unlock();
    const ReadAhead::Reader gone(pass);
    throw;
  }
  const std::shared_ptr<ReadAhead> pass = mine->pass;
  waiting_.erase(mine);
  return pass;
}

}  // namespace svmgsu
