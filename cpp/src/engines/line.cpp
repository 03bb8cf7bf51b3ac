// J along lines, and what is found by it: the best intercept, at any w and at w = 0.
#include "engines/line.hpp"

#include <limits>

#include "engines/requests.hpp"
#include "engines/rounding.hpp"

namespace svmgsu {

Line::Line(const Engine& objective, const Evaluated& from, const Evaluated& there, const Vector& p, double p_b,
           double epsilon)
    : objective_(objective), from_(from), there_(there), p_(p), p_b_(p_b), epsilon_(epsilon) {
  objective.require_known(from, "from");
  objective.require_known(there, "there");
  objective.require_point(p, "p");
  const Source& source = objective.source();
  // Shards read for themselves, when they are asked for the first value.
  if (source.remote())
    has_read_ = !source.like().covariance().empty();
  else
    read_step();
}

// From the margins at w, w + p and w − p. The last are another pass over the data, unless they are known: where w = 0
// they are those at p, and where no sample has a variance at w and at w + p, none has one on the line through both.
void Line::read_step() {
  const auto certain = [](const std::vector<double>& variance) {
    return std::all_of(variance.begin(), variance.end(), [](double v) { return v == 0; });
  };
  const bool exact = objective_.source().like().covariance().empty();
  const bool known = exact || from_.w.squaredNorm() == 0 ||
                     (certain(objective_.cached(there_).variance) && certain(objective_.cached(from_).variance));
  PointCache read;
  if (!known) objective_.complete(read, from_.w - p_);
  has_read_ = !known;
  const PointCache &here = objective_.cached(from_), &other = objective_.cached(there_);
  const std::vector<double>& back = known ? other.variance : read.variance;
  const auto size = here.mean.size();
  for (auto* list : {&mean_, &cross_, &square_}) list->resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    mean_[i] = other.mean[i] - here.mean[i];
    cross_[i] = (other.variance[i] - back[i]) / 4;
    square_[i] = std::max(0.0, (other.variance[i] + back[i]) / 2 - here.variance[i]);
  }
}

Line::Value Line::at(double t, double beta) const {
  const auto point = [](const Evaluated& e) { return Point{e.w, e.b, e.epsilon}; };
  const Source& source = objective_.source();
  const std::array<double, kNumbers> total = total_of<kNumbers>(
      source.remote()
          ? source.ask(objective_, LineRequest{point(from_), point(there_), p_, p_b_, epsilon_, t, beta}).numbers
          : sums(t, beta));
  const double lambda = objective_.lambda(), share = 1.0 / static_cast<double>(objective_.samples());
  const bool still = p_.size() == 0;
  const double w2 = from_.w.squaredNorm(), wp = still ? 0.0 : from_.w.dot(p_), p2 = p_.squaredNorm();
  Value out;
  out.value = lambda / 2 * (w2 + 2 * t * wp + t * t * p2) + total[0] / static_cast<double>(objective_.samples());
  out.t = lambda * (wp + t * p2) + share * total[1];
  out.beta = share * total[2];
  out.t_t = lambda * p2 + share * total[3];
  out.t_beta = share * total[4];
  out.beta_beta = 1e-12 * objective_.mean_weight() + share * total[5];
  return out;
}

std::vector<double> Line::sums(double t, double beta) const {
  objective_.cached(from_);  // in one thread
  return group_sums<kNumbers>(
      objective_.cuts(), objective_.threads(),
      [&](Index first, int count, std::array<double, kNumbers>& part) { add(first, count, t, beta, part); });
}

void Line::add(Index first, int count, double t, double beta, std::array<double, kNumbers>& part) const {
  const bool still = p_.size() == 0;
  const auto at = static_cast<std::size_t>(first);
  const double *mean = &from_.cache->mean[at], *variance = &from_.cache->variance[at];
  const double* const step = still ? nullptr : &mean_[at];
  const double* const cross = still ? nullptr : &cross_[at];
  const double* const square = still ? nullptr : &square_[at];
  const Targets::View of(objective_.targets(), first, count);
  Residuals r;
  for (int i = 0; i < count; ++i) {
    const double moved = still ? 0.0 : t * (step[i] + p_b_);
    const double q = still ? variance[i] : variance[i] + t * (2 * cross[i] + t * square[i]);
    r.d[i] = of.target[i] - of.sign[i] * (mean[i] + from_.b + moved + beta);
    r.s[i] = std::sqrt(std::max(0.0, q) + epsilon_ * epsilon_);
  }
  r.evaluate(objective_.loss(), count);
  for (int i = 0; i < count; ++i) {
    part[0] += of.weight[i] * r.loss[i];
    part[2] -= of.weight[i] * of.sign[i] * r.slope[i];
    part[5] += of.weight[i] * r.curvature[i];
  }
  if (still) return;
  Bends bends;
  bends.set(objective_.loss(), count, r.d, r.s);
  for (int i = 0; i < count; ++i) {
    const double sign = of.sign[i], weight = of.weight[i];
    const double slope = -sign * (step[i] + p_b_), u = cross[i] + t * square[i];
    part[1] += weight * (r.slope[i] * slope + r.curvature[i] * u);
    if (r.curvature[i] == 0) continue;
    const double z = slope - bends.rho[i] * u, curve = weight * r.curvature[i];
    part[3] += curve * (z * z + square[i] - bends.gamma[i] * u * u);
    part[4] -= curve * sign * z;
  }
}

