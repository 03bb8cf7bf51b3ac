// Extreme deconvolution (J. Bovy, D. W. Hogg, S. T. Roweis, Annals of Applied Statistics 5, 2011): the population that
// makes noisy, incomplete or projected observations most likely, and what each object then is.
//
//     const svmgsu::Observations seen{gaussians};
//     const svmgsu::Units units = svmgsu::units_of(seen);
//     const svmgsu::Mixture start = svmgsu::start_mixture(seen, units, 10, seed);
//     const svmgsu::Deconvolved found = svmgsu::deconvolve(seen, units, start, {});
//     svmgsu::posterior(seen, units, found.mixture, threads, out);
//
// An object seen as t with noise Σ belongs to component k with r_k ∝ π_k N(t; Rμ_k, T_k), T_k = R S_k Rᵀ + Σ; its truth
// is then N(b_k, B_k) with b_k = μ_k + S_k Rᵀ T_k⁻¹ (t − Rμ_k), B_k = S_k − S_k Rᵀ T_k⁻¹ R S_k. A missing value is a
// row of R that is not there. Sums run in a fixed order: the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

// A population of objects as a mixture of Gaussians, Σ_k π_k N(μ_k, S_k).
struct Mixture {
  Vector weights;      // π, K numbers that sum to 1
  Matrix means;        // μ, K × n
  Matrix covariances;  // S, K × n²: row k is S_k, row-major

  Index components() const { return weights.size(); }
  Index features() const { return means.cols(); }
};

// A shift and a unit of each feature: z = (x − centre)/scale. Deconvolution works on z, so that neither offsets nor
// units matter; what goes in and comes out is in the units of x.
struct Units {
  Vector centre, scale;
};

// Objects as they were measured: object i is seen as t_i = R_i x_i + noise of covariance Σ_i, where x_i is its truth.
// A view: what it looks at must outlive it.
struct Observations {
  const Gaussians& data;  // dense rows t_i with the noise Σ_i; a value that is NaN, or of infinite variance, is missing
  const double* projection = nullptr;  // R_i, one row-major matrix of data.features() × n for each row of the arrays
                                       // that `data` looks at; null: x itself is seen
  Index projected = 0;                 // n, where there are projections
  const double* weights = nullptr;     // how often each of the samples counts, a number >= 0; null: once

  Index features() const { return projection ? projected : data.features(); }
};

// The centre and half the range of the middle 68 % of what was seen of each feature; of projections, of the shortest x
// that agree with what was seen. A feature that was never seen, or has one value only, is an InvalidArgument.
Units units_of(const Observations& observed);

struct DeconvolutionOptions {
  double tolerance = 1e-5;  // stop when two steps in a row raise the mean log-likelihood by less each
  Index max_iterations = 500;
  double floor = 1e-6;  // the least variance of a component in any direction, in units of `Units`
  Index memory = 10;    // steps that the next one is extrapolated from; 0: plain expectation and maximisation
  int threads = 0;
};

struct Deconvolved {
  Mixture mixture;
  double log_likelihood = 0;  // the mean over the objects, in the units of the data
  Index iterations = 0;
  Stop stop = Stop::converged;
  std::vector<double> history;  // the log-likelihood before each step, and after the last
};

// A mixture to start from: k-means of the objects (k-means++ by `seed`, at most 20,000 of them), each put where one
// Gaussian population would have it.
Mixture start_mixture(const Observations& observed, const Units& units, Index components, std::uint64_t seed,
                      const DeconvolutionOptions& options = {});

// Expectation and maximisation from `start`; the likelihood never falls. The monitor sees the mean log-likelihood as
// `objective` and its last rise as `gap`, at least once a second.
Deconvolved deconvolve(const Observations& observed, const Units& units, const Mixture& start,
                       const DeconvolutionOptions& options, const Monitor& monitor = {});

// What a mixture says of ℓ objects; a pointer is to room for the numbers that are named, and one that is null is not
// asked for.
struct Posterior {
  double* log_likelihood = nullptr;  // ℓ: log Σ_k π_k N(t; Rμ_k, T_k), of the values that are not missing
  double* distance = nullptr;        // ℓ: the least (t − Rμ_k)ᵀ T_k⁻¹ (t − Rμ_k)
  double* weights = nullptr;         // ℓ × K: r_k
  double* means = nullptr;           // ℓ × K × n: b_k
  double* covariances = nullptr;     // ℓ × K × n × n: B_k
};

void posterior(const Observations& observed, const Units& units, const Mixture& mixture, int threads,
               const Posterior& out);

}  // namespace svmgsu
