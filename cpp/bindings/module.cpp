#include "bindings.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace svmgsu::python;
  m.doc() =
      "The C++ core of svmgsu. It refuses what would lead outside an array; the package around it checks and explains.";
  py::register_exception<svmgsu::FileError>(m, "FileError", PyExc_OSError);
  bind_support(m);
  bind_kinds(m);
  bind_data(m);
  bind_losses(m);
  bind_engines(m);
  bind_solvers(m);
  bind_streamed(m);
  bind_mapped(m);
  bind_maps(m);
  bind_models(m);
  bind_population(m);
  bind_text(m);
}
