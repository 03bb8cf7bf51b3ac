// The steps: every one raises the likelihood, or is not taken.
#include "svmgsu/population/deconvolution.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "population/extrapolation.hpp"
#include "population/pass.hpp"
#include "population/standard.hpp"
#include "support/clock.hpp"

namespace svmgsu {
namespace {

constexpr double kSecondsBetweenLooks = 0.5;

struct Interrupted {};

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
    const EigenMatrix best = s + s * second * s / share - shift * shift.transpose();
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

// What another place has summed up may be of another mixture.
void check_sums(const PopulationSums& sums, const Mixture& at) {
  const Index components = at.components(), n = at.features();
  require(sums.share.size() == components && sums.first.rows() == components && sums.first.cols() == n &&
              sums.second.rows() == components && sums.second.cols() == n * n,
          "ask: sums of " + std::to_string(components) + " components and " + std::to_string(n) +
              " features are wanted: K shares, K × n and K × n² numbers");
  require(sums.weight > 0 && std::isfinite(sums.weight), "ask: the sum of the weights must be > 0 and finite");
}

}  // namespace

void check_options(const DeconvolutionOptions& options) {
  require(!std::isnan(options.tolerance), "tolerance: must be a number, got NaN");  // below 0: never settled
  require(options.max_iterations >= 0, "max_iterations: must be >= 0, got " + std::to_string(options.max_iterations));
  require(options.floor >= 0 && std::isfinite(options.floor),
          "floor: must be >= 0 and finite, got " + to_text(options.floor));
  require(options.memory >= 0, "memory: must be >= 0, got " + std::to_string(options.memory));
}

PopulationSums population_sums(const Observations& observed, const Units& units, const Mixture& standard, int threads) {
  const Reader reader(observed, units);
  check_mixture(standard, reader.features());
  return Pass(reader, threads)(standard, {});
}

Deconvolved deconvolve_by(const std::function<PopulationSums(const Mixture&)>& ask, Index features, const Units& units,
                          const Mixture& start, const DeconvolutionOptions& options, const Monitor& monitor) {
  require(ask != nullptr, "ask: there is nobody to ask");
  require(features > 0, "features: must be > 0, got " + std::to_string(features));
  check_options(options);
  check_units(units, features);
  check_mixture(start, features);
  const Clock clock;
  Deconvolved out;
  Progress progress;
  Steps steps(standardised(start, units, options.floor), options);
  try {
    for (Index iteration = 0;; ++iteration) {
      const PopulationSums sums = ask(steps.point);
      check_sums(sums, steps.point);
      const bool risen = steps.take(sums, out);
      progress.iteration = out.iterations = iteration;
      progress.objective = out.log_likelihood;
      progress.gap = steps.gain;
      progress.passes = static_cast<double>(iteration + 1);
      out.stop = Stop::converged;
      if (risen && steps.settled >= 2) break;
      out.stop = Stop::iterations;
      if (iteration >= options.max_iterations) break;
      progress.seconds = clock.seconds();
      if (monitor && !monitor(progress)) throw Interrupted();
    }
  } catch (const Interrupted&) {
    out.stop = Stop::monitor;
  }
  out.mixture = in_units(steps.best, units);
  return out;
}

Deconvolved deconvolve(const Observations& observed, const Units& units, const Mixture& start,
                       const DeconvolutionOptions& options, const Monitor& monitor) {
  const Reader reader(observed, units);
  check_options(options);
  check_mixture(start, reader.features());
  const Pass pass(reader, options.threads);
  const Clock clock;
  Progress last;  // as it was told, for looks within a pass
  double looked = 0;
  const Monitor watched = [&](const Progress& progress) {
    looked = clock.seconds();
    last = progress;
    return !monitor || monitor(progress);
  };
  const auto pause = [&] {
    if (clock.seconds() - looked <= kSecondsBetweenLooks) return;
    last.seconds = clock.seconds();
    if (!watched(last)) throw Interrupted();
  };
  return deconvolve_by([&](const Mixture& at) { return pass(at, pause); }, reader.features(), units, start, options,
                       watched);
}

}  // namespace svmgsu
