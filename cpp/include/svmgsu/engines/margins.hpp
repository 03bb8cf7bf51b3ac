// w·x_i and wᵀΣ_i w of every example for several w, in one reading of the data: what predictions need.
#pragma once

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

struct Margins {
  Matrix mean, variance;  // one row for each w, one column for each example
};

// `w` has one row for each.
Margins margins(const Gaussians& data, const Matrix& w, int threads = 0);

}  // namespace svmgsu
