#include "solvers/quasi_newton.hpp"

#include "solvers/choices.hpp"

namespace svmgsu {
namespace {

// What rounding may leave of the product is told by its terms, whatever the units of the features.
bool is_pair(const Step& s, const Step& y) {
  const double terms = s.w.cwiseAbs().dot(y.w.cwiseAbs()) + std::abs(s.b * y.b);
  return s.dot(y) > 1e-12 * terms;
}

}  // namespace

std::vector<QuasiNewton::Pair> known_pairs(const Engine& objective, const Evaluated& at, const Preconditioner& estimate,
                                           const Vector* mean) {
  std::vector<QuasiNewton::Pair> pairs;
  if (at.w.squaredNorm() == 0) return pairs;
  const bool intercept = objective.intercept();
  const double of_b = at.curvature_b;
  if (intercept && mean && mean->size() > 0 && of_b > 0)
    pairs.push_back({{Vector::Zero(at.w.size()), 1}, {of_b * *mean, of_b}, 1 / of_b});
  // With the change of b that is best for it, the direction is the same wherever the origin is.
  const Engine::AlongW along = objective.along_w(at);
  const double with_b = intercept && of_b > 0 ? -along.w_b / of_b : 0.0;
  const double curvature = along.w_w + with_b * along.w_b;
  const Step s{at.w, with_b};
  Step y = mean ? Step{estimate.times(Step{at.w, 0}).w, 0} : estimate.times(s);
  const double factor = curvature / s.dot(y);
  y = {factor * y.w, factor * y.b};
  if (is_pair(s, y)) pairs.push_back({s, y, 1 / s.dot(y)});
  return pairs;
}

Step QuasiNewton::direction(const Preconditioner& factor, const Step& gradient, bool scaled,
                            const std::vector<Pair>& known) {
  if (scaled && !pairs_.empty()) {
    const Pair& last = pairs_.back();
    const double curvature = last.y.dot(factor.solve(last.y));
    if (curvature > 0) gamma_ = 1 / (last.inverse * curvature);
  }
  std::vector<const Pair*> pairs;
  for (const Pair& pair : known) pairs.push_back(&pair);
  for (const Pair& pair : pairs_) pairs.push_back(&pair);
  Step p = gradient;
  std::vector<double> alpha(pairs.size());
  for (std::size_t k = pairs.size(); k-- > 0;) {
    alpha[k] = pairs[k]->inverse * pairs[k]->s.dot(p);
    p.add(-alpha[k], pairs[k]->y);
  }
  p = factor.solve(p);
  p = {gamma_ * p.w, gamma_ * p.b};
  for (std::size_t k = 0; k < pairs.size(); ++k) p.add(alpha[k] - pairs[k]->inverse * pairs[k]->y.dot(p), pairs[k]->s);
  return {-p.w, -p.b};
}

void QuasiNewton::remember(const Step& s, const Step& y) {
  if (!is_pair(s, y)) return;
  pairs_.push_back({s, y, 1 / s.dot(y)});
  if (pairs_.size() > static_cast<std::size_t>(choices::kSketchLife)) pairs_.erase(pairs_.begin());
}

}  // namespace svmgsu
