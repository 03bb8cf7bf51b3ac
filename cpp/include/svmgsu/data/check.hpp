// What a program that embeds the library may have got wrong: numbers that are not numbers, negative variances, indices
// that lead outside an array. `train` looks for it first, unless Options::check is false; one pass over the data.
#pragma once

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// Throws InvalidArgument, whose message names the array, the example and the feature:
//     covariance: example 17 has variance -0.3 at feature 4; variances must be >= 0
// Of a full matrix it looks at variances and correlations (of -1 to 1), which costs no more than a pass; whether it is
// positive semidefinite, find_indefinite tells. Examples and features are counted from 0.
void check(const Gaussians& data, int threads = 0);

// The same of some rows, in one thread, without covariances that several share; the message, or an empty one.
std::string fault_of(const Gaussians& data, const std::vector<Index>& ids);

// The first of some numbers that is not in [least, most], nor the 0 that `zero` allows; -1 if there is none. NaN and
// infinity are in no range.
template <class Scalar>
Index first_outside(const Scalar* values, Index count, double least, double most, bool zero);

}  // namespace svmgsu
