#include "solvers/quasi_newton.hpp"

namespace svmgsu {
namespace {

constexpr std::size_t kMemory = 12;      // pairs
constexpr std::size_t kLongMemory = 20;  // where the first matrix is poor

}  // namespace

Step QuasiNewton::direction(const Preconditioner& factor, const Step& gradient, bool scaled) {
  const Step solved = factor.solve(gradient);
  scaled_ = scaled;
  if (!pairs_.empty()) {
    Pair& last = pairs_.back();
    if (last.solved.w.size() == 0) last.solved = {solved.w - solved_.w, solved.b - solved_.b};
    const double curvature = last.y.dot(last.solved);  // rounding may leave nothing of it near the optimum
    if (scaled && curvature > 0) gamma_ = 1 / (last.inverse * curvature);
  }
  solved_ = solved;
  Step q = gradient, p = solved;
  std::vector<double> alpha(pairs_.size());
  for (std::size_t k = pairs_.size(); k-- > 0;) {
    alpha[k] = pairs_[k].inverse * pairs_[k].s.dot(q);
    q.add(-alpha[k], pairs_[k].y);
    p.add(-alpha[k], pairs_[k].solved);
  }
  p = {gamma_ * p.w, gamma_ * p.b};
  for (std::size_t k = 0; k < pairs_.size(); ++k) p.add(alpha[k] - pairs_[k].inverse * pairs_[k].y.dot(p), pairs_[k].s);
  return {-p.w, -p.b};
}

void QuasiNewton::remember(const Step& s, const Step& y) {
  // What rounding may leave of the product is told by its terms, whatever the units of the features.
  const double terms = s.w.cwiseAbs().dot(y.w.cwiseAbs()) + std::abs(s.b * y.b);
  if (!(s.dot(y) > 1e-12 * terms)) return;
  pairs_.push_back({s, y, {}, 1 / s.dot(y)});
  if (pairs_.size() > (scaled_ ? kLongMemory : kMemory)) pairs_.erase(pairs_.begin());
}

}  // namespace svmgsu
