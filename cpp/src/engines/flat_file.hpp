// Reading of a file of plain numbers: in aligned pieces past the system's cache, or plainly where that cannot be.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "svmgsu/engines/streamed.hpp"

namespace svmgsu {

constexpr std::int64_t kPage = 4096;  // what direct reading is aligned to

// Memory that direct reading may fill.
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
  OpenFile(const FlatFile& file, bool direct, std::atomic<std::uint64_t>& bytes_read);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const FlatFile& file() const { return file_; }
  // Room that rows need so that read() can fill it.
  std::int64_t room(Index rows) const { return rows * file_.row_bytes() + 2 * kPage; }
  // Reads rows first .. end into `buffer` and tells where in it they begin; null once `stop` says so.
  const char* read(Index first, Index end, char* buffer, const std::atomic<bool>* stop = nullptr);
  // Copies some rows, by increasing positions, in the order of the file.
  void gather(const std::vector<Index>& rows, char* out);
  // Refuses a file that is no longer what it was when it was opened.
  void require_unchanged() const;

 private:
  void read_range(std::int64_t first, std::int64_t end, char* to, const std::atomic<bool>* stop);
  struct Seen {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  };
  Seen look() const;

  FlatFile file_;
  std::atomic<std::uint64_t>& bytes_read_;
  int plain_ = -1;
  std::atomic<int> direct_{-1};  // −1: not to be had
  int direct_opened_ = -1;
  Seen seen_;
};

}  // namespace svmgsu
