// A Python callback as the core's monitor.
#pragma once

#include "bindings.hpp"

namespace svmgsu::python {

// Runs in the thread that called the core, between two passes: looks for signals, then asks the callback.
inline Monitor monitor_of(const py::object& callback) {
  return [&callback](const Progress& p) {
    py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (callback.is_none()) return true;
    const py::object answer = callback(p);
    return answer.is_none() || py::cast<bool>(answer);
  };
}

inline const char* name_of(Stop stop) {
  switch (stop) {
    case Stop::converged:
      return "converged";
    case Stop::iterations:
      return "iterations";
    case Stop::time:
      return "time";
    case Stop::monitor:
      return "callback";
    case Stop::stalled:
      return "stalled";
    case Stop::rounding:
      return "rounding";
  }
  return "";
}

}  // namespace svmgsu::python
