// The best point and bound so far, from whichever points they came, what they have cost, whether to go on, and how fast
// a solver comes nearer.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "solvers/choices.hpp"
#include "support/clock.hpp"
#include "support/poll.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

class BestSoFar {
 protected:
  BestSoFar(const Options& options, const Monitor& monitor) : options_(options), monitor_(monitor) {}

  // From w = 0, with a = 0 as the point of the dual problem.
  void begin(const Vector& zero, const Engine::Trivial& trivial) {
    result_.w = zero;
    result_.b = trivial.b;
    result_.objective = trivial.value;
    result_.stop = Stop::converged;
    bound_ = 0;
    above_ = trivial.above;
  }

  double gap() const { return std::max(0.0, result_.objective + above_ - bound_); }
  // Whether little else is left than what rounding may be to blame for; and whether that alone is more than was asked.
  bool mostly_rounding() const { return gap() <= choices::kMostlyRounding * (above_ + below_); }
  bool hopeless() const { return mostly_rounding() && above_ + below_ > options_.tolerance * result_.objective; }

  void keep_bound(const Certificate& found) {
    if (!(found.bound > bound_)) return;
    bound_ = found.bound;
    below_ = found.below;
  }

  void keep(const Certificate& found, const Vector& w, double b) {
    keep_bound(found);
    if (found.value < result_.objective && found.value + found.above < result_.objective + above_) {
      result_.objective = found.value;
      above_ = found.above;
      result_.w = w;
      result_.b = b;
    }
  }

  Progress record() {
    result_.gap = gap();
    result_.history.push_back({result_.iterations, result_.objective, result_.gap, clock_.seconds(), passes_});
    last_call_ = result_.history.back().seconds;
    return result_.history.back();
  }

  bool ask(const Progress& progress) const {
    const Watch quiet([] { return true; });  // the monitor may use the library, and is not asked again meanwhile
    if (!monitor_) return true;
    Progress shown = progress;
    shown.w = std::make_shared<const Vector>(result_.w);
    shown.b = result_.b;
    shown.epsilon = result_.epsilon;
    return monitor_(shown);
  }

  bool finished() {
    const Progress progress = record();
    const bool go_on = ask(progress);
    if (result_.gap <= options_.tolerance * result_.objective) return true;
    if (!go_on)
      result_.stop = Stop::monitor;
    else if (progress.seconds > options_.max_seconds)
      result_.stop = Stop::time;
    else if (result_.iterations >= options_.max_iterations)
      result_.stop = Stop::iterations;
    return result_.stop != Stop::converged;
  }

  // Asked by every poll of a pass, a product or a factorisation: keeps Ctrl-C and time limits alive on large data.
  bool interrupted() {
    const double seconds = clock_.seconds();
    if (seconds > options_.max_seconds) result_.stop = Stop::time;
    if (seconds - last_call_ >= choices::kSecondsBetweenCalls) {
      last_call_ = seconds;
      // Within an iteration the number is that of the last complete one.
      const Index complete = result_.history.empty() ? 0 : result_.history.back().iteration;
      if (!ask({complete, result_.objective, gap(), seconds, passes_})) result_.stop = Stop::monitor;
    }
    return result_.stop != Stop::converged;
  }

  const Options& options_;
  const Monitor& monitor_;
  const Clock clock_;
  Result result_;
  double passes_ = 0;

 private:
  double bound_ = 0, above_ = 0, below_ = 0, last_call_ = 0;
};

// How fast a solver comes nearer.
class Pace {
 public:
  // The proven gap, in units of the one that is asked for.
  void see_gap(double gap) { gaps_.push_back(gap); }
  // What a step promises.
  void see_decrement(double decrement) { decrements_.push_back(decrement); }
  void forget_decrements() { decrements_.clear(); }

  // Steps to the gap that is asked for, `goal`, if it falls as fast as in the last few, or until a step promises but a
  // tenth of it: where λ is small, the proof comes late, and its pace tells nothing. One promise fewer is known by
  // then.
  double steps_left(double goal) const {
    return std::min(steps(gaps_, kFew, 1), steps(decrements_, kFew - 1, 0.1 * goal));
  }

  // Whether there were enough steps to tell.
  bool known() const { return gaps_.size() > kFew; }
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

  static constexpr std::size_t kFew = 3;     // steps that tell how fast the gap falls, or what steps promise
  static constexpr std::size_t kTrial = 10;  // steps in which it must shrink
  static constexpr double kTrialGain = 3;    // by this factor
  std::vector<double> gaps_, decrements_;
};

}  // namespace svmgsu