// Sums of the curvatures along w and along w and b, whose forms are w·x and wᵀΣw themselves.
std::vector<double> Engine::sums_along_w(const Evaluated& at) const {
  const PointCache& here = cached(at);
  return group_sums<kAlongW>(cuts(), threads(), [&](Index first, int count, std::array<double, kAlongW>& part) {
    const Targets::View of(targets(), first, count);
    const double* const mean = &here.mean[static_cast<std::size_t>(first)];
    const double* const variance = &here.variance[static_cast<std::size_t>(first)];
    Residuals r;
    Bends bends;
    r.set(count, of, mean, variance, at.b, at.epsilon);
    bends.set(loss(), count, r.d, r.s);
    for (int i = 0; i < count; ++i) {
      if (bends.second[i] == 0) continue;
      const double sign = of.sign[i], u = variance[i], curve = of.weight[i] * bends.second[i];
      const double z = -sign * mean[i] - bends.rho[i] * u;
      part[0] += curve * (z * z + u - bends.gamma[i] * u * u);
      part[1] -= curve * sign * z;
    }
  });
}

Engine::AlongW Engine::along_w(const Evaluated& at) const {
  require_known(at, "at");
  const auto total = total_of<kAlongW>(source_->remote() ? at.cache->along_w : sums_along_w(at));
  const double share = 1.0 / static_cast<double>(samples());
  return {lambda_ * at.w.squaredNorm() + share * total[0], share * total[1]};
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
double Engine::best_intercept(const Evaluated& at, double start) const {
  const PointCache& known = cached(at);
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
  const Line line(*this, at, 0.0);
  const auto f = [&](double b, double* slope) {
    const auto sum = total_of<Line::kNumbers>(line.sums(0, b));
    *slope = -sum[5];
    return -sum[2];
  };
  if (loss().smooth()) widen(low, high, f);
  const auto value = [&](double b) { return total_of<Line::kNumbers>(line.sums(0, b))[0]; };
  return falling_root(low, high, start, f, [&](double x, double y) { return value(x) <= value(y); });
}

double Engine::best_intercept(const Vector& w, double start) const { return best_intercept(at_zero(w), start); }

double Engine::value(const Vector& w, double b, double epsilon) const {
  const Evaluated at = at_zero(w);
  return Line(*this, at, epsilon).at(0, b).value;
}

Evaluated Engine::at_zero(const Vector& w) const {
  require_point(w);
  Evaluated at;
  at.w = w;
  at.cache = std::make_shared<PointCache>();
  return at;
}

// At w = 0 labels leave two residuals, 1 − b and 1 + b. Where the loss has a kink (hinge: b = ±1) it is met exactly.
Engine::Trivial Engine::trivial_of_labels() const {
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

Engine::Trivial Engine::trivial() const {
  Trivial result = task() == Task::classification ? trivial_of_labels() : trivial_of_values();
  result.above = rounding_of_sum(samples()) * result.value;
  return result;
}

Engine::Trivial Engine::trivial_of_values() const {
  const Evaluated zero = at_zero(Vector::Zero(features()));
  zero.cache->mean.assign(static_cast<std::size_t>(samples()), 0.0);
  zero.cache->variance = zero.cache->mean;
  const Line line(*this, zero, 0.0);
  Trivial result;
  result.b = intercept() ? best_intercept(zero, centre_) : 0.0;
  // The targets are here even where the samples are not.
  const auto value = [&](double b) {
    return total_of<Line::kNumbers>(line.sums(0, b))[0] / static_cast<double>(samples());
  };
  result.value = value(result.b);
  result.start = value(0.0);
  return result;
}

}  // namespace svmgsu
