// Probabilities from decision values: one function for objects known exactly and for blurred ones.
#pragma once

#include <cmath>

#include "svmgsu/models/platt.hpp"

namespace svmgsu {

// The log-odds of the positive class for a decision value f = w·x + b with variance v = wᵀΣw:
//     z(f, v) = base + (a f + b − base) / (1 + κ v)
// Known exactly an object has the sigmoid σ(a f + b); of one that is blurred without end nothing is left but
// the share of the class. That is Bayes' rule for p ∝ share · N(f; μ, τ² + v), with κ = 1/τ².
struct Calibration {
  double a = 1, b = 0;
  double kappa = 0;  // how fast error bars make f worthless
  double base = 0;   // the log-odds of the classes' shares in training

  Calibration() = default;
  Calibration(double a_, double b_, double kappa_, double base_) : a(a_), b(b_), kappa(kappa_), base(base_) {}
  // From Platt's sigmoid alone: nothing was learnt about error bars or shares. If the classes are at f = −1 and
  // 1, as in training, then the slope is 2/τ², so that κ is half of it.
  explicit Calibration(const Platt& platt) : a(-platt.a), b(-platt.b), kappa(std::abs(platt.a) / 2) {}

  Platt platt() const { return {-a, -b}; }
  double log_odds(double decision, double variance = 0) const { return log_odds(decision, variance, base); }
  // `prior` is the log-odds of the shares where the model is used, if they are not those of training.
  double log_odds(double decision, double variance, double prior) const;
};

}  // namespace svmgsu
