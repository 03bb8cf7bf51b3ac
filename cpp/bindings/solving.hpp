// One way to solve, wherever the samples are.
#pragma once

#include <optional>

#include "checks.hpp"
#include "monitor.hpp"

namespace svmgsu::python {

// `objective_of(options)` makes the objective.
template <class MakeObjective>
Result solve_for(MakeObjective objective_of, Index features, const Options& options, const py::object& callback,
                 const std::optional<Array<double>>& start_w, double start_b) {
  Vector start;
  if (start_w) {
    require_size(start_w->size(), features, "start_w");
    start = to_vector(*start_w);
  }
  const Vector* const from = start_w ? &start : nullptr;
  const Monitor monitor = monitor_of(callback);
  py::gil_scoped_release release;
  const auto objective = objective_of(options);
  return solve(objective, options, monitor, from, start_b);
}

}  // namespace svmgsu::python
