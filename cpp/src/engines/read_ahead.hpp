// Reading of files of plain numbers, and a thread that reads windows of them ahead of whoever works on them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engines/streamed.hpp"

namespace svmgsu {

// Memory of whole pages, not initialised.
class PageBuffer {
 public:
  PageBuffer() = default;
  explicit PageBuffer(std::int64_t bytes);
  char* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char[], Free> data_;
};

class OpenFile {
 public:
  OpenFile(const FlatFile& file, std::atomic<std::uint64_t>& bytes_read);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const FlatFile& file() const { return file_; }
  // Reads rows first .. end into `buffer`, or a part of them once `stop` says so.
  void read(Index first, Index end, char* buffer, const std::atomic<bool>* stop = nullptr);
  // Copies some rows, by increasing positions, in the order of the file.
  void gather(const std::vector<Index>& rows, char* out);
  // Refuses a file that is no longer what it was when it was opened.
  void require_unchanged() const;

 private:
  std::int64_t begin_of(Index row) const { return file_.offset + row * file_.row_bytes(); }
  void read_range(std::int64_t first, std::int64_t end, char* to, const std::atomic<bool>* stop);
  struct Seen {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  };
  Seen look() const;

  FlatFile file_;
  std::atomic<std::uint64_t>& bytes_read_;
  int file_descriptor_ = -1;
  Seen seen_;
};

using OpenFiles = std::vector<std::unique_ptr<OpenFile>>;

// A thread that reads windows one after another into one of some places, while another is worked on, by one reader or
// by several that all go over the same data.
class ReadAhead {
 public:
  static constexpr std::size_t kPlaces = 4;  // whoever is ahead, reading or computing, waits for the other less often

  // Window k are the rows bounds[k] .. bounds[k + 1].
  ReadAhead(const OpenFiles& files, std::vector<Index> bounds);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // One who goes over all windows in their order; gone with this object, wherever it is.
  class Reader {
   public:
    explicit Reader(std::shared_ptr<ReadAhead> of) : of_(std::move(of)) {}
    ~Reader() {
      if (of_) of_->leave(next_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    // Where the arrays of the next window lie, until it is released; waits for them.
    const std::vector<const char*>& wait() { return of_->wait(next_); }
    void release() { of_->release(next_++); }

   private:
    std::shared_ptr<ReadAhead> of_;
    std::size_t next_ = 0;
  };
  // Begins, for so many readers. Where it cannot, each of them hears so by wait().
  void begin(int readers);
  const std::vector<Index>& bounds() const { return bounds_; }

 private:
  struct Place {
    std::vector<PageBuffer> buffers;
    std::vector<const char*> arrays;
    std::size_t window = 0;
    int users = 0;  // that have yet to release it
    bool full = false;
  };

  const std::vector<const char*>& wait(std::size_t k);
  void release(std::size_t k);
  void leave(std::size_t k);
  void run();
  void read(std::size_t k);

  const OpenFiles& files_;
  std::vector<Index> bounds_;
  Place places_[kPlaces];
  int readers_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

// Solvers that go over the same data at the same time: a pass waits until each of them wants one, or has finished, and
// reads the data once for all who want it in the same windows.
class Meeting {
 public:
  // So many take part.
  void expect(int members);
  // One of them has finished.
  void leave();
  // The pass over windows `bounds` that this member is to take part in.
  std::shared_ptr<ReadAhead> join(const OpenFiles& files, const std::vector<Index>& bounds);

 private:
  struct Waiting {
    const OpenFiles& files;
    const std::vector<Index>& bounds;
    std::shared_ptr<ReadAhead> pass;
  };
  void begin_if_all_wait();

  std::mutex mutex_;
  std::condition_variable changed_;
  int members_ = 1;
  std::list<Waiting> waiting_;
};

}  // namespace svmgsu
