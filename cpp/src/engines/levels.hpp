// How many numbers there are of each size, in steps of an eighth of an octave. Counts are the same in any order and
// add up over parts of the data, and so whatever is decided by them is, too.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

class Levels {
 public:
  static constexpr int kMost = 0x7FF << 3;  // that of infinity: no number has a larger one
  // That of a number; 0 of those that are not positive, or next to nothing.
  static int of(double x) {
    if (!(x > 0)) return 0;
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<int>(bits >> kShift);
  }
  // The smallest number of a level.
  static double edge(int level) {
    const std::uint64_t bits = static_cast<std::uint64_t>(level) << kShift;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  static double middle(int level) { return (edge(level) + edge(level + 1)) / 2; }

  template <class At>  // at(i): the numbers
  static Levels count(std::size_t size, At at) {
    Levels result;
    for (std::size_t i = 0; i < size; ++i) result.add(of(at(i)), 1);
    return result;
  }
  void add(int level, Index count) {
    if (level == 0) {
      zeros_ += count;
      return;
    }
    const auto at = static_cast<std::size_t>(level - low_);  // below low_ it is beyond the end as well
    if (at >= counts_.size()) return add_beyond(level, count);
    counts_[at] += count;
  }
  // fn(level, count) from the smallest on, of those that have any.
  template <class Fn>
  void each(Fn fn) const {
    if (zeros_ > 0) fn(0, zeros_);
    for (std::size_t k = 0; k < counts_.size(); ++k)
      if (counts_[k] > 0) fn(low_ + static_cast<int>(k), counts_[k]);
  }
  int top() const { return counts_.empty() ? 0 : low_ + static_cast<int>(counts_.size()) - 1; }
  Index below(int level) const {
    Index sum = 0;
    each([&](int at, Index count) { sum += at < level ? count : 0; });
    return sum;
  }
  Index from(int level) const {
    Index sum = 0;
    each([&](int at, Index count) { sum += at >= level ? count : 0; });
    return sum;
  }
  // The level from which on numbers are more than this share of the largest.
  int above(double negligible) const { return std::max(1, of(negligible * edge(top()))); }
  bool empty() const { return counts_.empty() && zeros_ == 0; }

 private:
  static constexpr int kShift = 49, kMore = 64;
  void add_beyond(int level, Index count) {
    const int low = counts_.empty() || level < low_ ? std::max(1, level - kMore) : low_;
    const int high = std::max(top(), level);
    std::vector<Index> wider(static_cast<std::size_t>(high - low + 1), 0);
    for (std::size_t k = 0; k < counts_.size(); ++k) wider[static_cast<std::size_t>(low_ - low) + k] = counts_[k];
    counts_.swap(wider);
    low_ = low;
    counts_[static_cast<std::size_t>(level - low)] += count;
  }
  Index zeros_ = 0;
  int low_ = 0;
  std::vector<Index> counts_;  // of the levels from low_ on; the last one is not 0
};

}  // namespace svmgsu
