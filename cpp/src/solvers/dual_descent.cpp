// Coordinate descent in the dual problem of the hinge without covariances (Hsieh et al., ICML 2008):
//
//     min over 0 ≤ a_i ≤ c_i/(λℓ):   ½‖w‖² + (b² − b₀²)/2B² − Σ a_i,   w = Σ σ_i a_i (x_i − o),   b = b₀ + B² Σ σ_i
//     a_i.
//
// The true b has no penalty: b₀ follows b from time to time (a proximal-point iteration), until Σ σ a = 0. The order of
// the samples is drawn anew for each sweep, and those that are likely to stay at a bound are left out for a while. One
// thread does it all: each step wants the last one's w.
#include "solvers/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engines/source.hpp"
#include "solvers/choices.hpp"
#include "solvers/span.hpp"
#include "support/poll.hpp"
#include "support/random.hpp"

namespace svmgsu {
namespace {

constexpr double kWork = 10;      // passes between two looks at J and the bound
constexpr double kFirst = 0.1;    // violation of the margins at which to look, the first time
constexpr double kTighter = 0.3;  // and then by this factor

template <class Scalar>
class DualDescent {
 public:
  DualDescent(const Engine& objective, const Scalar* values)
      : objective_(objective),
        values_(values),
        data_(*objective.source().whole()),
        rows_(data_.means()),
        count_(objective.samples()),
        w_(Vector::Zero(objective.features())),
        a_(static_cast<std::size_t>(count_), 0.0),
        most_(a_),
        square_(a_),
        along_(a_) {
    const Vector& o = objective.origin();
    origin_squared_ = o.size() ? o.squaredNorm() : 0.0;
    for (Index i = 0; i < count_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      most_[k] = objective.targets().weight(i) / (objective.lambda() * static_cast<double>(count_));
      double x_squared = 0;
      for_row(i, [&](Index j, double x) {
        x_squared += x * x;
        if (o.size()) along_[k] += x * o.data()[j];
      });
      square_[k] = std::max(0.0, x_squared - 2 * along_[k] + origin_squared_);
      if (objective.intercept()) reach_ += square_[k] / static_cast<double>(count_);
    }
    for (double& s : square_) s += reach_;
    order_.resize(a_.size());
    for (Index i = 0; i < count_; ++i) order_[static_cast<std::size_t>(i)] = i;
  }

  void run(const std::function<bool(const Descent&)>& goes_on) {
    SplitMix64 random(0);
    Descent now;
    double enough = kFirst;
    do {
      restart();
      double work = 0;
      while (work < kWork) {
        const double share = static_cast<double>(active_) / static_cast<double>(count_);
        const double violation = sweep(random);
        work += share;
        poll();
        if (violation > enough) continue;
        if (share > 0.99) enough *= kTighter;
        break;
      }
      now.passes += work + 2;
      look(now);
      b_ += reach_ * mass_;
    } while (goes_on(now));
  }

 private:
  template <class Use>
  void for_row(Index i, Use use) const {
    const Index id = data_.ids()[static_cast<std::size_t>(i)], n = w_.size();
    if (rows_.sparse()) {
      const std::int32_t* const column = rows_.column();
      for (Index k = rows_.start()[id]; k < rows_.start()[id + 1]; ++k) use(column[k], static_cast<double>(values_[k]));
    } else {
      for (Index j = 0; j < n; ++j) use(j, static_cast<double>(values_[id * n + j]));
    }
  }

  // w·(x − o) + b with w = w_ − mass_ o.
  double score(Index i) const {
    double dot = 0;
    for_row(i, [&](Index j, double x) { dot += x * w_.data()[j]; });
    return dot - w_origin_ + mass_ * (origin_squared_ - along_[static_cast<std::size_t>(i)]) + b_ + reach_ * mass_;
  }

  void add(Index i, double change) {
    double* w = w_.data();
    for_row(i, [&](Index j, double x) { w[j] += change * x; });
    w_origin_ += change * along_[static_cast<std::size_t>(i)];
    mass_ += change;
  }

  void restart() {
    active_ = count_;
    upper_ = std::numeric_limits<double>::infinity();
    lower_ = -std::numeric_limits<double>::infinity();
  }

