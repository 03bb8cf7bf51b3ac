// Objects as they were measured: object i is seen as t_i = R_i x_i + noise of covariance Σ_i, where x_i is its truth.
#pragma once

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/population/mixture.hpp"

namespace svmgsu {

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

}  // namespace svmgsu
