// How far rounding may have moved the sums of a pass, so that a certificate holds all the same (docs/theory.md).
#pragma once

#include <atomic>
#include <mutex>

#include "engines/engine.hpp"
#include "engines/sweep.hpp"

namespace svmgsu {

// The error of a sum of so many losses, in units of the sum.
double rounding_of_sum(Index terms);

// Of the data alone: √((1/ℓ) Σ c x²) of each feature, with the factors of low-rank covariances and with what is taken
// off every x; and the same of the targets. The first pass looks at them while it has the samples at hand.
struct Columns {
  std::mutex mutex;
  std::atomic<bool> known{false};
  Vector size;
  double targets = 0;

  // Adds Σ c x∘x of a batch to `sum`; ids are rows of the arrays.
  static void look(const Gaussians& data, Batch batch, const double* weight, Vector& sum);
  // From the sums of a whole pass.
  void learn(const Vector& squares, const Targets& of, const Vector& origin);
};

class Rounding {
 public:
  // Of a pass at w that has summed `total`, with the terms of both sides in `sums`; `moved` is by how much b is shifted
  // along w when the answer is given back (of no length: not).
  Rounding(const Source& source, const Cuts& cuts, const Columns& columns, const PassSums& total,
           const std::vector<std::vector<double>>& sums, const Vector& w, double mean_weight, const Vector& moved);

  // Of J, whose penalty is `penalty`.
  double of_value(const Vector& w, double penalty) const;
  // Of the sums by side, from which a bound comes. Once.
  void of_slopes(DualPoint& slopes);

 private:
  double terms_ = 0;    // (1/ℓ) Σ c (|L| + |tL′ − dL′| + s²L″)
  double offset_ = 0;   // what targets add to a residual, times the slopes
  double shift_ = 0;    // the error of b when it is shifted back (as of one rounding), times the slopes
  Vector reach_;        // at least (1/ℓ) Σ c (|L′x| + L″|Σw|) of each feature
  double dots_, sums_;  // errors of a product of two rows and of a sum over samples, in units of their terms
};

}  // namespace svmgsu
