// Mixtures in the units that deconvolution works in, and back.
#pragma once

#include "svmgsu/population/deconvolution.hpp"

namespace svmgsu {

// K weights >= 0 with a positive sum, means and covariances of n features; an InvalidArgument otherwise.
void check_mixture(const Mixture& mixture, Index features);

// A centre and a unit > 0 for each feature; an InvalidArgument otherwise.
void check_units(const Units& units, Index features);

// In units of z, with weights that sum to 1 and no variance below `floor`.
Mixture standardised(const Mixture& mixture, const Units& units, double floor);
Mixture in_units(const Mixture& mixture, const Units& units);

// The symmetric part of a matrix with its eigenvalues lifted to `floor`.
EigenMatrix at_least(const EigenMatrix& matrix, double floor);

}  // namespace svmgsu
