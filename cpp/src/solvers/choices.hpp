// The numbers that the exact solver was tuned to, by measurement on smooth and on hinge-like data.
#pragma once

#include <algorithm>

#include "svmgsu/support/types.hpp"

namespace svmgsu::choices {

constexpr double kWarmEpsilon = 0.2;          // with a starting point, in units of the margin or of the targets' own
constexpr double kAbsurd = 1e4;               // a starting point so many times worse than w = 0 is not one
constexpr double kNegligibleKappa = 1e-10;    // of the largest
constexpr double kRidge = 1e-12;              // of b
constexpr int kPatience = 70;                 // iterations without progress of the gap
constexpr double kMostlyRounding = 1.5;       // times what rounding allows: a gap from which it is not worth going on
constexpr double kTrivialRounding = 1e-13;    // of J at w = 0
constexpr double kSecondsBetweenCalls = 0.2;  // of the monitor within an iteration

// Quasi-Newton steps
constexpr double kDenseShare = 0.08;     // of active samples, below which Hessian products are cheap
constexpr std::size_t kFactorLife = 4;   // steps with one factor
constexpr std::size_t kSketchLife = 15;  // the same with a sketch

// The first phase, with the diagonal alone
constexpr Index kFewFeatures = 50;  // with so few a factor comes first
constexpr double kShort = 0.5;      // of the unit step: features are correlated
constexpr double kSharp = 0.05;     // in units of the margin, a deviation s below which smoothing is wanted
constexpr double kEarlyCut = 0.03;  // of ε where the first step leads away from them

// Newton steps by conjugate gradients
constexpr double kResidual = 0.03;  // relative
constexpr int kMostProducts = 200;
constexpr int kManyProducts = 6;  // after which they want a new preconditioner

// Estimates of the Hessian
constexpr Index kAlwaysDense = 200;  // features up to which a dense factor costs next to nothing
constexpr Index kMostDense = 1500;   // features up to which it is worth its cost
constexpr Index kMostRows = 700;     // of the sketch that replaces it beyond
constexpr Index kFewSamples = 1000;  // that tell the diagonal, or the length of a step, to a few per cent

// Rounding of sums that are longer than those of a pass, in units of that of a pass
constexpr double kLongerSums = 8;

// Other starts
constexpr int kDescentPatience = 8;       // looks of coordinate descent at a gap that does not fall
constexpr Index kSampleRows = 10;         // samples for each feature in a subsample, at the least
constexpr Index kMostSampleRows = 100;    // and at the most
constexpr Index kOfMany = 20;             // one of so many is in it
constexpr double kSampleAccuracy = 0.01;  // tolerance of its problem, and the smoothing after it

// Samples of a subsample to start from; 0: there are too few samples for one.
inline Index subsample_rows(Index samples, Index features) {
  const Index unit = features + 10, rows = std::min(samples / kOfMany, kMostSampleRows * unit);
  return rows < kSampleRows * unit ? 0 : rows;
}

}  // namespace svmgsu::choices
