#include <limits>

#include "bindings.hpp"
#include "data/faults.hpp"
#include "kernels/kernels.hpp"
#include "support/parallel.hpp"

namespace svmgsu::python {
namespace {

#define SVMGSU_STRING_(x) #x
#define SVMGSU_STRING(x) SVMGSU_STRING_(x)

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "gcc " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

// How the core was built.
py::dict config() {
  py::dict out;
  out["version"] = SVMGSU_VERSION;
  out["compiler"] = kCompiler;
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

// A check of a big array at memory speed.
template <class Scalar>
void bind_scan(py::module_& m) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  m.def(
      "first_outside",
      [](const Array<Scalar>& a, double least, double most, bool zero) {
        return released([values = a.data(), count = static_cast<Index>(a.size()), least, most, zero] {
          return first_outside(values, count, least, most, zero);
        });
      },
      exact("a"), arg("least") = -infinity, arg("most") = infinity, arg("zero") = false);
}

}  // namespace
}  // namespace svmgsu::python

PYBIND11_MODULE(_core, m) {
  using namespace svmgsu::python;
  m.doc() =
      "The C++ core of svmgsu. It refuses what would lead outside an array; the package around it checks and explains.";
  py::register_exception<svmgsu::FileError>(m, "FileError", PyExc_OSError);
  m.def("config", &config);
  bind_scan<double>(m);
  bind_scan<float>(m);
  bind_data(m);
  bind_losses(m);
  bind_solvers(m);
  bind_engines(m);
  bind_maps(m);
  bind_models(m);
  bind_population(m);
  bind_text(m);
}
