// How fast a solver comes nearer.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace svmgsu {

class Pace {
 public:
  // The proven gap, in units of the one that is asked for.
  void see_gap(double gap) { gaps_.push_back(gap); }
  // What a step promises.
  void see_decrement(double decrement) { decrements_.push_back(decrement); }
  void forget_decrements() { decrements_.clear(); }

  // Steps to the proof if it comes as fast as in the last few.
  double steps_left() const { return steps(gaps_, kFew, 1); }
  // Steps until one promises no more than `little`: where λ is small, the proof comes late, and its pace tells nothing.
  double steps_to(double little) const { return steps(decrements_, kFewSteps, little); }

  // Whether what is promised has hardly shrunk for a while.
  bool slow() const {
    const std::size_t count = decrements_.size();
    return count > kTrial && decrements_.back() > decrements_[count - 1 - kTrial] / kTrialGain;
  }

 private:
  static double steps(const std::vector<double>& seen, std::size_t few, double goal) {
    const std::size_t count = seen.size();
    if (count <= few) return std::numeric_limits<double>::infinity();
    const double rate = std::log(seen[count - 1 - few] / seen.back()) / static_cast<double>(few);
    return rate > 0 ? std::max(0.0, std::log(seen.back() / goal)) / rate : std::numeric_limits<double>::infinity();
  }

  static constexpr std::size_t kFew = 3, kFewSteps = 2;
  static constexpr std::size_t kTrial = 10;  // steps in which it must shrink
  static constexpr double kTrialGain = 3;    // by this factor
  std::vector<double> gaps_, decrements_;
};

}  // namespace svmgsu
