// The numbers that the exact solver was tuned to. What each is worth, in passes over the problems of bench.solvers, is
// in bench/NOTES.md.
#pragma once

#include <algorithm>

#include "svmgsu/support/types.hpp"

namespace svmgsu::choices {

// ε of a start from elsewhere, in units of the margin or of the targets' own: such a point is seldom nearer to the
// optimum, and a smaller ε takes longer to leave it.
constexpr double kWarmEpsilon = 0.2;
// Samples whose κ is below this share of the largest change no digit of a product that a step would feel.
constexpr double kNegligibleKappa = 1e-10;
// b has no penalty of its own. So little of one makes every Hessian definite, and no step shorter.
constexpr double kRidge = 1e-12;
// Iterations without progress of the gap: it falls late where λ is small.
constexpr int kPatience = 70;
// A gap of so many times what rounding allows is mostly rounding, and not worth going on.
constexpr double kMostlyRounding = 1.5;
// Seconds between calls of the monitor: Ctrl-C feels immediate, and the calls cost nothing.
constexpr double kSecondsBetweenCalls = 0.1;

// Below this share of active samples, Hessian products are so much cheaper than passes that Newton's steps are best.
constexpr double kDenseShare = 0.08;
// Steps, or products of one step, after which a factor is made anew: κ has moved on.
constexpr int kFactorLife = 4;
// The same for a sketch, which is poor from the beginning; and the pairs that L-BFGS keeps, which make up for that.
constexpr int kSketchLife = 15;

// With so few features a factor costs less than the passes in which the diagonal would be tried.
constexpr Index kFewFeatures = 50;
// A first step along the diagonal that must be shorter than this: features are correlated, and a factor is wanted.
constexpr double kShort = 0.5;
// In units of the margin: a deviation s below which smoothing is wanted, and ε where no sample has so small a one.
constexpr double kSharp = 0.05;

// Of conjugate gradients, relative: a step is no better than its ε and κ, which change by more.
constexpr double kResidual = 0.03;

// Features up to which a dense factor costs next to nothing, and up to which it is ever worth its cost.
constexpr Index kAlwaysDense = 200;
constexpr Index kMostDense = 1500;
// Rows and numbers of the sketch that replaces it beyond: more rows save no time, more numbers are too much memory.
constexpr Index kMostRows = 700;
constexpr Index kMostNumbers = 10000000;
// Products of two numbers in a matrix product, in the time that a pass reads one.
constexpr double kProducts = 5;
// Passes that making a factor may cost: as long as steps are quasi-Newton ones, which make do with a sketch, and when
// Newton's steps would want many products without a good one; and that a sketch may cost, which more rows make no
// better.
constexpr double kMostAtFirst = 20;
constexpr double kMostPasses = 300;
constexpr double kSketchPasses = 10;
// Samples that tell the diagonal, or the length of a step, to a few per cent.
constexpr Index kFewSamples = 1000;

// Rounding of sums that are longer than those of a pass, in units of that of a pass.
constexpr double kLongerSums = 8;

// Looks of coordinate descent at a gap that does not fall; where it converges at all, it does so in fewer.
constexpr int kDescentPatience = 8;
// A subsample to start from has one of so many samples, so that it costs next to nothing; its optimum is a good start
// from so many samples for each feature on, and no better beyond the second number.
constexpr Index kOfMany = 20;
constexpr Index kSampleRows = 10;
constexpr Index kMostSampleRows = 100;
// The tolerance of its problem, and the smoothing after it.
constexpr double kSampleAccuracy = 0.01;

// Samples of a subsample to start from; 0: there are too few samples for one.
inline Index subsample_rows(Index samples, Index features) {
  const Index unit = features + 10, rows = std::min(samples / kOfMany, kMostSampleRows * unit);
  return rows < kSampleRows * unit ? 0 : rows;
}

}  // namespace svmgsu::choices
