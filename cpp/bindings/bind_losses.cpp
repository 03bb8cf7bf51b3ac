// Losses, by their names.
#include <pybind11/stl.h>

#include "checks.hpp"

namespace svmgsu::python {
namespace {

using Three = void (Loss::*)(int, const double*, const double*, double*, double*, double*) const;

// Three numbers for each (d, s), a batch at a time.
py::tuple in_batches(const Loss& loss, Three three, const Array<double>& d, const Array<double>& s) {
  const Index size = d.size();
  require_size(s.size(), size, "s");
  Array<double> a(size), b(size), c(size);
  for (Index i = 0; i < size; i += kMaxBatch)
    (loss.*three)(static_cast<int>(std::min<Index>(kMaxBatch, size - i)), d.data() + i, s.data() + i,
                  a.mutable_data() + i, b.mutable_data() + i, c.mutable_data() + i);
  return py::make_tuple(a, b, c);
}

}  // namespace

void bind_losses(py::module_& m) {
  using py::arg;
  py::class_<Loss, std::shared_ptr<Loss>>(m, "Loss")
      .def(py::init([](const std::string& name, double parameter) {
             return std::const_pointer_cast<Loss>(make_loss(name, parameter));
           }),
           arg("name"), arg("parameter") = std::numeric_limits<double>::quiet_NaN())
      .def_property_readonly("name", &Loss::name)
      .def_property_readonly("smooth", &Loss::smooth)
      .def_property_readonly("error", &Loss::error)
      .def(
          "gradient",
          [](const Loss& loss, const Array<double>& d, const Array<double>& s) {
            return in_batches(loss, &Loss::gradient, d, s);
          },
          arg("d").noconvert(), arg("s").noconvert())
      .def(
          "curvature",
          [](const Loss& loss, const Array<double>& d, const Array<double>& s) {
            return in_batches(loss, &Loss::curvature, d, s);
          },
          arg("d").noconvert(), arg("s").noconvert());
  // (name, task, parameter's name or "", its default) of each.
  m.def("known_losses", [] {
    py::list out;
    for (const LossInfo& info : known_losses())
      out.append(py::make_tuple(info.name, info.task == Task::regression ? "regression" : "classification",
                                info.parameter, info.standard));
    return out;
  });
}

}  // namespace svmgsu::python
