// The numbers that the exact solver was tuned to, by measurement on smooth and on hinge-like data.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu::choices {

constexpr double kFirstEpsilon = 1.0;         // in units of the margin, or of the trivial regression's mean loss
constexpr double kWarmEpsilon = 0.2;          // with a starting point
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
constexpr Index kFewFeatures = 50;      // with so few a factor comes first
constexpr double kStepsWithFactor = 7;  // about so many are wanted with a factor
constexpr std::size_t kFirstSteps = 3;  // that tell how fast the diagonal alone makes them
constexpr double kShort = 0.5;          // of the unit step: features are correlated
constexpr double kSharp = 0.05;         // in units of the margin, a deviation s below which smoothing is wanted
constexpr double kEarlyCut = 0.03;      // of ε where the first step leads away from them

// Newton steps by conjugate gradients
constexpr double kResidual = 0.03;  // relative
constexpr int kMostProducts = 200;
constexpr int kManyProducts = 6;  // after which they want a new preconditioner

// Estimates of the Hessian
constexpr Index kMostDense = 1500;  // features up to which a dense factor is worth its cost
constexpr Index kMostRows = 700;    // of the sketch that replaces it beyond

// Other starts
constexpr int kDescentPatience = 8;        // looks of coordinate descent at a gap that does not fall
constexpr Index kSampleRows = 10;          // samples for each feature in a subsample, at the least
constexpr Index kMostSampleRows = 100;     // and at the most
constexpr Index kManyTimes = 10;           // as many samples as these make it worth while
constexpr Index kOfMany = 20;              // and then one of so many is in it
constexpr double kSampleTolerance = 1e-3;  // for its problem
constexpr double kSampleEpsilon = 0.01;    // and the smoothing after it

}  // namespace svmgsu::choices
