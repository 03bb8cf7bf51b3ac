#include "svmgsu/models/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "svmgsu/support/types.hpp"

namespace svmgsu {
namespace {

constexpr int kMostCalibrationSteps = 200;
constexpr double kLeastTrueShare = 0.01;  // of the margins' variance that is believed to be true
constexpr double kPriorWidth = 1;         // deviation of the normal prior of log κ around its natural value 1/τ²

using Three = std::array<double, 3>;

// log(1 + exp(x)) without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

void require_each(const std::vector<double>& values, const char* name, const char* wanted, bool (*holds)(double)) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!holds(values[i]))
      require(false, std::string(name) + ": number " + std::to_string(i) + " is " + to_text(values[i]) +
                         "; it must be " + wanted);
}

bool is_weight(double x) { return x >= 0 && std::isfinite(x); }

void require_classes(const std::vector<double>& signs, const std::vector<double>& weights) {
  require(weights.size() == signs.size(),
          "weights: " + std::to_string(weights.size()) + " for " + std::to_string(signs.size()) + " signs");
  require_each(signs, "signs", "-1 or 1", [](double x) { return std::abs(x) == 1; });
  require_each(weights, "weights", ">= 0 and finite", is_weight);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  require(total > 0 && std::isfinite(total), "weights: their sum must be > 0 and finite");
}

Scored checked(Scored scored) {
  const std::size_t count = scored.margins.size();
  require(count > 0 && scored.signs.size() == count, "signs: as many as margins, and at least one");
  if (scored.weights.empty()) scored.weights.assign(count, 1.0);
  require(scored.weights.size() == count, "weights: as many as margins");
  if (scored.variances.empty()) scored.variances.assign(count, 0.0);
  require(scored.variances.size() == count, "variances: as many as margins");
  require_each(scored.margins, "margins", "finite", [](double x) { return std::isfinite(x); });
  require_each(scored.variances, "variances", ">= 0 and finite", is_weight);
  require_classes(scored.signs, scored.weights);
  return scored;
}

bool any_variance(const Scored& s) {
  return std::any_of(s.variances.begin(), s.variances.end(), [](double v) { return v != 0; });
}

double average(const std::vector<double>& values, const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0) / total;
}

// The variance V of the true margins: that at which (f − mean)²/(V + v) is 1 on average.
double true_variance(const Scored& s) {
  const std::size_t count = s.margins.size();
  const double mean = average(s.margins, s.weights), total = std::accumulate(s.weights.begin(), s.weights.end(), 0.0);
  double seen = 0;
  for (std::size_t i = 0; i < count; ++i) seen += s.weights[i] * (s.margins[i] - mean) * (s.margins[i] - mean);
  seen /= total;
  if (!any_variance(s)) return seen;
  double low = kLeastTrueShare * seen, high = seen;
  std::vector<double> precision(count);
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    for (std::size_t i = 0; i < count; ++i) precision[i] = s.weights[i] / (middle + s.variances[i]);
    const double centre = average(s.margins, precision);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += precision[i] * (s.margins[i] - centre) * (s.margins[i] - centre);
    (sum > total ? low : high) = middle;
  }
  return (low + high) / 2;
}

// τ², the variance of true margins within a class, from the slope a and the margins' variance V: for normal margins
// whose means are Δ apart a = Δ/τ², and V = τ² + q Δ² with q the product of the priors.
double within_classes(double a, double base, const Scored& s) {
  const double total = true_variance(s), q = 1 / (2 + 2 * std::cosh(base));
  return 2 * total / (1 + std::sqrt(1 + 4 * q * a * a * total));
}

