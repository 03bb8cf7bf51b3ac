#include "solvers/bundle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace svmgsu {
namespace {

constexpr int kRounds = 4;

// The part of a line x₀ + t x₁ where 0 ≤ x ≤ 1.
void clip(double start, double direction, double& low, double& high) {
  if (direction == 0) {
    if (start < 0 || start > 1) low = std::numeric_limits<double>::infinity(), high = -low;
    return;
  }
  const double to_zero = -start / direction, to_one = (1 - start) / direction;
  low = std::max(low, std::min(to_zero, to_one));
  high = std::min(high, std::max(to_zero, to_one));
}

}  // namespace

void Bundle::add(const DualPoint& point) {
  points_[next_] = point;
  fresh_[next_] = true;
  next_ = (next_ + 1) % kMost;
  count_ = std::min(count_ + 1, kMost);
}

void Bundle::learn_products() {
  for (int i = 0; i < count_; ++i) {
    if (!fresh_[i]) continue;
    for (int j = 0; j < count_; ++j)
      for (int s : {0, 1})
        for (int t : {0, 1}) {
          if (fresh_[j] && j < i) continue;
          products_[i][j][s][t] = products_[j][i][t][s] = points_[i].sum[s].dot(points_[j].sum[t]);
        }
  }
  std::fill_n(fresh_, kMost, false);
}

Bundle::Mix Bundle::Mix::plus(double factor_0, double factor_1, const Mix& other) const {
  Mix result;
  for (int i = 0; i < kMost; ++i) {
    result.of[i][0] = of[i][0] + factor_0 * other.of[i][0];
    result.of[i][1] = of[i][1] + factor_1 * other.of[i][1];
  }
  return result;
}

double Bundle::value(const Mix& mix) const {
  double sum = 0;
  for (int i = 0; i < count_; ++i)
    for (int s : {0, 1}) sum += mix.of[i][s] * points_[i].value[s];
  return sum;
}

double Bundle::mass(const Mix& mix, int side) const {
  double sum = 0;
  for (int i = 0; i < count_; ++i) sum += mix.of[i][side] * points_[i].mass[side];
  return sum;
}

double Bundle::product(const Mix& a, const Mix& b) const {
  double sum = 0;
  for (int i = 0; i < count_; ++i)
    for (int s : {0, 1}) {
      if (a.of[i][s] == 0) continue;
      double inner = 0;
      for (int j = 0; j < count_; ++j)
        for (int t : {0, 1}) inner += b.of[j][t] * products_[i][j][s][t];
      sum += a.of[i][s] * inner;
    }
  return sum;
}

// The best of from + x(to − from) that is balanced, with an x for each side where these are apart. False: there is
// none.
bool Bundle::between(const Mix& from, const Mix& to, Found& found) const {
  const Mix step = to.plus(-1, -1, from);
  double start[2] = {0, 0}, direction[2] = {1, 1};
  if (intercept_) {
    const double change[2] = {mass(step, 0), mass(step, 1)}, excess = mass(from, 1) - mass(from, 0);
    if (apart_) {
      const double square = change[0] * change[0] + change[1] * change[1];
      if (!(square > 0)) return false;
      start[0] = excess * change[0] / square;
      start[1] = -excess * change[1] / square;
      direction[0] = change[1] / std::sqrt(square);
      direction[1] = change[0] / std::sqrt(square);
    } else {
      if (change[1] == change[0]) return false;
      start[0] = start[1] = -excess / (change[1] - change[0]);
      direction[0] = direction[1] = 0;
    }
  }
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int s : {0, 1}) clip(start[s], direction[s], low, high);
  if (!(low <= high)) return false;
  const Mix at = from.plus(start[0], start[1], step), along = Mix().plus(direction[0], direction[1], step);
  const double slope = value(along) - product(at, along) / lambda_, bend = product(along, along) / lambda_;
  const double t = bend > 0 ? std::min(high, std::max(low, slope / bend)) : 0.0;
  found.mix = at.plus(t, t, along);
  found.bound = value(found.mix) - product(found.mix, found.mix) / (2 * lambda_);
  return true;
}

// Weights that rounding has made negative, or more than 1 in sum, prove nothing.
Certificate Bundle::proof(Mix mix) const {
  for (int s : {0, 1}) {
    double sum = 0;
    for (int i = 0; i < count_; ++i) sum += mix.of[i][s] = std::max(0.0, mix.of[i][s]);
    for (int i = 0; sum > 1 && i < count_; ++i) mix.of[i][s] /= sum;
  }
  DualPoint point;
  for (int i = 0; i < count_; ++i)
    if (mix.of[i][0] > 0 || mix.of[i][1] > 0) point.add(points_[i], mix.of[i]);
  return point.bound(lambda_, intercept_, nullptr);
}

Certificate Bundle::best() {
  learn_products();
  Found best;
  const int last = (next_ + kMost - 1) % kMost;
  best.mix.of[last][0] = best.mix.of[last][1] = 1;
  best.bound = -std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const Found before = best;
    for (int i = 0; i <= count_; ++i) {  // and nothing, which is a point as well
      Mix to;
      if (i < count_) to.of[i][0] = to.of[i][1] = 1;
      Found found;
      if (between(before.mix, to, found) && found.bound > best.bound) best = found;
    }
    if (!(best.bound > before.bound)) break;
  }
  return proof(best.mix);
}

}  // namespace svmgsu
