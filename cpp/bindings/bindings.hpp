// What the binding files share: arrays that refuse silent conversion, checks of what would lead outside an array, and
// the core's monitor.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "svmgsu/svmgsu.hpp"

namespace svmgsu::python {

namespace py = pybind11;

// The result keeps argument `Patient` alive. pybind11 3.1 runs py::keep_alive<0, ...> on the result of
// an overload that did not match, too, and crashes (its pull request 6154); this one does not.
template <std::size_t Patient>
struct result_keeps {};

}  // namespace svmgsu::python

namespace pybind11::detail {

template <std::size_t Patient>
struct process_attribute<svmgsu::python::result_keeps<Patient>>
    : process_attribute_default<svmgsu::python::result_keeps<Patient>> {
  static void postcall(function_call& call, handle result) {
    if (result.ptr() != PYBIND11_TRY_NEXT_OVERLOAD) keep_alive_impl(0, Patient, call, result);
  }
};

}  // namespace pybind11::detail

namespace svmgsu::python {

using py::arg;

// C-contiguous arrays of exactly this type, as arguments that are declared `exact`.
template <class Scalar>
using Array = py::array_t<Scalar, py::array::c_style>;
using MaybeArray = std::optional<Array<double>>;

inline py::arg exact(const char* name) { return arg(name).noconvert(); }

inline Vector to_vector(const Array<double>& a) { return Eigen::Map<const EigenVector>(a.data(), a.size()); }

template <class Scalar>
std::vector<Scalar> to_std(const Array<Scalar>& a) {
  return std::vector<Scalar>(a.data(), a.data() + a.size());
}
inline std::vector<double> to_std(const MaybeArray& a) { return a ? to_std(*a) : std::vector<double>(); }

template <class Container>
auto to_array(const Container& values) {
  Array<std::decay_t<decltype(*values.data())>> out(static_cast<py::ssize_t>(values.size()));
  std::copy_n(values.data(), values.size(), out.mutable_data());
  return out;
}

// Numbers handed to NumPy without a copy.
template <class Owner>
auto move_to_array(Owner&& values, std::vector<py::ssize_t> shape) {
  auto* kept = new Owner(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<Owner*>(p); });
  return py::array_t<std::decay_t<decltype(*kept->data())>>(std::move(shape), kept->data(), owner);
}
template <class Scalar>
py::array_t<Scalar> move_to_array(std::vector<Scalar>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return move_to_array(std::move(values), {size});
}
inline py::array_t<double> move_to_array(Matrix&& values) {
  const std::vector<py::ssize_t> shape{values.rows(), values.cols()};
  return move_to_array(std::move(values), shape);
}

// What `compute` returns; other threads of Python run meanwhile.
template <class Compute>
auto released(const Compute& compute) {
  const py::gil_scoped_release release;
  return compute();
}

// The length of an axis, of an array that has `axes`: one of three axes, of which the last is empty, has fewer numbers
// than its first two say.
inline py::ssize_t size_of(const py::array& a, int axis, int axes = 2) {
  if (a.ndim() != axes)
    require(false, "expected an array of " + std::to_string(axes) + " axes, got " + std::to_string(a.ndim()));
  return a.shape(axis);
}

inline Matrix to_matrix(const Array<double>& a) {
  return Eigen::Map<const EigenMatrix>(a.data(), size_of(a, 0), size_of(a, 1));
}

template <class Scalar>
Rows dense_rows(const Array<Scalar>& a) {
  return {a.data(), size_of(a, 0), size_of(a, 1)};
}

// The last door before memory: arrays whose indices or lengths would lead outside an array are refused here, whatever
// Python did not see. One pass over the indices, at memory speed.
inline void require_size(Index found, Index wanted, const char* name) {
  if (found != wanted)
    require(false,
            std::string(name) + ": expected " + std::to_string(wanted) + " numbers, got " + std::to_string(found));
}

// All of 0 <= index < below.
template <class Int>
void require_indices(const Int* index, Index count, Index below, const char* name) {
  Int least = 0, most = 0;
  for (Index i = 0; i < count; ++i) {
    least = std::min(least, index[i]);
    most = std::max(most, index[i]);
  }
  if (least < 0 || (count > 0 && static_cast<Index>(most) >= below))
    require(false, std::string(name) + ": indices from " + std::to_string(least) + " to " + std::to_string(most) +
                       ", but they must be >= 0 and < " + std::to_string(below));
}

// Where rows begin: rises from 0 to the number of entries.
inline void require_starts(const Array<Index>& start, Index entries) {
  const Index* const at = start.data();
  const Index size = start.size();
  bool rises = size > 0 && at[0] == 0 && at[size - 1] == entries;
  for (Index i = 1; i < size; ++i) rises &= at[i - 1] <= at[i];
  if (!rises) require(false, "start: must rise from 0 to the number of entries, " + std::to_string(entries));
}

// Rows of n(n+1)/2 numbers, or of n.
inline void require_triangles(const py::array& packed, Index features, bool diagonal = false) {
  require(features >= 0 && features < (Index{1} << 31), "features: must be >= 0 and < 2^31");
  require_size(size_of(packed, 1), diagonal ? features : features * (features + 1) / 2, "packed: rows");
}

// Matrices, one a row, that samples share; `group` is None or one number for each sample.
inline Covariance shared_of(const Array<double>& packed, Index features, bool diagonal, const py::object& group) {
  require_triangles(packed, features, diagonal);
  const Covariance kind = diagonal ? Diagonal(dense_rows(packed)) : Full(dense_rows(packed));
  if (group.is_none()) return Shared(kind);
  require(py::isinstance<Array<std::int32_t>>(group), "group: expected an array of int32");
  const auto array = py::cast<Array<std::int32_t>>(group);
  require_indices(array.data(), array.size(), size_of(packed, 0), "group");
  return Shared(kind, array.data(), array.size());
}

inline Targets targets_of(const Array<double>& targets, const MaybeArray& weights, bool regression) {
  return regression ? Targets::values(to_std(targets), to_std(weights))
                    : Targets::labels(to_std(targets), to_std(weights));
}

// A Python callback as the core's monitor. Runs in the thread that called the core, between two passes: looks for
// signals, then asks the callback.
inline Monitor monitor_of(const py::object& callback) {
  return [&callback](const Progress& p) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (callback.is_none()) return true;
    const py::object answer = callback(p);
    return answer.is_none() || py::cast<bool>(answer);
  };
}

// A Python object that whoever is last may let go of.
inline std::shared_ptr<py::object> held(py::object object) {
  return {new py::object(std::move(object)), [](py::object* p) {
            const py::gil_scoped_acquire acquire;
            delete p;
          }};
}

inline const char* name_of(Stop stop) {
  switch (stop) {
    case Stop::iterations:
      return "iterations";
    case Stop::time:
      return "time";
    case Stop::monitor:
      return "callback";
    default:
      return status_of(stop);
  }
}

void bind_data(py::module_& m);
void bind_engines(py::module_& m);
void bind_losses(py::module_& m);
void bind_maps(py::module_& m);
void bind_models(py::module_& m);
void bind_population(py::module_& m);
void bind_solvers(py::module_& m);
void bind_text(py::module_& m);

}  // namespace svmgsu::python
