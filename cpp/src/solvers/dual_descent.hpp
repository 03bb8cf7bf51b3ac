// Coordinate descent in the dual problem of the hinge (Hsieh et al., ICML 2008).
#pragma once

#include <functional>

#include "engines/engine.hpp"

namespace svmgsu {

// What it has come to: a point, J there, and a bound.
struct Descent {
  Vector w;
  double b = 0;
  Certificate certificate;
  double passes = 0;  // readings of the whole data so far
};

// Descends as long as `goes_on` of what it has come to; false where it is not for this problem: it wants the hinge,
// data in memory, and no covariances, or factors that with the means are fewer than features.
bool descend(const Engine& objective, const std::function<bool(const Descent&)>& goes_on);

// J at the point of `now`, and the bound of its dual point: Σ a x of each side, and Σ a. By a pass, in `pass`.
void certify(const Engine& objective, const Vector* side, const double* mass, Descent& now, Evaluated& pass);

}  // namespace svmgsu
