// The steps: every one raises the likelihood, or is not taken.
#include "svmgsu/population/deconvolution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "population/pass.hpp"
#include "population/units.hpp"
#include "support/clock.hpp"
#include "support/linalg.hpp"
#include "support/poll.hpp"

namespace svmgsu {
namespace {

constexpr double kSecondsBetweenLooks = 0.5;
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
    Eigen::Map<EigenMatrix>(out.covariances.data() + k * n * n, n, n) =
        at_least(linalg::product_transposed(l, l), floor);
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

// Anderson's extrapolation of expectation and maximisation, whose steps are short where noise hides much of the truth:
// the next point is the combination of the last steps that would have moved least (D. G. Anderson, J. ACM 12, 1965; for
// EM: N. C. Henderson, R. Varadhan, J. Comput. Graph. Stat. 28, 2019).
class Extrapolation {
 public:
  // From how many steps; with 0 every step is taken as it is.
  explicit Extrapolation(Index memory) : memory_(memory) {}

  // The point to try after a step from `at` to `stepped`; no variance is below `floor`.
  Mixture next(const Mixture& at, const Mixture& stepped, double floor) {
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

  // Whether the last point was combined from several steps.
  bool combined() const { return combined_; }

  // Begins anew, since the last point was bad.
  void forget() {
    points_.clear();
    moves_.clear();
    point_.resize(0);
  }

 private:
  Index memory_;
  bool combined_ = false;
  EigenVector point_, move_;
  std::vector<EigenVector> points_, moves_;  // differences from one step to the next, of points and of moves
};

// The maximisation for given shares. The best covariance with no variance below the floor has the eigenvalues of the
// best one without that, lifted to the floor.
Mixture maximise(const Mixture& at, const PopulationSums& sums, double floor) {
  const Index n = at.features();
  Mixture next = at;
  for (Index k = 0; k < at.components(); ++k) {
    const double share = sums.share.coeff(k);
    next.weights.coeffRef(k) = share / sums.weight;
    if (!(share > 1e-12 * sums.weight)) continue;  // nobody is there to say where it should go
    const Eigen::Map<const EigenMatrix> s(at.covariances.data() + k * n * n, n, n);
    const Eigen::Map<const EigenMatrix> second(sums.second.data() + k * n * n, n, n);
    const EigenVector shift = s * Eigen::Map<const EigenVector>(sums.first.data() + k * n, n) / share;
    for (Index j = 0; j < n; ++j) next.means.coeffRef(k, j) += shift(j);
    const EigenMatrix best = s + linalg::product(linalg::product(s, second), s) / share - shift * shift.transpose();
    Eigen::Map<EigenMatrix>(next.covariances.data() + k * n * n, n, n) = at_least(best, floor);
  }
  return next;
}

// Where the next pass shall be. A combined step that lowers the likelihood is taken back, and the plain step from the
// point before is taken instead, which cannot.
struct Steps {
  const DeconvolutionOptions& options;
  Extrapolation extrapolation;
  Mixture point, best, plain;  // the next point; the best one, and the plain step from there
  double gain = std::numeric_limits<double>::infinity();
  int settled = 0;  // steps in a row that raised the likelihood by less than the tolerance
  bool combined = false, after_failure = false;

  Steps(const Mixture& start, const DeconvolutionOptions& o)
      : options(o), extrapolation(o.memory), point(start), best(start), plain(start) {}

  // Whether the point was an improvement; its likelihood is then added to the history.
  bool take(const PopulationSums& sums, Deconvolved& out) {
    const double value = sums.log_likelihood / sums.weight;
    if (combined && !(value >= out.log_likelihood)) {
      extrapolation.forget();
      point = plain;
      combined = false;
      after_failure = true;
      return false;
    }
    require(std::isfinite(value), "the likelihood is not finite: are values or their noise beyond 1e150?");
    if (!out.history.empty()) {
      gain = value - out.log_likelihood;
      const double small = after_failure ? options.tolerance / 100 : options.tolerance;
      settled = gain < small ? settled + 1 : 0;
    }
    after_failure = false;
    out.log_likelihood = value;
    out.history.push_back(value);
    best = point;
    plain = maximise(point, sums, options.floor);
    point = extrapolation.next(best, plain, options.floor);
    combined = extrapolation.combined();
    return true;
  }
};

}  // namespace

void check_options(const DeconvolutionOptions& options) {
  require(!std::isnan(options.tolerance), "tolerance: must be a number, got NaN");  // below 0: never settled
  require(options.max_iterations >= 0, "max_iterations: must be >= 0, got " + std::to_string(options.max_iterations));
  require(options.floor >= 0 && std::isfinite(options.floor),
          "floor: must be >= 0 and finite, got " + to_text(options.floor));
  require(options.memory >= 0, "memory: must be >= 0, got " + std::to_string(options.memory));
}

Deconvolved deconvolve(const Observations& observed, const Units& units, const Mixture& start,
                       const DeconvolutionOptions& options, const Monitor& monitor) {
  const Reader reader(observed, units);
  check_options(options);
  check_mixture(start, reader.features());
  const Clock clock;
  Deconvolved out;
  Progress progress;
  const auto goes_on = [&] {
    progress.seconds = clock.seconds();
    return !monitor || monitor(progress);
  };
  // A pass may be long: the monitor hears of the last step again.
  const Watch watch([&] { return clock.seconds() - progress.seconds <= kSecondsBetweenLooks || goes_on(); });
  Steps steps(standardised(start, units, options.floor), options);
  try {
    for (Index iteration = 0;; ++iteration) {
      const bool risen = steps.take(sums_at(steps.point, reader, options.threads), out);
      progress.iteration = out.iterations = iteration;
      progress.objective = out.log_likelihood;
      progress.gap = steps.gain;
      progress.passes = static_cast<double>(iteration + 1);
      out.stop = Stop::converged;
      if (risen && steps.settled >= 2) break;
      out.stop = Stop::iterations;
      if (iteration >= options.max_iterations) break;
      if (!goes_on()) throw Interrupted();
    }
  } catch (const Interrupted&) {
    out.stop = Stop::monitor;
  }
  out.mixture = in_units(steps.best, units);
  return out;
}

}  // namespace svmgsu
