#include "svmgsu/engines/dual.hpp"

#include <algorithm>

namespace svmgsu {

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
