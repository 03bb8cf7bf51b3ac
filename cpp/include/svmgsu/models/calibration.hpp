// Probabilities from decision values: Platt's sigmoid, and one that is humbler where the object is blurred.
#pragma once

#include <cmath>

#include "svmgsu/models/platt.hpp"

namespace svmgsu {

// Two sigmoids for one decision value f = w·x + b.
struct Calibration {
  Platt plain;  // where nothing is known of the object's covariance
  // With the variance v = wᵀΣw of the object: σ((a f + b) / √(1 + (π/8) γ a² v)), the mean of a
  // sigmoid over a Gaussian (MacKay's approximation). γ says how much of the error bars is margin noise.
  double a = 1, b = 0, gamma = 1;

  Calibration() = default;
  // Platt's sigmoid alone: nothing was learnt about error bars, so that they count as they are (γ = 1).
  explicit Calibration(const Platt& platt) : plain(platt), a(-platt.a), b(-platt.b) {}

  double log_odds(double decision) const { return -(plain.a * decision + plain.b); }
  double log_odds(double decision, double variance) const {
    constexpr double kPiOver8 = 0.39269908169872414;
    return (a * decision + b) / std::sqrt(1 + kPiOver8 * gamma * a * a * variance);
  }
};

}  // namespace svmgsu
