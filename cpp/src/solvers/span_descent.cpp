// The expected hinge of sample i is a support function,
//
//     L(d, s) = max over (a, v) in C of a d + v·u,   u = F_i w,   C = {(a, v): 0 ≤ a ≤ 1, |v| ≤ φ(Φ⁻¹(a))},
//
// so that the dual problem has one point (a_i, v_i) of C for each sample, and w = Σ c_i/(λℓ) (σ_i a_i x_i − F_iᵀv_i)
// lies in the span of the means and factors. All that is needed of them are their inner products, a matrix of size
// m = Σ (1 + rank_i). One sample's point is maximised over at a time, exactly; b is treated as in dual_descent.cpp.
// The value of J and the bound that are reported come from the data themselves, not from the inner products.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engines/source.hpp"
#include "kernels/kernels.hpp"
#include "solvers/dual_descent.hpp"
#include "solvers/preconditioner.hpp"
#include "solvers/span.hpp"
#include "support/linalg.hpp"
#include "support/poll.hpp"
#include "support/random.hpp"
#include "svmgsu/losses/loss.hpp"

namespace svmgsu {
namespace {

constexpr double kFarthest = 8;          // beyond, Φ is 0 or 1
constexpr double kRidgeOfBlock = 1e-10;  // of a block's trace: makes dependent factors harmless, steps stay ascents
constexpr double kInside = 1e-12;        // by which v is shortened, so that rounding does not put it outside C
constexpr int kSweepsOfB = 5;            // between two changes of b₀
constexpr double kUntilLook = 0.2;       // of what a sweep gains, until J and the bound are looked at again
constexpr int kMostSweeps = 100;         // the same in sweeps
constexpr int kBisections = 60;

// Maximises p·δ − δᵀMδ/2 over δ with (a, v) + δ in C, where M = [first, crossᵀ; cross, diag(squares)].
class Block {
 public:
  Index rank = 0;
  double first = 0;
  std::vector<double> cross, squares;

  // `at` = (a, v) becomes the maximiser; `rho` is Φ⁻¹(a) of it, and on entry a guess.
  void maximise(const double* p, double* at, double& rho) const {
    if (interior(p, at, rho)) return;
    // On the boundary v follows from a, and the derivative by a falls with ρ = Φ⁻¹(a): its root is bracketed first.
    std::vector<double> v(static_cast<std::size_t>(rank));
    double low = -kFarthest, high = kFarthest, slope_low = 0, slope_high = 0, width = 0.25;
    bool has_low = false, has_high = false;
    double x = std::min(std::max(rho, low), high);
    for (int k = 0; k < kBisections; ++k) {
      const double slope = boundary(p, at, x, v.data());
      rho = x;
      if (slope == 0) break;
      if (slope > 0) {
        low = x;
        slope_low = slope;
        has_low = true;
      } else {
        high = x;
        slope_high = slope;
        has_high = true;
      }
      if (has_low && has_high) {
        if (high - low < 1e-13) break;
        const double secant = low + (high - low) * slope_low / (slope_low - slope_high);
        x = k % 3 != 2 && secant > low && secant < high ? secant : (low + high) / 2;
      } else if (has_low) {
        if (low >= kFarthest) break;
        x = std::min(kFarthest, low + width);
        width *= 3;
      } else {
        if (high <= -kFarthest) break;
        x = std::max(-kFarthest, high - width);
        width *= 3;
      }
    }
    const bool corner = std::abs(rho) >= kFarthest;
    at[0] = corner ? (rho > 0 ? 1.0 : 0.0) : expected_hinge(rho, 1).cdf;
    for (Index k = 0; k < rank; ++k) at[1 + k] = corner ? 0.0 : v[static_cast<std::size_t>(k)];
  }

  double quadratic(const double* delta) const {
    double sum = first * delta[0] * delta[0];
    for (Index k = 0; k < rank; ++k)
      sum += (2 * cross[static_cast<std::size_t>(k)] * delta[0] + squares[static_cast<std::size_t>(k)] * delta[1 + k]) *
             delta[1 + k];
    return sum;
  }

 private:
  // The maximiser over all δ, if it lies in C.
  bool interior(const double* p, double* at, double& rho) const {
    double curvature = first, slope = p[0];
    for (Index k = 0; k < rank; ++k) {
      const double ratio = cross[static_cast<std::size_t>(k)] / squares[static_cast<std::size_t>(k)];
      curvature -= ratio * cross[static_cast<std::size_t>(k)];
      slope -= ratio * p[1 + k];
    }
    if (!(curvature > 0)) return false;
    const double change = slope / curvature, a = at[0] + change;
    if (!(a > 0 && a < 1)) return false;
    const auto v = [&](Index k) {
      const auto i = static_cast<std::size_t>(k);
      return at[1 + k] + (p[1 + k] - change * cross[i]) / squares[i];
    };
    double length = 0;
    for (Index k = 0; k < rank; ++k) length += v(k) * v(k);
    const double x = quantile(a, rho), radius = (1 - kInside) * expected_hinge(x, 1).kappa;
    if (std::abs(x) >= kFarthest || !(length <= radius * radius)) return false;
    for (Index k = 0; k < rank; ++k) at[1 + k] = v(k);
    at[0] = a;
    rho = x;
    return true;
  }

