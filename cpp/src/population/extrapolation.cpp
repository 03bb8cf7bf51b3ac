#include "population/extrapolation.hpp"

#include <algorithm>
#include <cmath>

#include "population/standard.hpp"
#include "support/linalg.hpp"

namespace svmgsu {
namespace {

constexpr double kLeastWeight = 1e-12;
constexpr double kDependent = 1e-7;  // steps that differ by less say the same

// A mixture as numbers that may be added: logarithms of the weights, means, and Cholesky factors.
EigenVector numbers_of(const Mixture& mixture) {
  const Index components = mixture.components(), n = mixture.features();
  EigenVector out(components * (1 + n + n * (n + 1) / 2));
  Index at = 0;
  for (Index k = 0; k < components; ++k) {
    out(at++) = std::log(std::max(mixture.weights.coeff(k), kLeastWeight));
    for (Index j = 0; j < n; ++j) out(at++) = mixture.means.coeff(k, j);
    const Eigen::Map<const EigenMatrix> s(mixture.covariances.data() + k * n * n, n, n);
    const EigenMatrix l = linalg::cholesky(s);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) out(at++) = l(i, j);
  }
  return out;
}

Mixture mixture_of(const EigenVector& numbers, const Mixture& like, double floor) {
  const Index components = like.components(), n = like.features();
  Mixture out = like;
  Index at = 0;
  double most = numbers(0), sum = 0;
  const Index each = 1 + n + n * (n + 1) / 2;
  for (Index k = 0; k < components; ++k) most = std::max(most, numbers(k * each));
  for (Index k = 0; k < components; ++k) {
    out.weights.coeffRef(k) = std::exp(numbers(at++) - most);
    sum += out.weights.coeff(k);
    for (Index j = 0; j < n; ++j) out.means.coeffRef(k, j) = numbers(at++);
    EigenMatrix l = EigenMatrix::Zero(n, n);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) l(i, j) = numbers(at++);
    Eigen::Map<EigenMatrix>(out.covariances.data() + k * n * n, n, n) = at_least(l * l.transpose(), floor);
  }
  out.weights /= sum;
  return out;
}

// What a change of each number counts: about the square root of the information that the data have of it.
EigenVector importance(const Mixture& mixture) {
  const Index components = mixture.components(), n = mixture.features();
  EigenVector out(components * (1 + n + n * (n + 1) / 2));
  Index at = 0;
  for (Index k = 0; k < components; ++k) {
    const double root = std::sqrt(std::max(mixture.weights.coeff(k), kLeastWeight));
    const auto inverse = [&](Index i) { return root / std::sqrt(mixture.covariances.coeff(k, i * n + i)); };
    out(at++) = root;
    for (Index j = 0; j < n; ++j) out(at++) = inverse(j);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) out(at++) = inverse(i);
  }
  return out;
}

}  // namespace

void Extrapolation::forget() {
  points_.clear();
  moves_.clear();
  point_.resize(0);
}

Mixture Extrapolation::next(const Mixture& at, const Mixture& stepped, double floor) {
  combined_ = false;
  if (memory_ == 0) return stepped;
  const EigenVector from = numbers_of(at), to = numbers_of(stepped), move = to - from;
  if (point_.size()) {
    points_.push_back(to - point_);
    moves_.push_back(move - move_);
    if (static_cast<Index>(points_.size()) > memory_) {
      points_.erase(points_.begin());
      moves_.erase(moves_.begin());
    }
  }
  point_ = to;
  move_ = move;
  if (points_.empty()) return stepped;
  const EigenVector counts = importance(at);
  const auto columns = static_cast<Index>(moves_.size());
  EigenMatrix differences(move.size(), columns);
  for (Index j = 0; j < columns; ++j) differences.col(j) = moves_[static_cast<std::size_t>(j)].cwiseProduct(counts);
  const EigenVector factors = linalg::least_squares(differences, move.cwiseProduct(counts), kDependent);
  EigenVector found = to;
  for (Index j = 0; j < columns; ++j) found -= factors(j) * points_[static_cast<std::size_t>(j)];
  if (!found.allFinite()) {
    forget();
    return stepped;
  }
  combined_ = true;
  return mixture_of(found, at, floor);
}

}  // namespace svmgsu
