// Losses, by their names.
#include <pybind11/stl.h>

#include <cmath>
#include <optional>

#include "checks.hpp"
#include "kernels/kernels.hpp"

namespace svmgsu::python {
namespace {

// L, L′ and L″ for each (d, s), a batch at a time.
py::tuple gradient_of(const Loss& loss, const Array<double>& d, const Array<double>& s) {
  const Index size = d.size();
  require_size(s.size(), size, "s");
  Array<double> a(size), b(size), c(size);
  for (Index i = 0; i < size; i += kMaxBatch)
    loss.gradient(static_cast<int>(std::min<Index>(kMaxBatch, size - i)), d.data() + i, s.data() + i,
                  a.mutable_data() + i, b.mutable_data() + i, c.mutable_data() + i);
  return py::make_tuple(a, b, c);
}

// NaN means the default to make_loss; here the default is None and NaN is refused as any wrong number is.
std::shared_ptr<const Loss> loss_of(const std::string& name, std::optional<double> parameter) {
  if (parameter && std::isnan(*parameter))
    for (const LossInfo& info : known_losses())
      require(info.name != name, info.parameter + ": must be >= 0 and finite, got nan");
  return parameter ? make_loss(name, *parameter) : make_loss(name);
}

py::tuple derivatives(const std::string& name, std::optional<double> parameter, const Array<double>& d,
                      const Array<double>& s) {
  const std::shared_ptr<const Loss> loss = loss_of(name, parameter);
  const Index size = d.size();
  require_size(s.size(), size, "s");
  Array<double> L(size), L1(size), L2(size), L3(size), L4(size);
  double* const at[] = {L.mutable_data(), L1.mutable_data(), L2.mutable_data(), L3.mutable_data(), L4.mutable_data()};
  double second[kMaxBatch];
  for (Index i = 0; i < size; i += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, size - i));
    loss->curvature(count, d.data() + i, s.data() + i, second, at[3] + i, at[4] + i);
    loss->gradient(count, d.data() + i, s.data() + i, at[0] + i, at[1] + i, at[2] + i);
  }
  return py::make_tuple(L, L1, L2, L3, L4);
}

Array<double> expected_sigmoid(const Array<double>& mean, const Array<double>& s) {
  const Index size = mean.size();
  require_size(s.size(), size, "s");
  Array<double> out(size);
  double value[kMaxBatch], second[kMaxBatch];
  for (Index i = 0; i < size; i += kMaxBatch)
    kernels::expected_logistic(static_cast<int>(std::min<Index>(kMaxBatch, size - i)), mean.data() + i, s.data() + i,
                               value, out.mutable_data() + i, second);
  return out;
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
      .def_property_readonly("parameter", &Loss::parameter)
      .def_property_readonly("smooth", &Loss::smooth)
      .def_property_readonly("error", &Loss::error)
      .def_property_readonly("gap_error", &Loss::gap_error)
      .def("gradient", &gradient_of, arg("d").noconvert(), arg("s").noconvert());
  // (name, task, parameter's name or "", its default) of each.
  m.def("known_losses", [] {
    py::list out;
    for (const LossInfo& info : known_losses())
      out.append(py::make_tuple(info.name, info.task == Task::regression ? "regression" : "classification",
                                info.parameter, info.standard));
    return out;
  });
  m.def("loss_derivatives", &derivatives, arg("name"), arg("parameter"), arg("d").noconvert(), arg("s").noconvert());
  m.def("expected_sigmoid", &expected_sigmoid, arg("mean").noconvert(), arg("s").noconvert());
}

}  // namespace svmgsu::python