  static double quantile(double a, double guess) {
    double low = -kFarthest, high = kFarthest, x = std::min(std::max(guess, low), high);
    for (int k = 0; k < kBisections; ++k) {
      const ExpectedHinge at = expected_hinge(x, 1);
      (at.cdf > a ? high : low) = x;
      double next = x - (at.cdf - a) / at.kappa;
      if (!(next > low && next < high)) next = (low + high) / 2;
      const double step = std::abs(next - x);
      x = next;
      if (step <= 1e-14 * (1 + std::abs(x))) break;
    }
    return x;
  }

  // The best v with |v| ≤ φ(ρ) for a = Φ(ρ), and the derivative by a along such points.
  double boundary(const double* p, const double* at, double rho, double* v) const {
    const ExpectedHinge normal = expected_hinge(rho, 1);
    const double radius = (1 - kInside) * normal.kappa, change = normal.cdf - at[0];
    double length = 0, free = 0, largest = 0;
    for (Index k = 0; k < rank; ++k) {
      const auto i = static_cast<std::size_t>(k);
      v[k] = p[1 + k] - change * cross[i] + squares[i] * at[1 + k];
      length += v[k] * v[k];
      free += v[k] / squares[i] * (v[k] / squares[i]);
      largest = std::max(largest, squares[i]);
    }
    double multiplier = 0;
    if (free > radius * radius) {
      // 1/|v| is a concave function of the multiplier, so that Newton's method comes to its root from below.
      multiplier = std::max(0.0, std::sqrt(length) / radius - largest);
      for (int k = 0; k < kBisections; ++k) {
        double square = 0, derivative = 0;
        for (Index j = 0; j < rank; ++j) {
          const double sum = squares[static_cast<std::size_t>(j)] + multiplier, x = v[j] / sum;
          square += x * x;
          derivative += x * x / sum;
        }
        const double step = (std::sqrt(square) / radius - 1) * square / derivative;
        multiplier += step;
        if (std::abs(step) <= 1e-13 * multiplier) break;
      }
    }
    double d = p[0] - change * first;
    for (Index k = 0; k < rank; ++k) {
      const auto i = static_cast<std::size_t>(k);
      v[k] /= squares[i] + multiplier;
      d -= cross[i] * (v[k] - at[1 + k]);
    }
    return d - multiplier * radius * rho;
  }
};

class SpanDescent {
 public:
  explicit SpanDescent(const Engine& objective) : objective_(objective), count_(objective.samples()) {
    SpanRows gathered = gather_span(objective);
    rows_ = std::move(gathered.rows);
    start_ = std::move(gathered.start);
    turn();
    products_.setZero(size(), size());
    add_products(rows_, objective_.threads(), products_);
    for (Index j = 0; j < size(); ++j) row_.push_back(products_.data() + j * size());
    for (Index i = 0; i < count_ && objective.intercept(); ++i)
      reach_ += product(start(i), start(i)) / static_cast<double>(count_);
    blocks_.resize(static_cast<std::size_t>(count_));
    for (Index i = 0; i < count_; ++i) set_block(i);
    point_.assign(static_cast<std::size_t>(size()), 0.0);
    rho_.assign(static_cast<std::size_t>(count_), -1.0);
    margins_ = Vector::Zero(size());
    order_.resize(static_cast<std::size_t>(count_));
    std::iota(order_.begin(), order_.end(), Index{0});
  }

  void run(const std::function<bool(const Descent&)>& goes_on) {
    SplitMix64 random(0);
    Descent now;
    now.passes = 1;
    const double share = static_cast<double>(size()) / static_cast<double>(objective_.features());
    double enough = std::numeric_limits<double>::infinity();
    int last = 0;  // sweep before the last look
    for (int sweeps = 1;; ++sweeps) {
      const double gain = sweep(random);
      poll();
      now.passes += share;
      if (sweeps % kSweepsOfB != 0) continue;
      if (gain <= enough || sweeps - last >= kMostSweeps) {  // a look costs several sweeps
        enough = kUntilLook * gain;
        last = sweeps;
        now.passes += 3;
        look(now);
        if (!goes_on(now)) return;
      }
      b_ += reach_ * mass_;
    }
  }

 private:
  Index size() const { return start_.back(); }
  Index start(Index i) const { return start_[static_cast<std::size_t>(i)]; }
  Index end(Index i) const { return start_[static_cast<std::size_t>(i) + 1]; }
  double product(Index j, Index k) const { return products_.data()[j * size() + k]; }
  double most(Index i) const {
    return objective_.targets().weight(i) / (objective_.lambda() * static_cast<double>(count_));
  }
  double sign(Index i) const { return objective_.targets().sign(i); }

