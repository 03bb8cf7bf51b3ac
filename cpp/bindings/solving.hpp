// One way to solve, wherever the samples are.
#pragma once

#include <optional>

#include "checks.hpp"
#include "monitor.hpp"

namespace svmgsu::python {

// Defines solve(data, options, callback, start_w, start_b); `objective_of(data, options)` makes the objective.
template <class Data, class MakeObjective, class Features>
void def_solve(py::module_& m, MakeObjective objective_of, Features features_of) {
  using py::arg;
  m.def(
      "solve",
      [=](const Data& data, const Options& options, const py::object& callback,
          const std::optional<Array<double>>& start_w, double start_b) {
        Vector start;
        if (start_w) {
          require_size(start_w->size(), features_of(data), "start_w");
          start = to_vector(*start_w);
        }
        const Monitor monitor = monitor_of(callback);
        py::gil_scoped_release release;
        const Objective objective = objective_of(data, options);
        return solve(objective, options, monitor, start_w ? &start : nullptr, start_b);
      },
      arg("data"), arg("options"), arg("callback") = py::none(), arg("start_w") = py::none(), arg("start_b") = 0.0);
}

// The same for data that make their own objective.
template <class Data>
void def_solve(py::module_& m) {
  def_solve<Data>(
      m, [](const Data& data, const Options& o) { return data.objective(o.lambda, o.threads, o.intercept, o.loss); },
      [](const Data& data) { return data.features(); });
}

}  // namespace svmgsu::python
