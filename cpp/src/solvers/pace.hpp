// How fast a solver comes nearer.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace svmgsu {

class Pace {
 public:
  // The proven gap, in units of the one that is asked for.
  void see_gap(double gap) { gaps_.push_back(std::log(gap)); }
  // What a step promises.
  void see_decrement(double decrement) { decrements_.push_back(decrement); }
  void forget_decrements() { decrements_.clear(); }

  // Steps to the proof if it comes as fast as in the last few.
  double steps_left() const {
    const std::size_t count = gaps_.size();
    if (count <= kFew) return std::numeric_limits<double>::infinity();
    const double rate = (gaps_[count - 1 - kFew] - gaps_.back()) / static_cast<double>(kFew);
    return rate > 0 ? gaps_.back() / rate : std::numeric_limits<double>::infinity();
  }

  // Whether what is promised has hardly shrunk for a while.
  bool slow() const {
    const std::size_t count = decrements_.size();
    return count > kTrial && decrements_.back() > decrements_[count - 1 - kTrial] / kTrialGain;
  }

 private:
  static constexpr std::size_t kFew = 3;
  static constexpr std::size_t kTrial = 10;  // steps in which it must shrink
  static constexpr double kTrialGain = 3;    // by this factor
  std::vector<double> gaps_, decrements_;
};

}  // namespace svmgsu
