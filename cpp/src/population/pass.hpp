// One reading of the data at a mixture: its likelihood and the sums that a step needs.
#pragma once

#include <vector>

#include "population/reader.hpp"
#include "svmgsu/population/deconvolution.hpp"

namespace svmgsu {

// The sums that a step needs, of a mixture in units of z.
// With q the share of an object in component k, P = L⁻¹R of its T = LLᵀ, and v = Rᵀ T⁻¹ (t − Rμ):
struct PopulationSums {
  double log_likelihood = 0;  // Σ w log Σ_k π_k N(t; Rμ_k, T_k)
  double weight = 0;          // Σ w
  Vector share;               // Σ q, K numbers
  Matrix first;               // Σ q v, K × n
  Matrix second;              // Σ q (v vᵀ − Rᵀ T⁻¹ R), K × n², symmetric
};

// Refuses options out of their ranges.
void check_options(const DeconvolutionOptions& options);

// One pass over the objects; it polls after every few of them.
PopulationSums sums_at(const Mixture& mixture, const Reader& reader, int threads);

// log π_k, with the least number instead of the logarithm of 0.
std::vector<double> log_weights(const Mixture& mixture);

// logs (K × lanes) become shares; the logarithm of their sums, before, is in `total`.
void normalise(double* logs, Index components, double* total);

// Per thread: the mixture's T factored for some objects, of every component.
struct Factored {
  std::vector<double> l;       // K packed matrices
  std::vector<double> y;       // K × m: L⁻¹(t − Rμ)
  std::vector<double> log;     // K: log π_k N(t; Rμ_k, T_k)
  std::vector<double> square;  // K: |y|²
  std::vector<double> work;

  void compute(const Reader& reader, const Lanes& some, const Mixture& mixture, const std::vector<double>& log_pi);
};

// Per thread: P = L⁻¹R of some objects and one component; `inverse` holds L⁻¹, masked where there are no projections.
struct Projector {
  std::vector<double> inverse, product;

  lanes::Columns of(const Reader& reader, const Lanes& some, const Factored& factored, Index k);
};

// out = Pᵀ y, n entries.
void transposed_times(const lanes::Columns& p, const double* y, Index n, double* out);

}  // namespace svmgsu
