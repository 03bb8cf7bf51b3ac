// One way to solve, wherever the examples are.
#pragma once

#include <optional>
#include <string>

#include "checks.hpp"
#include "monitor.hpp"
#include "svmgsu/engines/recorded.hpp"

namespace svmgsu::python {

// `objective_of(options)` makes the objective. `earlier` and `record` as engines/recorded.hpp has them: an earlier
// solution's entries, and who gets the new ones.
template <class MakeObjective>
Result solve_for(MakeObjective objective_of, Index features, const Options& options, const py::object& callback,
                 const std::optional<Array<double>>& start_w, double start_b, const std::string& earlier,
                 const py::object& record) {
  Vector start;
  if (start_w) {
    require_size(start_w->size(), features, "start_w");
    start = to_vector(*start_w);
  }
  const Vector* const from = start_w ? &start : nullptr;
  const Monitor monitor = monitor_of(callback);
  const auto write = [&](const std::string& entry) {
    py::gil_scoped_acquire acquire;
    record(py::bytes(entry));
  };
  const bool recording = !record.is_none() || !earlier.empty();
  Journal journal(earlier, record.is_none() ? std::function<void(const std::string&)>() : write);
  py::gil_scoped_release release;
  const auto objective = objective_of(options);
  if (!recording) return solve(objective, options, monitor, from, start_b);
  return solve(*recorded(objective, journal), options, monitor, from, start_b);
}

}  // namespace svmgsu::python
