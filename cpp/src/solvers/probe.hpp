// A look ahead along the first step, by some of the samples.
#pragma once

#include "solvers/line_search.hpp"
#include "solvers/step.hpp"

namespace svmgsu {

struct Probe {
  bool done = false;     // false: there are too few samples to look at some
  bool blurred = false;  // whether the step leads to where no s is below `sharp`
  LineStep best;         // how far to go
};

// From `at`, with the smoothing of `at` or, where all is blurred, `epsilon`.
Probe probe_step(const Objective& objective, const Evaluation& at, const Step& p, double sharp, double epsilon);

}  // namespace svmgsu
