// J along lines, and what is found by it: the best intercept, at any w and at w = 0.
#include "engines/line.hpp"

#include <array>
#include <limits>

namespace svmgsu {
namespace {

constexpr std::size_t kNumbers = 6;  // of a point of a line

}  // namespace

Line::Line(const Objective& objective, Direction direction, const Evaluation& from, const Evaluation& there,
           const Vector& p, double p_b, double epsilon, std::vector<double> cross)
    : objective_(objective),
      direction_(direction),
      from_(from),
      there_(there),
      p_(direction == Direction::none ? Vector::Zero(from.w.size()) : p),
      p_b_(p_b),
      epsilon_(epsilon),
      cross_(std::move(cross)) {
  if (!objective.keeper() && (direction == Direction::step || direction == Direction::followed)) read_step();
}

// From the margins at w, w + p and w − p. The last are another pass over the data, unless they are known: where w = 0
// they are those at p, and where no sample has a variance at w and at w + p, none has one on the line through both.
void Line::read_step() {
  const bool followed = direction_ == Direction::followed;
  const auto certain = [](const std::vector<double>& variance) {
    return std::all_of(variance.begin(), variance.end(), [](double v) { return v == 0; });
  };
  const bool exact = objective_.source().like().covariance().empty();
  const bool known = followed || exact || from_.w.squaredNorm() == 0 ||
                     (certain(objective_.kept(there_).variance) && certain(objective_.kept(from_).variance));
  Kept read;
  if (!known) objective_.complete(read, from_.w - p_);
  const Kept &here = objective_.kept(from_), &other = objective_.kept(there_);
  const std::vector<double>& back = known ? other.variance : read.variance;
  const auto size = here.mean.size();
  mean_.resize(size);
  for (std::size_t i = 0; i < size; ++i) mean_[i] = other.mean[i] - here.mean[i];
  square_.assign(size, 0.0);
  if (followed) return;
  cross_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    cross_[i] = (other.variance[i] - back[i]) / 4;
    square_[i] = std::max(0.0, (other.variance[i] + back[i]) / 2 - here.variance[i]);
  }
}

Line::Point Line::at(double t, double beta) const {
  const Remote* const far = objective_.keeper();
  if (!far) return sum_up(sums(t, beta), t);
  if (direction_ == Direction::own && t == 0 && beta == 0) return sum_up(from_.kept->own, 0);
  return sum_up(far->line(objective_, {direction_, point_of(from_), point_of(there_), p_, p_b_, epsilon_, t, beta}), t);
}

Line::Point Line::sum_up(const std::vector<double>& groups, double t) const {
  const std::array<double, kNumbers> total = total_of<kNumbers>(groups);
  const double lambda = objective_.lambda(), share = 1.0 / static_cast<double>(objective_.samples());
  const double w2 = from_.w.squaredNorm(), wp = from_.w.dot(p_), p2 = p_.squaredNorm();
  Point out;
  out.value = lambda / 2 * (w2 + 2 * t * wp + t * t * p2) + total[0] / static_cast<double>(objective_.samples());
  out.t = lambda * (wp + t * p2) + share * total[1];
  out.beta = share * total[2];
  out.t_t = lambda * p2 + share * total[3];
  out.t_beta = share * total[4];
  out.beta_beta = 1e-12 * objective_.mean_weight() + share * total[5];
  return out;
}

