// solve(objective, Options, Monitor) → Result: the door to all solvers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

enum class Solver {
  newton,  // exact and certified: Newton with smoothing
  sgd,     // the paper's Algorithm 1, corrected: stochastic gradient descent
};

struct Options {
  double lambda = 1e-2;
  LossPointer loss;  // a name, or of make_loss; none: the hinge for labels, the squared loss for values
  Solver solver = Solver::newton;
  bool intercept = true;
  bool check = true;           // train: look for NaN, negative variances and the like first (gaussians.hpp)
  int threads = 0;             // 0: all that OpenMP offers
  double tolerance = 1e-6;     // stop when gap ≤ tolerance · objective (newton)
  Index max_iterations = 500;  // newton
  double max_seconds = std::numeric_limits<double>::infinity();
  double start_epsilon = 0;  // newton: a start's smoothing, as a Result has it; 0: the usual one

  Index steps = 0;         // sgd: the paper's T; 0 chooses by the number of samples
  Index batch = 0;         // sgd: the paper's k; 0: min(ℓ, 100)
  double average = 0.5;    // sgd: the last share of the iterates that is averaged
  std::uint64_t seed = 0;  // sgd
};

struct Progress {
  Index iteration = 0;
  double objective = 0;  // NaN where a solver does not know it (sgd, between passes)
  double gap = 0;        // likewise
  double seconds = 0;
  double passes = 0;  // readings of the whole data so far
  // newton: the best point so far and its smoothing, for a monitor that saves them; a history has none.
  std::shared_ptr<const Vector> w = nullptr;
  double b = 0;
  double epsilon = 0;
};

// Called between iterations; returns false to stop early with the best point so far.
using Monitor = std::function<bool(const Progress&)>;

enum class Stop {
  converged,   // the gap is as small as asked
  iterations,  // limits of the options: raise them
  time,
  monitor,   // the monitor has said so
  stalled,   // steps gain no more, though arithmetic would allow it: scale the features, or take a larger λ
  rounding,  // what is left of the gap is mostly rounding: no solver can prove more in this arithmetic
};

// The same in a word: converged, limit (of iterations or time), stopped (by the monitor), stalled or rounding.
const char* status_of(Stop stop);

struct Result {
  Vector w;
  double b = 0;
  double objective = 0;
  double gap = 0;  // proven: objective − optimum ≤ gap, rounding included
  Index iterations = 0;
  Stop stop = Stop::converged;
  double epsilon = 0;  // newton: the smoothing at the end
  const char* status() const { return status_of(stop); }
  std::vector<Progress> history;
};

// `start` (w, b) warm-starts the newton solver where given; one that is not finite or worse than w = 0 is not used.
Result solve(const Objective& objective, const Options& options, const Monitor& monitor = {},
             const Vector* start_w = nullptr, double start_b = 0);

// A proof of how far a point from elsewhere is from the optimum, to about a factor of two: a few passes where J is
// smooth and the point good, and otherwise a part of a training that starts from it.
Certificate prove(const Objective& objective, const Vector& w, double b);

// The whole of training in one call, on data in memory. What it cannot learn from is an InvalidArgument.
Result train(const TrainingSet& set, const Options& options, const Monitor& monitor = {});
Result train(const Gaussians& data, const Targets& targets, const Options& options, const Monitor& monitor = {});

}  // namespace svmgsu
