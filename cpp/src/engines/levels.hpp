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
    int low = kMost, high = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int level = of(at(i));
      low = std::min(low, level);
      high = std::max(high, level);
    }
    Levels result;
    if (size == 0) return result;
    result.reach(low, high);
    for (std::size_t i = 0; i < size; ++i) ++result.counts_[static_cast<std::size_t>(of(at(i)) - low)];
    return result;
  }
  void add(int level, Index count) {
    if (counts_.empty()) low_ = level;
    reach(std::min(low_, level), std::max(top(), level));
    counts_[static_cast<std::size_t>(level - low_)] += count;
  }
  // fn(level, count) from the smallest on, of those that have any.
  template <class Fn>
  void each(Fn fn) const {
    for (std::size_t k = 0; k < counts_.size(); ++k)
      if (counts_[k] > 0) fn(low_ + static_cast<int>(k), counts_[k]);
  }
  int top() const { return low_ + static_cast<int>(counts_.size()) - 1; }
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
  int above(double negligible) const { return std::max(1, of(negligible * edge(std::max(0, top())))); }
  bool empty() const { return counts_.empty(); }

 private:
  static constexpr int kShift = 49, kMost = 1 << 14;
  void reach(int low, int high) {
    std::vector<Index> wider(static_cast<std::size_t>(high - low + 1), 0);
    for (std::size_t k = 0; k < counts_.size(); ++k) wider[static_cast<std::size_t>(low_ - low) + k] = counts_[k];
    counts_.swap(wider);
    low_ = low;
  }
  int low_ = 0;
  std::vector<Index> counts_;
};

}  // namespace svmgsu