std::vector<double> Line::sums(double t, double beta) const {
  const Kept& here = objective_.kept(from_);
  const bool own = direction_ == Direction::own, still = direction_ == Direction::none,
             followed = direction_ == Direction::followed;
  const double* const mean_of = own ? here.mean.data() : mean_.data();
  const double* const cross_of = own ? here.variance.data() : cross_.data();
  const double* const square_of = own ? here.variance.data() : square_.data();
  const double extra = epsilon_ * epsilon_;
  const auto add = [&](Index first, int count, std::array<double, kNumbers>& part) {
    Residuals r;
    Bends bends;
    const Targets::View of(objective_.targets(), first, count);
    const double *mean = here.mean.data() + first, *variance = here.variance.data() + first;
    if (still) {
      for (int i = 0; i < count; ++i) {
        r.d[i] = of.target[i] - of.sign[i] * (mean[i] + from_.b + beta);
        r.s[i] = std::sqrt(variance[i] + extra);
      }
      r.evaluate(objective_.loss(), count);
      for (int i = 0; i < count; ++i) {
        part[0] += of.weight[i] * r.loss[i];
        part[2] -= of.weight[i] * of.sign[i] * r.slope[i];
        part[5] += of.weight[i] * r.curvature[i];
      }
      return;
    }
    const double *step = mean_of + first, *cross = cross_of + first, *square = square_of + first;
    for (int i = 0; i < count; ++i) {
      const double q = variance[i] + t * (2 * cross[i] + t * square[i]);
      r.d[i] = of.target[i] - of.sign[i] * (mean[i] + from_.b + t * (step[i] + p_b_) + beta);
      r.s[i] = std::sqrt(std::max(0.0, q) + extra);
    }
    r.evaluate(objective_.loss(), count);
    if (!followed) bends.set(objective_.loss(), count, r.d, r.s);
    for (int i = 0; i < count; ++i) {
      const double sign = of.sign[i], weight = of.weight[i];
      const double slope = -sign * (step[i] + p_b_), u = cross[i] + t * square[i];
      part[0] += weight * r.loss[i];
      part[1] += weight * (r.slope[i] * slope + r.curvature[i] * u);
      part[2] += weight * (-r.slope[i] * sign);
      if (followed || r.curvature[i] == 0) continue;
      const double z = slope - bends.rho[i] * u, curve = weight * r.curvature[i];
      part[3] += curve * (z * z + square[i] - bends.gamma[i] * u * u);
      part[4] -= curve * sign * z;
      part[5] += curve;
    }
  };
  return group_sums<kNumbers>(objective_.cuts(), objective_.threads(), add);
}

Line Objective::line(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                     double epsilon) const {
  require_known(from, "from");
  require_known(there, "there");
  require_point(p, "p");
  return Line(*this, Direction::step, from, there, p, p_b, epsilon);
}

Line Objective::line_of_w(const Evaluation& at) const {
  require_known(at, "at");
  return Line(*this, Direction::own, at, at, at.w, 0.0, at.epsilon);
}

Line Objective::line_at(const Evaluation& at, double epsilon) const {
  require_known(at, "at");
  return Line(*this, Direction::none, at, at, Vector(), 0.0, epsilon);
}

namespace {

// Where f, which does not increase and is ≥ 0 at `low` and ≤ 0 at `high`, changes its sign: Newton's iteration inside
// a shrinking bracket. f(x, &slope) gives its derivative as well; lower(x, y) tells at which of two neighbouring
// numbers the integral −∫f is smaller.
template <class F, class Lower>
double falling_root(double low, double high, double start, F f, Lower lower) {
  double x = std::min(std::max(start, low), high), width_before = high - low;
  for (int step = 0; step < 200; ++step) {
    double slope;
    const double here = f(x, &slope);
    if (here == 0) return x;
    (here > 0 ? low : high) = x;
    const double newton = x - here / slope;
    const bool halve = !(newton > low && newton < high) || (step % 3 == 2 && high - low > width_before / 2);
    if (step % 3 == 2) width_before = high - low;
    const double next = halve ? low + (high - low) / 2 : newton;
    if (next == x || next == low || next == high) return lower(low, high) ? low : high;  // no number lies between
    x = next;
  }
  return x;
}

// Losses that only tend to zero (logistic, squared hinge) may have their balance beyond every kink.
template <class F>
void widen(double& low, double& high, F f) {
  double slope, step = std::max(1.0, high - low);
  for (int k = 0; k < 60 && f(low, &slope) < 0; ++k, step *= 2) low -= step;
  step = std::max(1.0, high - low);
  for (int k = 0; k < 60 && f(high, &slope) > 0; ++k, step *= 2) high += step;
}

}  // namespace

