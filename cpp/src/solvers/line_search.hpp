// The best step along a line, with b free, and a look ahead along the first step.
#pragma once

#include "engines/line.hpp"
#include "solvers/preconditioner.hpp"

namespace svmgsu {

struct LineStep {
  double t = 0, beta = 0;
};

// Minimises J(w + t p, b + t p_b + β) over t and, with an intercept, over β. No step where p is no descent.
LineStep line_search(const Line& line, bool intercept);

// A look ahead along the first step, by some of the samples.
struct Probe {
  bool done = false;     // false: there are too few samples to look at some
  bool blurred = false;  // whether the step leads to where no s is below `sharp`
  LineStep best;         // how far to go
};

// From `at`, with the smoothing of `at` or, where all is blurred, `epsilon`.
Probe probe_step(const Objective& objective, const Evaluation& at, const Step& p, double sharp, double epsilon);

}  // namespace svmgsu