// The penalised likelihood as a function of (a, b, log κ), where margins are in units of their spread about their mean
// and variances in units of the natural 1/κ.
class Likelihood {
 public:
  Likelihood(const Scored& s, double base, double natural, double without_noise)
      : base_(base), without_noise_(without_noise), weights_(s.weights) {
    centre_ = average(s.margins, s.weights);
    for (const double f : s.margins) spread_ = std::max(spread_, std::abs(f - centre_));
    if (spread_ <= 1e-12 * std::abs(centre_)) spread_ = 1;  // all margins are equal, up to rounding
    double positives = 0, total = 0;
    for (std::size_t i = 0; i < s.margins.size(); ++i) {
      x_.push_back((s.margins[i] - centre_) / spread_);
      noise_.push_back(natural * s.variances[i]);
      positives += s.signs[i] > 0 ? s.weights[i] : 0.0;
      total += s.weights[i];
    }
    for (const double sign : s.signs)
      target_.push_back(sign > 0 ? (positives + 1) / (positives + 2) : 1 / (total - positives + 2));
  }

  // (a, b, log κ) of the greatest likelihood, in the units of the margins: by Newton's method with the damping of
  // Levenberg and Marquardt.
  Three minimised(Three at) const;
  // a and b in units of the spread, and back.
  Three inside(double a, double b) const { return {a * spread_, b + a * centre_, 0}; }

 private:
  // use(i, share, noise) of each sample: with its noise and, to a small share, without.
  template <class Use>
  void each(double kappa, const Use& use) const {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const bool noisy = noise_[i] != 0;
      if (noisy) use(i, 1 - without_noise_, kappa * noise_[i]);
      use(i, noisy ? without_noise_ : 1.0, 0.0);
    }
  }

  double loss(const Three& at) const {
    double sum = at[2] * at[2] / (2 * kPriorWidth * kPriorWidth);
    each(std::exp(at[2]), [&](std::size_t i, double share, double noise) {
      const double z = base_ + (at[0] * x_[i] + at[1] - base_) / (1 + noise);
      sum += share * weights_[i] * (softplus(z) - target_[i] * z);
    });
    return sum;
  }

  // The gradient, the Hessian (which may be indefinite: the loss is not convex in log κ), and the diagonal of Fisher's
  // information, which is positive and serves as the scale of the damping.
  void derivatives(const Three& at, Three& gradient, std::array<Three, 3>& hessian, Three& scale) const {
    constexpr double precision = 1 / (kPriorWidth * kPriorWidth);
    gradient = {0, 0, at[2] * precision};
    hessian = {};
    scale = {0, 0, precision};
    hessian[2][2] = precision;
    each(std::exp(at[2]), [&](std::size_t i, double share, double noise) {
      const double damping = 1 / (1 + noise);
      const double evidence = (at[0] * x_[i] + at[1] - base_) * damping, z = base_ + evidence;
      const double p = sigmoid(z);
      const Three slope = {x_[i] * damping, damping, -evidence * noise * damping};
      const double weight = share * weights_[i], rest = weight * (p - target_[i]);
      for (std::size_t j = 0; j < 3; ++j) {
        gradient[j] += rest * slope[j];
        for (std::size_t k = 0; k <= j; ++k) hessian[j][k] += weight * p * (1 - p) * slope[j] * slope[k];
        scale[j] += weight * p * (1 - p) * slope[j] * slope[j];
      }
      // The second derivatives of z, all of them with log κ.
      hessian[2][0] -= rest * x_[i] * noise * damping * damping;
      hessian[2][1] -= rest * noise * damping * damping;
      hessian[2][2] += rest * slope[2] * (1 - 2 * noise * damping);
    });
  }

  double base_, without_noise_, centre_ = 0, spread_ = 0;
  std::vector<double> x_, noise_, target_, weights_;
};

// x of H x = −g by Cholesky's factorisation of the lower triangle; false where H is not positive definite.
bool solve_negative(std::array<Three, 3> h, const Three& g, Three& x) {
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t i = j; i < 3; ++i) {
      double sum = h[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= h[i][k] * h[j][k];
      if (i > j)
        h[i][j] = sum / h[j][j];
      else if (sum > 0)
        h[j][j] = std::sqrt(sum);
      else
        return false;
    }
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = -g[i];
    for (std::size_t k = 0; k < i; ++k) sum -= h[i][k] * x[k];
    x[i] = sum / h[i][i];
  }
  for (std::size_t i = 3; i-- > 0;) {
    for (std::size_t k = i + 1; k < 3; ++k) x[i] -= h[k][i] * x[k];
    x[i] /= h[i][i];
  }
  return true;
}

