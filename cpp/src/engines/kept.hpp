// What is remembered of the samples at a point, and the losses of a batch.
#pragma once

#include <cmath>

#include "engines/levels.hpp"
#include "engines/sweep.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// Whose numbers are remembered where there is room for those of one point.
struct Slot {
  Kept* owner = nullptr;
};

struct Kept {
  std::vector<double> mean, variance, curvature;  // w·x, wᵀΣw and L″ of every sample; L″ in memory alone
  std::vector<Plan> plans;                        // of each covariance term
  std::vector<std::vector<double>> sums;          // Σ c L″Σ_i of each term
  std::vector<double> own;                        // group sums of the line along w, where the others are elsewhere
  Levels kappa, variances;                        // how large c L″ and wᵀΣw are; empty: not counted yet
  std::shared_ptr<Slot> slot;

  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (slot && slot->owner == this) slot->owner = nullptr;
  }
  // Takes the room of the point that has it.
  void take(const std::shared_ptr<Slot>& from) {
    if (!from) return;
    slot = from;
    Kept* const other = from->owner;
    if (other && other != this) {
      if (mean.empty()) {
        mean.swap(other->mean);
        variance.swap(other->variance);
      }
      other->mean = other->variance = {};
    }
    from->owner = this;
  }
};

// d and s of some samples, and their losses: L, L′ and L″.
struct Residuals {
  double d[kMaxBatch], s[kMaxBatch], loss[kMaxBatch], slope[kMaxBatch], curvature[kMaxBatch];

  void set(int count, const Targets::View& of, const double* mean, const double* variance, double b, double epsilon) {
    set(count, of.sign, of.target, mean, variance, b, epsilon);
  }
  void set(int count, const double* sign, const double* target, const double* mean, const double* variance, double b,
           double epsilon) {
    const double extra = epsilon * epsilon;
    for (int i = 0; i < count; ++i) {
      d[i] = target[i] - sign[i] * (mean[i] + b);
      s[i] = std::sqrt(variance[i] + extra);
    }
  }
  void evaluate(const Loss& of, int count) { of.gradient(count, d, s, loss, slope, curvature); }
};

// The numbers of the Hessian of one sample in (d, s²), in the form
//     Hv = κ[α σ(x; 1) + (αρ − γη)(u; 0) + (Σv_w; 0)],   α = σξ + ρη,
// with κ = L″, ρ = −L‴/L″ and γ = ρ² − L⁗/L″, which shows what is positive. (Hinge: ρ = r/s, γ = 1/s².)
struct Bends {
  double second[kMaxBatch], rho[kMaxBatch], gamma[kMaxBatch];

  void set(const Loss& loss, int count, const double* d, const double* s) {
    loss.curvature(count, d, s, second, rho, gamma);
    for (int i = 0; i < count; ++i) {
      const bool bends = second[i] > 0;  // it may be too small a number for its inverse to be one
      rho[i] = bends ? -rho[i] / second[i] : 0.0;
      gamma[i] = bends ? rho[i] * rho[i] - gamma[i] / second[i] : 0.0;
    }
  }
};

}  // namespace svmgsu
