// Reading of a file of plain numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

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

}  // namespace svmgsu
