// The few types that every header of the library speaks in.
#pragma once

#include <stdexcept>
#include <string>

#include "svmgsu/support/dense.hpp"

namespace svmgsu {

// What a caller did wrong: the message names the argument and what is wanted.
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A number for such a message: six digits, whatever the locale.
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
