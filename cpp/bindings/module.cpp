#include "bindings.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace svmgsu::python;
  m.doc() =
      "The C++ core of svmgsu. It refuses what would lead outside an array; the package around it checks and explains.";
  py::register_exception<svmgsu::FileError>(m, "FileError", PyExc_OSError);
  bind_config(m);
  bind_covariance(m);
  bind_objective(m);
  bind_solve(m);
  bind_subspace(m);
  bind_model(m);
  bind_text(m);
}
