#include "engines/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace svmgsu {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kLoss = 16;  // units in which L, L′ and L″ are right

// The error of a sum, in units of the sum of its terms' sizes, where no term goes through more than `depth` additions:
// the worst case, or four times its square root, which independent errors hardly ever exceed (Higham and Mary 2019).
double growth(double depth) { return kUnit * std::min(depth, 4 * std::sqrt(depth)); }

double total_depth(const Cuts& cuts) { return static_cast<double>(cuts.block + cuts.blocks + 4); }

}  // namespace

double rounding_of_sum(Index terms) { return growth(static_cast<double>(terms)) + kLoss * kUnit; }

void Columns::look(const Gaussians& data, Batch batch, const double* weight, Vector& sum) {
  const Index n = data.features();
  if (sum.size() == 0) sum.setZero(n);
  data.means().add_squares(batch, weight, sum.data());
  Matrix factors;
  for (const auto& term : data.covariance())
    for (int i = 0; i < batch.count; ++i) {
      const Index rank = term.kind.rank(batch.id[i]);
      if (rank <= 0) continue;
      factors.resize(rank, n);
      term.kind.factors(batch.id[i], weight[i] * term.scale, factors.data());
      for (Index r = 0; r < rank; ++r)
        for (Index j = 0; j < n; ++j) sum(j) += factors(r, j) * factors(r, j);
    }
}

void Columns::learn(const Vector& squares, const Targets& of, const Vector& origin) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (known) return;
  const auto count = static_cast<double>(of.samples());
  double target_squares = 0, weights = 0;
  for (Index i = 0; i < of.samples(); ++i) {
    target_squares += of.weight(i) * of.target(i) * of.target(i);
    weights += of.weight(i);
  }
  size = (squares / count).cwiseSqrt();
  if (origin.size()) size += std::sqrt(weights / count) * origin.cwiseAbs();
  targets = std::sqrt(target_squares / count);
  known = true;
}

Rounding::Rounding(const Source& source, const Cuts& cuts, const Columns& columns, const PassSums& total,
                   const std::vector<std::vector<double>>& sums, const Vector& w, double mean_weight,
                   const Vector& moved)
    : dots_(growth(static_cast<double>(w.size()) / 4 + 4)), sums_(growth(total_depth(cuts))) {
  const Index n = w.size();
  const double share = 1.0 / static_cast<double>(source.samples());
  const double slopes = std::sqrt(share * total.slope_squares);
  terms_ = share * total.terms;
  offset_ = slopes * columns.targets;
  if (moved.size()) shift_ = 2 * kUnit * slopes * std::sqrt(mean_weight) * moved.cwiseAbs().dot(w.cwiseAbs());
  reach_ = slopes * columns.size;
  Vector diagonal(n);
  const auto& covariance = source.like().covariance();
  for (std::size_t t = 0; t < covariance.size(); ++t) {
    diagonal.setZero();
    covariance[t].kind.expand_diagonal(sums[t].data(), n, share * covariance[t].scale, diagonal.data());
    diagonal = diagonal.cwiseMax(0.0);
    if (covariance[t].kind.dense()) {  // |Σ_jk| ≤ √(Σ_jj Σ_kk)
      const Vector root = diagonal.cwiseSqrt();
      reach_ += root.dot(w.cwiseAbs()) * root;
    } else {
      reach_ += diagonal.cwiseProduct(w.cwiseAbs());
    }
  }
}

double Rounding::of_value(const Vector& w, double penalty) const {
  const double few = kLoss * kUnit;
  return (sums_ + few) * terms_ + (dots_ + few) * (reach_.dot(w.cwiseAbs()) + offset_ + penalty) + shift_;
}

void Rounding::of_slopes(DualPoint& slopes) {
  slopes.terms = terms_;
  slopes.reach = std::move(reach_);
  slopes.dots = dots_;
  // Three sums over samples: the sides' masses, from which ρ comes, and the sums themselves.
  slopes.error = 3 * sums_ + dots_ + kLoss * kUnit;
}

void DualPoint::add(const DualPoint& other, const double weight[2]) {
  constexpr double kSum = 0x1p-52;  // the error of a sum of a few such points, one more of them
  require(weight != nullptr, "weight: null pointer");
  const Index n = other.reach.size();
  require(other.sum[0].size() == n && other.sum[1].size() == n && (reach.size() == 0 || reach.size() == n),
          "other: a point of other features");
  const double larger = std::max(weight[0], weight[1]);
  if (reach.size() == 0) {
    reach = Vector::Zero(other.reach.size());
    sum[0] = sum[1] = reach;
  }
  for (int k : {0, 1}) {
    sum[k] += weight[k] * other.sum[k];
    mass[k] += weight[k] * other.mass[k];
    value[k] += weight[k] * other.value[k];
  }
  reach += larger * other.reach;
  terms += larger * other.terms;
  unseen += larger * other.unseen;
  dots = std::max(dots, other.dots);
  error = std::max(error, other.error) + kSum;
}

Certificate DualPoint::bound(double lambda, bool intercept, double* unscaled) const {
  require(lambda > 0, "lambda: must be > 0, got " + to_text(lambda));
  require(sum[0].size() == reach.size() && sum[1].size() == reach.size(), "sum: of other features than reach");
  double rho[2] = {1, 1};
  if (intercept) {
    const double smaller = std::min(mass[0], mass[1]);
    for (int k : {0, 1}) rho[k] = mass[k] > 0 ? smaller / mass[k] : 0.0;
  }
  const double total = rho[0] * value[0] + rho[1] * value[1];
  const Vector g = rho[1] * sum[1] + rho[0] * sum[0];
  const double square = g.squaredNorm() / lambda;
  const double tau = total < 0 ? 0.0 : square > total ? total / square : 1.0;
  if (unscaled) *unscaled = total - square / 2;
  const double first = error * reach.dot(g.cwiseAbs()), second = error * error * reach.squaredNorm() / 2;
  Certificate result;
  result.below = tau * error * terms + tau * tau * (first + second + dots * g.squaredNorm()) / lambda + unseen;
  result.bound = tau * total - tau * tau * square / 2 - result.below;
  return result;
}

}  // namespace svmgsu
