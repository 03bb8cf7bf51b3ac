// The best step along a line, with b free.
#pragma once

#include "engines/line.hpp"

namespace svmgsu {

struct LineStep {
  double t = 0, beta = 0;
};

// Minimises J(w + t p, b + t p_b + β) over t and, with an intercept, over β. No step where p is no descent.
LineStep line_search(const Line& line, bool intercept);

}  // namespace svmgsu
