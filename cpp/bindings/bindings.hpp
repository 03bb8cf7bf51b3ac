// What the binding files share: array types that refuse silent conversion, and views of them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

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

// C-contiguous arrays of exactly this type; arguments are marked noconvert().
template <class Scalar>
using Array = py::array_t<Scalar, py::array::c_style>;

inline Vector to_vector(const Array<double>& a) { return Eigen::Map<const EigenVector>(a.data(), a.size()); }

template <class Scalar>
std::vector<Scalar> to_std(const Array<Scalar>& a) {
  return std::vector<Scalar>(a.data(), a.data() + a.size());
}

template <class Container>
Array<double> to_array(const Container& values) {
  Array<double> out(static_cast<py::ssize_t>(values.size()));
  std::copy_n(values.data(), values.size(), out.mutable_data());
  return out;
}

// A vector handed to NumPy without a copy.
template <class Scalar>
py::array_t<Scalar> move_to_array(std::vector<Scalar>&& values, std::vector<py::ssize_t> shape) {
  auto* kept = new std::vector<Scalar>(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<Scalar>*>(p); });
  return py::array_t<Scalar>(std::move(shape), kept->data(), owner);
}

// The length of an axis, of an array that has `axes`: one of three axes, of which the last is empty, has fewer numbers
// than its first two say.
inline py::ssize_t size_of(const py::array& a, int axis, int axes = 2) {
  if (a.ndim() != axes)
    require(false, "expected an array of " + std::to_string(axes) + " axes, got " + std::to_string(a.ndim()));
  return a.shape(axis);
}

// The covariance of a tuple of (kind, scale).
inline CovarianceSum sum_of(const py::tuple& terms) {
  std::vector<CovarianceSum::Term> list;
  for (const auto& item : terms) {
    const auto pair = py::cast<py::tuple>(item);
    list.push_back({py::cast<const Covariance&>(pair[0]), py::cast<double>(pair[1])});
  }
  return CovarianceSum(std::move(list));
}

void bind_data(py::module_& m);
void bind_engines(py::module_& m);
void bind_kinds(py::module_& m);
void bind_losses(py::module_& m);
void bind_mapped(py::module_& m);
void bind_maps(py::module_& m);
void bind_models(py::module_& m);
void bind_population(py::module_& m);
void bind_solvers(py::module_& m);
void bind_streamed(py::module_& m);
void bind_support(py::module_& m);
void bind_text(py::module_& m);

}  // namespace svmgsu::python
