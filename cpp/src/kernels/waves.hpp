// Waves of frequencies with at most two inputs each, of which the products are a few.
#pragma once

#include "kernels/kernels.hpp"

namespace svmgsu::kernels {

// w·x = Σ_k w[k] x[input[k]] and wᵀΣw = Σ_k product[k] Σ[place[k]], with places in Σ as WaveInput has it.
struct SparseFrequency {
  Index input[2];
  double w[2];
  Index place[3];
  double product[3];
};

// As add_waves, for groups of kWaveGroup frequencies.
void add_sparse_waves(const SparseFrequency* w, Index groups, const WaveInput& g, double scale, double* cosine,
                      double* sine);

}  // namespace svmgsu::kernels
