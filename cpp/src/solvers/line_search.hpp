// The best step along a ray, with b free.
#pragma once

#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

struct RayStep {
  double t = 0, beta = 0;
};

// Minimises J(w + t p, b + t p_b + β) over t and, with an intercept, over β.
RayStep line_search(const Ray& ray, bool intercept);

}  // namespace svmgsu