// `at` has b = 0.
double Objective::best_intercept(const Evaluation& at, double start) const {
  const Kept& known = kept(at);
  double low = std::numeric_limits<double>::infinity(), high = -low, mass[2];
  for (Index i = 0; i < samples(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double reach = 40 * std::sqrt(known.variance[k]);
    const double zero = targets().sign(i) * targets().target(i) - known.mean[k];  // of the residual
    low = std::min(low, zero - reach);
    high = std::max(high, zero + reach);
  }
  targets().masses(mass);
  if (task() == Task::classification && mass[0] == 0) return high;  // nothing pulls back
  if (task() == Task::classification && mass[1] == 0) return low;
  const Line line(*this, Direction::none, at, at, Vector(), 0.0, 0.0);
  const auto f = [&](double b, double* slope) {
    const std::array<double, kNumbers> sum = total_of<kNumbers>(line.sums(0, b));
    *slope = -sum[5];
    return -sum[2];
  };
  if (loss().smooth()) widen(low, high, f);
  const auto value = [&](double b) { return total_of<kNumbers>(line.sums(0, b))[0]; };
  return falling_root(low, high, start, f, [&](double x, double y) { return value(x) <= value(y); });
}

double Objective::best_intercept(const Vector& w, double start) const {
  require_point(w);
  Evaluation at;
  at.w = w;
  at.kept = std::make_shared<Kept>();
  complete(*at.kept, w);
  return best_intercept(at, start);
}

double Objective::value(const Vector& w, double b, double epsilon) const {
  require_point(w);
  Evaluation at;
  at.w = w;
  at.b = b;
  at.kept = std::make_shared<Kept>();
  complete(*at.kept, w);
  const Line line(*this, Direction::none, at, at, Vector(), 0.0, epsilon);
  return line.sum_up(line.sums(0, 0), 0).value;
}

// At w = 0 labels leave two residuals, 1 − b and 1 + b. Where the loss has a kink (hinge: b = ±1) it is met exactly.
Objective::Trivial Objective::trivial_of_labels() const {
  double mass[2];
  targets().masses(mass);
  const auto slopes = [&](double b, double* loss_of, double* slope_of, double* curvature_of) {
    const double d[2] = {1 + b, 1 - b}, s[2] = {0, 0};
    loss().gradient(2, d, s, loss_of, slope_of, curvature_of);
  };
  double of[2], slope_of[2], curvature_of[2];
  const auto at = [&](double b) {
    slopes(b, of, slope_of, curvature_of);
    return (mass[1] * of[1] + mass[0] * of[0]) / static_cast<double>(samples());
  };
  Trivial result;
  result.start = at(0);
  result.value = result.start;
  if (!intercept()) return result;
  result.b = mass[1] >= mass[0] ? 1.0 : -1.0;
  result.value = at(result.b);
  if (!loss().smooth() || mass[0] == 0 || mass[1] == 0) return result;
  const auto f = [&](double b, double* slope) {
    slopes(b, of, slope_of, curvature_of);
    *slope = -mass[1] * curvature_of[1] - mass[0] * curvature_of[0];
    return mass[1] * slope_of[1] - mass[0] * slope_of[0];
  };
  double low = -1, high = 1;
  widen(low, high, f);
  result.b = falling_root(low, high, 0.0, f, [&](double x, double y) { return at(x) <= at(y); });
  result.value = at(result.b);
  return result;
}

Objective::Trivial Objective::trivial() const {
  if (task() == Task::classification) return trivial_of_labels();
  Evaluation zero;
  zero.w = Vector::Zero(features());
  zero.kept = std::make_shared<Kept>();
  zero.kept->mean.assign(static_cast<std::size_t>(samples()), 0.0);
  zero.kept->variance = zero.kept->mean;
  const Line line(*this, Direction::none, zero, zero, Vector(), 0.0, 0.0);
  const auto value = [&](double b) { return line.sum_up(line.sums(0, b), 0).value; };
  Trivial result;
  result.b = intercept() ? best_intercept(zero, centre_) : 0.0;
  result.value = value(result.b);
  result.start = value(0.0);
  return result;
}

}  // namespace svmgsu
