// What is cached of the samples at a point, and the losses of a batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "engines/engine.hpp"
#include "engines/sweep.hpp"

namespace svmgsu {

// How many numbers there are of each size, in steps of an eighth of an octave. Counts are the same in any order and
// add up over parts of the data, and so whatever is decided by them is, too.
class Histogram {
 public:
  static constexpr int kMost = 0x7FF << 3;  // that of infinity: no number has a larger one
  // That of a number; 0 of those that are not positive, or next to nothing.
  static int of(double x) {
    if (!(x > 0)) return 0;
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<int>(bits >> kShift);
  }
  // The smallest number of a level.
  static double edge(int level) {
    const std::uint64_t bits = static_cast<std::uint64_t>(level) << kShift;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  static double middle(int level) { return (edge(level) + edge(level + 1)) / 2; }

  template <class At>  // at(i): the numbers
  static Histogram count(std::size_t size, At at) {
    Histogram result;
    int low = kMost, high = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int level = of(at(i));
      if (level == 0) continue;
      low = std::min(low, level);
      high = std::max(high, level);
    }
    if (high > 0) result.widen(low, high);
    for (std::size_t i = 0; i < size; ++i) result.add(of(at(i)), 1);
    return result;
  }
  void add(int level, Index count) {
    if (level == 0) {
      zeros_ += count;
      return;
    }
    if (counts_.empty()) widen(level, level);
    if (level < low_ || level > top()) widen(std::min(low_, level), std::max(top(), level));
    counts_[static_cast<std::size_t>(level - low_)] += count;
  }
  void add(const Histogram& other) {
    other.each([&](int level, Index count) { add(level, count); });
  }
  // fn(level, count) from the smallest on, of those that have any.
  template <class Fn>
  void each(Fn fn) const {
    if (zeros_ > 0) fn(0, zeros_);
    for (std::size_t k = 0; k < counts_.size(); ++k)
      if (counts_[k] > 0) fn(low_ + static_cast<int>(k), counts_[k]);
  }
  int top() const { return counts_.empty() ? 0 : low_ + static_cast<int>(counts_.size()) - 1; }
  // How many numbers have this level or a higher one.
  Index from(int level) const {
    const auto first = std::min<Index>(std::max(0, level - low_), static_cast<Index>(counts_.size()));
    return std::accumulate(counts_.begin() + first, counts_.end(), Index{0});
  }
  // The level from which on numbers are more than this share of the largest.
  int above(double negligible) const { return std::max(1, of(negligible * edge(top()))); }
  bool empty() const { return counts_.empty() && zeros_ == 0; }
  Index total() const { return zeros_ + from(0); }

  // As a message: levels and their counts.
  template <class Archive>
  void fields(Archive& archive) {
    std::vector<double> list;
    each([&](int level, Index count) {
      list.push_back(level);
      list.push_back(static_cast<double>(count));
    });
    archive(list);
    if constexpr (Archive::kReads) {
      *this = Histogram();
      for (std::size_t k = 0; k + 1 < list.size(); k += 2) {
        constexpr double kMany = 0x1p53;
        if (!(list[k] >= 0 && list[k] <= kMost && list[k + 1] >= 0 && list[k + 1] < kMany))
          require(false, "message: counts of no level");
        add(static_cast<int>(list[k]), static_cast<Index>(list[k + 1]));
      }
      require(list.size() % 2 == 0, "message: counts of no level");
    }
  }

 private:
  static constexpr int kShift = 49;
  void widen(int low, int high) {
    std::vector<Index> wider(static_cast<std::size_t>(high - low + 1), 0);
    for (std::size_t k = 0; k < counts_.size(); ++k) wider[static_cast<std::size_t>(low_ - low) + k] = counts_[k];
    counts_.swap(wider);
    low_ = low;
  }
  Index zeros_ = 0;
  int low_ = 0;
  std::vector<Index> counts_;  // of the levels from low_ on; the last one is not 0
};

struct PointCache {
  std::vector<double> mean, variance;     // w·x and wᵀΣw of every sample
  std::vector<double> curvature;          // L″ of every sample, where all are in memory
  std::vector<std::vector<double>> sums;  // Σ c L″Σ_i of each term
  std::vector<double> along_w;            // sums_along_w of an objective, where the samples are elsewhere
  Histogram kappa;                        // how large c L″ is; empty: not counted yet
};

// d and s of some samples, and their losses: L, L′ and L″.
struct Residuals {
  double d[kMaxBatch], s[kMaxBatch], loss[kMaxBatch], slope[kMaxBatch], curvature[kMaxBatch];

  void set(int count, const Targets::View& of, const double* mean, const double* variance, double b, double epsilon) {
    const double extra = epsilon * epsilon;
    for (int i = 0; i < count; ++i) {
      d[i] = of.target[i] - of.sign[i] * (mean[i] + b);
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