Three Likelihood::minimised(Three at) const {
  double now = loss(at), damping = 1e-9;
  for (int iteration = 0; iteration < kMostCalibrationSteps && damping <= 1e9; ++iteration) {
    Three gradient, scale, step{};
    std::array<Three, 3> hessian;
    derivatives(at, gradient, hessian, scale);
    double next = now;
    Three ahead = at;
    for (; damping <= 1e9; damping *= 10) {  // beyond, no descent is left at this precision
      std::array<Three, 3> damped = hessian;
      for (std::size_t j = 0; j < 3; ++j) damped[j][j] += damping * (scale[j] + 1e-12);
      if (!solve_negative(damped, gradient, step)) continue;
      for (std::size_t j = 0; j < 3; ++j) ahead[j] = at[j] + step[j];
      next = loss(ahead);
      if (next <= now) break;
    }
    if (damping > 1e9) break;
    const double gained = now - next;
    at = ahead;
    now = next;
    if (gained <= 1e-13 * now) break;
    damping = std::max(damping / 10, 1e-12);
  }
  return {at[0] / spread_, at[1] - at[0] / spread_ * centre_, at[2]};
}

}  // namespace

double Platt::probability(double score) const { return sigmoid(-(a * score + b)); }

Platt fit_platt(const std::vector<double>& margins, const std::vector<double>& signs, std::vector<double> weights) {
  const Scored s = checked({margins, {}, signs, std::move(weights)});
  const Three found = Likelihood(s, 0, 0, 0).minimised({0, log_prior_odds(s.signs, s.weights), 0});
  return {-found[0], -found[1]};
}

double log_prior_odds(const std::vector<double>& signs, const std::vector<double>& weights) {
  require_classes(signs, weights);
  double positives = 0, negatives = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) (signs[i] > 0 ? positives : negatives) += weights[i];
  if (positives == 0 || negatives == 0) {  // no class is ever certain
    positives += 1;
    negatives += 1;
  }
  return std::log(positives) - std::log(negatives);
}

Calibration fit_calibration(const Scored& given, double without_noise) {
  require(without_noise >= 0 && without_noise <= 1, "without_noise: must be in [0, 1], got " + to_text(without_noise));
  const Scored s = checked(given);
  const double base = log_prior_odds(s.signs, s.weights);
  const Platt platt = fit_platt(s.margins, s.signs, s.weights);
  if (!(platt.a < 0)) return {0, base, 0, base};
  const double natural = 1 / within_classes(-platt.a, base, s);
  if (!any_variance(s)) return {-platt.a, -platt.b, natural, base};
  const Likelihood likelihood(s, base, natural, without_noise);
  const auto [a, b, log_kappa] = likelihood.minimised(likelihood.inside(-platt.a, -platt.b));
  if (!(a > 0)) return {0, base, 0, base};
  return {a, b, natural * std::exp(log_kappa), base};
}

Calibration own_calibration(const Scored& given, double trained_odds) {
  require(std::isfinite(trained_odds), "trained_odds: must be finite, got " + to_text(trained_odds));
  const Scored s = checked(given);
  const double base = log_prior_odds(s.signs, s.weights), spread = within_classes(1, base, s);
  return {1, base - trained_odds, spread > 0 ? 1 / spread : 0, base};
}

// Here and not in the header: an application's flags (fused multiplication, say) shall not change the bits.
double Calibration::log_odds(double decision, double variance, double prior) const {
  const double evidence = a * decision + (b - base);
  return prior + (kappa > 0 ? evidence / (1 + kappa * variance) : evidence);
}

}  // namespace svmgsu
