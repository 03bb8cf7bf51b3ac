// How the core was built, and checks of big arrays at memory speed.
#include <limits>

#include "bindings.hpp"
#include "data/faults.hpp"
#include "kernels/kernels.hpp"
#include "support/parallel.hpp"

namespace svmgsu::python {
namespace {

#define SVMGSU_STRING_(x) #x
#define SVMGSU_STRING(x) SVMGSU_STRING_(x)

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

py::dict config() {
  py::dict out;
  out["version"] = SVMGSU_VERSION;
  out["compiler"] = compiler();
  out["eigen"] =
      SVMGSU_STRING(EIGEN_WORLD_VERSION) "." SVMGSU_STRING(EIGEN_MAJOR_VERSION) "." SVMGSU_STRING(EIGEN_MINOR_VERSION);
#ifdef _OPENMP
  out["openmp"] = SVMGSU_STRING(_OPENMP);
#else
  out["openmp"] = py::none();
#endif
  out["threads"] = resolve_threads(0);
  out["instruction_set"] = kernels::instruction_set();
  return out;
}

template <class Scalar>
void bind_scan(py::module_& m) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  m.def(
      "first_outside",
      [](const Array<Scalar>& a, double least, double most, bool zero) {
        const Scalar* values = a.data();
        const Index count = a.size();
        py::gil_scoped_release release;
        return first_outside(values, count, least, most, zero);
      },
      py::arg("a").noconvert(), py::arg("least") = -infinity, py::arg("most") = infinity, py::arg("zero") = false);
}

}  // namespace

void bind_support(py::module_& m) {
  m.def("config", &config);
  bind_scan<double>(m);
  bind_scan<float>(m);
}

}  // namespace svmgsu::python