  // Once over the samples that are not left out. By how much the margins are violated at the most.
  double sweep(SplitMix64& random) {
    double largest = 0, smallest = 0;
    for (Index s = 0; s < active_; ++s) {
      Index& here = order_[static_cast<std::size_t>(s)];
      std::swap(here, order_[static_cast<std::size_t>(s) + random() % static_cast<std::uint64_t>(active_ - s)]);
      const auto k = static_cast<std::size_t>(here);
      const double sign = objective_.targets().sign(here), gradient = sign * score(here) - 1, before = a_[k];
      if ((before == 0 && gradient > upper_) || (before == most_[k] && gradient < lower_)) {
        std::swap(here, order_[static_cast<std::size_t>(--active_)]);
        --s;
        continue;
      }
      if ((before == 0 && gradient >= 0) || (before == most_[k] && gradient <= 0)) continue;
      largest = std::max(largest, gradient);
      smallest = std::min(smallest, gradient);
      if (!(square_[k] > 0)) continue;
      a_[k] = std::min(std::max(before - gradient / square_[k], 0.0), most_[k]);
      add(here, sign * (a_[k] - before));
    }
    upper_ = largest > 0 ? largest : std::numeric_limits<double>::infinity();
    lower_ = smallest < 0 ? smallest : -std::numeric_limits<double>::infinity();
    return largest - smallest;
  }

  // J at (w, b), and the bound.
  void look(Descent& now) {
    const Targets& targets = objective_.targets();
    const Vector& o = objective_.origin();
    // Summed anew, which loses what rounding has brought.
    double mass[2] = {0, 0};
    Vector sum[2] = {Vector::Zero(w_.size()), Vector::Zero(w_.size())};
    for (Index i = 0; i < count_; ++i) {
      const double a = a_[static_cast<std::size_t>(i)], sign = targets.sign(i);
      if (a == 0) continue;
      double* const out = sum[sign > 0].data();
      for_row(i, [&](Index j, double x) { out[j] += sign * a * x; });
      mass[sign > 0] += a;
    }
    mass_ = mass[1] - mass[0];
    w_ = sum[0] + sum[1];
    if (o.size()) {
      sum[0] += mass[0] * o;
      sum[1] -= mass[1] * o;
      w_origin_ = w_.dot(o);
    }
    now.w = sum[0] + sum[1];
    now.b = b_ + reach_ * mass_;
    certify(objective_, sum, mass, now, pass_);
  }

  const Engine& objective_;
  const Scalar* values_;
  const Gaussians& data_;
  Rows rows_;
  Index count_, active_ = 0;
  Vector w_;                        // Σ σ a x
  double b_ = 0, reach_ = 0;        // b₀, B²
  double mass_ = 0, w_origin_ = 0;  // Σ σ a, w_·o
  double origin_squared_ = 0, upper_ = 0, lower_ = 0;
  std::vector<double> a_, most_, square_, along_;  // of each sample: a, its bound, ‖x − o‖² + B², x·o
  std::vector<Index> order_;
  Evaluated pass_;
};

}  // namespace

void certify(const Engine& objective, const Vector* side, const double* mass, Descent& now, Evaluated& pass) {
  objective.evaluate(now.w, now.b, 0.0, pass);
  now.certificate = pass.certificate;
  // The sums of a descent are longer than those of a pass, whose rounding is known.
  now.certificate.below *= choices::kLongerSums;
  DualPoint point;
  point.reach = Vector::Zero(now.w.size());
  for (int k : {0, 1}) {
    point.sum[k] = objective.lambda() * side[k];
    point.mass[k] = point.value[k] = objective.lambda() * mass[k];
  }
  const double bound = point.bound(objective.lambda(), objective.intercept(), nullptr).bound;
  now.certificate.bound = std::max(now.certificate.bound, bound - now.certificate.below);
}

bool descend(const Engine& objective, const std::function<bool(const Descent&)>& goes_on) {
  const Gaussians* const data = objective.source().whole();
  if (!data || objective.loss().name() != std::string("hinge")) return false;
  if (!data->covariance().empty()) {
    const Index rows = rows_of_span(*data, false);
    if (rows < 0 || rows >= data->features()) return false;
    descend_in_span(objective, goes_on);
    return true;
  }
  const Rows& rows = data->means();
  if (rows.has_origin()) return false;
  if (rows.wide())
    DualDescent<double>(objective, rows.wide()).run(goes_on);
  else
    DualDescent<float>(objective, rows.narrow()).run(goes_on);
  return true;
}

}  // namespace svmgsu
