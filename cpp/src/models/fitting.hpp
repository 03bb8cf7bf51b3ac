// The fit behind svmgsu::fit and Python's train: classes are numbers, samples may be anywhere, and a report says what
// could not be done in time.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "svmgsu/models/fit.hpp"

namespace svmgsu {

using Numbers = std::vector<double>;
using Rowlist = std::vector<Index>;

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// What a binary subproblem or a regression asks a solver for; `targets` are ±1, or values.
struct SubProblem {
  const Rowlist* rows;  // increasing positions; null: all
  Numbers targets, weights;
  bool regression;
  double cov_scale;
};

// w·x + b and wᵀΣw of some rows.
struct RowScores {
  Rowlist rows;
  Numbers margin, variance;
};

// Where the samples are.
class FitSource {
 public:
  Index samples = 0, features = 0;
  bool in_memory = true;   // so that several fits may run at a time
  bool uncertain = false;  // whether prediction knows the variances of such samples

  virtual ~FitSource() = default;
  // `start` may be null.
  virtual Result solve(SubProblem problem, const Options& options, const Monitor& monitor,
                       const Result* start) const = 0;
  // w·x and wᵀΣw; `test_noise`: with noise that exists only at test time, as training sees the samples.
  virtual RowScores margins(const Vector& w, const Rowlist* rows, bool test_noise, int threads) const = 0;
  // Hears of points of a subproblem on all samples, each the best so far, to save them.
  virtual void keep(Index, const Vector&, double, double) const {}
};

class FitMemory : public FitSource {
 public:
  // `observed` are the samples as prediction will see them.
  FitMemory(const Gaussians& data, const Gaussians& observed);
  Result solve(SubProblem problem, const Options& options, const Monitor& monitor, const Result* start) const override;
  RowScores margins(const Vector& w, const Rowlist* rows, bool test_noise, int threads) const override;

 private:
  const Gaussians &data_, &observed_;
};

// What is to be learnt: the classes of the rows, from 0, or the targets of a regression.
struct FitTask {
  Index classes = 0;          // 0: a regression
  Rowlist codes;              // the class of each row
  Numbers targets, errors;    // of a regression; errors are standard errors, or none
  Numbers weights;            // of the rows
  Numbers factors;            // of the weights of each class in training, or none
  Rowlist groups;             // of rows that are held out together, or none
  std::vector<Result> start;  // a point (w, b, epsilon) for each subproblem to start from, or none
  Numbers direction;          // on which means are projected to order them for a search; none: one of its own
};

struct FitReport {
  double lambda = 0, cov_scale = 1;      // given, or found by a search, whose scores are here:
  Index folds = 0, best = 0, tried = 0;  // `best` is the candidate's place, `tried` the number of fits
  Numbers scores;  // of all λ with the first scale, of all with the next, ..., in each fold; NaN where not tried
  std::vector<Result> results;                                       // of the subproblems
  const char* status = "";                                           // the worst of theirs
  std::vector<Calibration> calibration;                              // of the subproblems, or none
  bool out_of_time = false;                                          // before all calibrations were made: there is none
  Rowlist late;                                                      // subproblems without a held-out fold in time
  bool undivided = false;                                            // whether the groups could not be held out
  double scatter = std::numeric_limits<double>::quiet_NaN();         // of a regression,
  double scatter_before = std::numeric_limits<double>::quiet_NaN();  // in the last round but one, if not settled
};

struct FitHooks {
  Monitor report;               // hears of fits on all samples, and may stop them
  std::function<void()> check;  // is called between subproblems and iterations of every fit, and may throw
};

// `only_search`: makes the search alone.
FitReport fit_task(const FitSource& source, const FitTask& task, const FitOptions& options, const FitHooks& hooks,
                   bool only_search = false);

}  // namespace svmgsu