  // Makes the factors of each sample orthogonal.
  void turn() {
    for (Index i = 0; i < count_; ++i) {
      const Index rank = end(i) - start(i) - 1;
      if (rank < 2) continue;
      const auto factors = rows_.middleRows(start(i) + 1, rank);
      const EigenMatrix gram = factors * factors.transpose();
      const EigenMatrix turned = linalg::eigenpairs(gram).vectors.transpose() * factors;
      rows_.middleRows(start(i) + 1, rank) = turned;
    }
  }

  void set_block(Index i) {
    Block& block = blocks_[static_cast<std::size_t>(i)];
    const Index at = start(i);
    block.rank = end(i) - at - 1;
    double trace = reach_;
    for (Index j = at; j < end(i); ++j) trace += product(j, j);
    block.first = most(i) * (product(at, at) + reach_ + kRidgeOfBlock * trace);
    for (Index j = at + 1; j < end(i); ++j) {
      block.cross.push_back(-most(i) * sign(i) * product(at, j));
      block.squares.push_back(most(i) * (product(j, j) + kRidgeOfBlock * trace));
    }
  }

  // Once over all samples. By how much the dual value has risen.
  double sweep(SplitMix64& random) {
    std::vector<double> slope, next, change;
    double gain = 0;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      std::swap(order_[s], order_[s + random() % (order_.size() - s)]);
      const Index i = order_[s], at = start(i), length = end(i) - at;
      const Block& block = blocks_[static_cast<std::size_t>(i)];
      if (!(block.first > 0)) continue;  // of no weight, or all zeros
      double* point = &point_[static_cast<std::size_t>(at)];
      slope.assign(margins_.data() + at, margins_.data() + end(i));
      slope[0] = 1 - sign(i) * (slope[0] + b_ + reach_ * mass_);
      next.assign(point, point + length);
      block.maximise(slope.data(), next.data(), rho_[static_cast<std::size_t>(i)]);
      // Rounding may have spoilt the maximiser; the best point on the way to it is never worse than where we are.
      change.resize(next.size());
      double linear = 0;
      for (std::size_t k = 0; k < next.size(); ++k) {
        change[k] = next[k] - point[k];
        linear += change[k] * slope[k];
      }
      const double quadratic = block.quadratic(change.data());
      if (!(linear > 0)) continue;
      const double step = quadratic > linear ? linear / quadratic : 1.0;
      gain += most(i) * step * (linear - step * quadratic / 2);
      for (std::size_t k = 0; k < next.size(); ++k) {
        change[k] *= step;
        point[k] += change[k];
        change[k] *= k == 0 ? most(i) * sign(i) : -most(i);
      }
      mass_ += change[0];
      kernels::add_rows(&row_[static_cast<std::size_t>(at)], static_cast<int>(length), size(), change.data(),
                        margins_.data());
    }
    return gain;
  }

  // J at (w, b) and the bound, from the data; sums anew what the sweeps have added up.
  void look(Descent& now) {
    Vector side[2] = {Vector::Zero(size()), Vector::Zero(size())};  // the coefficients of rows_ in w
    double mass[2] = {0, 0};
    for (Index i = 0; i < count_; ++i) {
      const bool positive = sign(i) > 0;
      mass[positive] += most(i) * point_[static_cast<std::size_t>(start(i))];
      for (Index j = start(i); j < end(i); ++j)
        side[positive](j) = (j == start(i) ? sign(i) : -1.0) * most(i) * point_[static_cast<std::size_t>(j)];
    }
    mass_ = mass[1] - mass[0];
    margins_.setZero();
    for (const Vector& of : side)
      kernels::add_rows(row_.data(), static_cast<int>(size()), size(), of.data(), margins_.data());
    const Vector sum[2] = {rows_.transpose() * side[0], rows_.transpose() * side[1]};
    now.w = sum[0] + sum[1];
    now.b = b_ + reach_ * mass_;
    certify(objective_, sum, mass, now, pass_);
  }

  const Engine& objective_;
  Index count_;
  std::vector<Index> start_;        // of each sample's rows: its mean, then its factors
  Matrix rows_, products_;          // m × n, and their inner products
  std::vector<const double*> row_;  // of the products
  std::vector<Block> blocks_;
  std::vector<double> point_, rho_;  // (a, v) of each sample, and Φ⁻¹(a)
  Vector margins_;                   // w·(x − o) and F w
  double b_ = 0, reach_ = 0, mass_ = 0;
  std::vector<Index> order_;
  Evaluated pass_;
};

}  // namespace

void descend_in_span(const Engine& objective, const std::function<bool(const Descent&)>& goes_on) {
  SpanDescent(objective).run(goes_on);
}

}  // namespace svmgsu
