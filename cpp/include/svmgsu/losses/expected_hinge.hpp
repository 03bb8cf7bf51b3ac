// The loss of one Gaussian sample (paper, eq. 6) and its derivatives.
//
// With d = 1 − y(w·x + b), s = √(wᵀΣw), r = d/s:
//     L = d Φ(r) + s φ(r),    ∂L/∂d = Φ(r),    ∂L/∂s = φ(r),    ∂²L/∂d² = φ(r)/s = κ.
// The Hessian in (d, s) is κ (1, −r)(1, −r)ᵀ. At s = 0 the loss is the plain hinge max(0, d);
// there Φ is 1 for d > 0 and 0 otherwise, and κ is 0.
//
// In the lower tail d Φ and s φ cancel, so L is computed as max(0, d) + s φ(|r|) ψ(|r|), where
// ψ(x) = 1 − x Q(x)/φ(x), which keeps full relative accuracy down to the smallest numbers.
#pragma once

#include <cmath>

#include "svmgsu/kernels/kernels.hpp"

namespace svmgsu {

struct ExpectedHinge {
  double loss;   // L
  double cdf;    // Φ(r): the probability that the sample violates the margin
  double kappa;  // φ(r)/s
};

inline ExpectedHinge expected_hinge(double d, double s) {
  if (std::isnan(d)) require(false, "d: must be a number, got NaN");
  if (!(s >= 0)) require(false, "s: must be >= 0, got " + to_text(s));
  ExpectedHinge result;
  kernels::expected_hinge(1, &d, &s, &result.loss, &result.cdf, &result.kappa);
  return result;
}

// P(sample is on its own side): Φ(y(w·x + b)/s), from the same kernel.
inline double probability_right(double signed_margin, double s) {
  if (std::isnan(signed_margin)) require(false, "signed_margin: must be a number, got NaN");
  if (s == 0) return signed_margin > 0 ? 1.0 : (signed_margin < 0 ? 0.0 : 0.5);
  return expected_hinge(signed_margin, s).cdf;
}

}  // namespace svmgsu
