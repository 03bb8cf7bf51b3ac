#include "solvers/bundle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace svmgsu {

// The points are last + x (before − last) with an x in [0, 1] for each side, x = start + t · direction; where there is
// an intercept, only those whose sides have the same mass.
Certificate Bundle::best() const {
  if (count_ < 2) return last_.bound(lambda_, intercept_, nullptr);
  double start[2] = {0, 0}, direction[2] = {1, 1};
  if (intercept_) {
    const double change[2] = {before_.mass[0] - last_.mass[0], before_.mass[1] - last_.mass[1]};
    const double excess = last_.mass[1] - last_.mass[0];
    if (apart_) {
      const double square = change[0] * change[0] + change[1] * change[1];
      if (!(square > 0)) return {};
      start[0] = excess * change[0] / square;
      start[1] = -excess * change[1] / square;
      direction[0] = change[1] / std::sqrt(square);
      direction[1] = change[0] / std::sqrt(square);
    } else {
      if (change[1] == change[0]) return {};
      start[0] = start[1] = -excess / (change[1] - change[0]);
      direction[0] = direction[1] = 0;
    }
  }
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int s : {0, 1}) {
    if (direction[s] == 0) {
      if (start[s] < 0 || start[s] > 1) return {};
      continue;
    }
    const double to_zero = -start[s] / direction[s], to_one = (1 - start[s]) / direction[s];
    low = std::max(low, std::min(to_zero, to_one));
    high = std::min(high, std::max(to_zero, to_one));
  }
  if (!(low <= high)) return {};
  // D along this line is a parabola in t.
  const Vector step[2] = {before_.sum[0] - last_.sum[0], before_.sum[1] - last_.sum[1]};
  const Vector at = last_.sum[0] + start[0] * step[0] + last_.sum[1] + start[1] * step[1];
  const Vector along = direction[0] * step[0] + direction[1] * step[1];
  double slope = -at.dot(along) / lambda_;
  for (int s : {0, 1}) slope += direction[s] * (before_.value[s] - last_.value[s]);
  const double bend = along.squaredNorm() / lambda_;
  const double t = bend > 0 ? std::min(high, std::max(low, slope / bend)) : 0.0;
  double of_last[2], of_before[2];
  for (int s : {0, 1}) {
    of_before[s] = std::min(1.0, std::max(0.0, start[s] + t * direction[s]));
    of_last[s] = 1 - of_before[s];
  }
  DualPoint mixture;
  mixture.add(last_, of_last);
  mixture.add(before_, of_before);
  return mixture.bound(lambda_, intercept_, nullptr);
}

}  // namespace svmgsu
