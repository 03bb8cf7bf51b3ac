// A population of objects as a mixture of Gaussians, Σ_k π_k N(μ_k, S_k).
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

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

}  // namespace svmgsu
