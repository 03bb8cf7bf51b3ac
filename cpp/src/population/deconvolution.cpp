// The steps: every one raises the likelihood, or is not taken.
#include "svmgsu/population/deconvolution.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <string>

#include "population/pass.hpp"
#include "population/standard.hpp"
#include "svmgsu/support/clock.hpp"

namespace svmgsu {
namespace {

constexpr double kSecondsBetweenLooks = 0.5;

struct Interrupted {};

// The maximisation for given shares. The best covariance with no variance below the floor has the eigenvalues of the
// best one without that, lifted to the floor.
Mixture maximise(const Mixture& at, const Sums& sums, double floor) {
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

}  // namespace

Deconvolved deconvolve(const Observations& observed, const Units& units, const Mixture& start,
                       const DeconvolutionOptions& options, const Monitor& monitor) {
  const Reader reader(observed, units);
  check_mixture(start, reader.features());
  const Pass pass(reader, options.threads);
  const Clock clock;
  Deconvolved out;
  Mixture at = standardised(start, units, options.floor);
  Progress progress;
  double looked = 0;
  const auto look = [&] {
    looked = clock.seconds();
    progress.seconds = looked;
    if (monitor && !monitor(progress)) throw Interrupted();
  };
  const auto pause = [&] {
    if (clock.seconds() - looked > kSecondsBetweenLooks) look();
  };
  Mixture last = at;  // the mixture whose likelihood is known
  try {
    for (Index iteration = 0;; ++iteration) {
      const Sums sums = pass(at, pause);
      const double value = sums.log_likelihood / sums.weight;
      require(std::isfinite(value), "the likelihood is not finite: are the values or their noise beyond 1e150?");
      progress.gap = iteration ? value - out.log_likelihood : std::numeric_limits<double>::infinity();
      progress.iteration = out.iterations = iteration;
      progress.objective = out.log_likelihood = value;
      progress.passes = static_cast<double>(iteration + 1);
      out.history.push_back(value);
      last = at;
      out.stop = Stop::converged;
      if (progress.gap < options.tolerance) break;
      out.stop = Stop::iterations;
      if (iteration >= options.max_iterations) break;
      look();
      at = maximise(at, sums, options.floor);
    }
  } catch (const Interrupted&) {
    out.stop = Stop::monitor;
  }
  out.mixture = in_units(last, units);
  return out;
}

}  // namespace svmgsu
