// Sizes and errors: what every header needs, without Eigen.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace svmgsu {

using Index = std::int64_t;

// The caller passed something wrong: the message begins with the argument's name and says what is wanted.
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A file cannot be read or written, or is not a model.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A text file has the wrong format; the message begins with file, line and column.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A number for a message: six digits, whatever the locale.
std::string to_text(double value);

inline void require(bool holds, const std::string& message) {
  if (!holds) throw InvalidArgument(message);
}

// The samples of a pass are visited a few at a time: `id[0..count)` are rows of the data. The `ahead`
// ids after them are the next batch, whose rows may be fetched.
struct Batch {
  const Index* id;
  int count;
  int ahead = 0;
};

constexpr int kMaxBatch = 64;

}  // namespace svmgsu
