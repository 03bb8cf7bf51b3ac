// Losses, by their names.
#include <cmath>

#include "bindings.hpp"
#include "kernels/kernels.hpp"

namespace svmgsu::python {
namespace {

using Doubles = const Array<double>&;

// Calls compute(first, count) for batches of as many (d, s) as the kernels take.
template <class Compute>
void in_batches(Doubles d, Doubles s, Compute compute) {
  require_size(s.size(), d.size(), "s");
  for (Index i = 0; i < d.size(); i += kMaxBatch)
    compute(i, static_cast<int>(std::min<Index>(kMaxBatch, d.size() - i)));
}

// L, L′ and L″ for each (d, s).
py::tuple gradient_of(const Loss& loss, Doubles d, Doubles s) {
  Array<double> L(d.size()), L1(d.size()), L2(d.size());
  in_batches(d, s, [&](Index i, int count) {
    loss.gradient(count, d.data() + i, s.data() + i, L.mutable_data() + i, L1.mutable_data() + i,
                  L2.mutable_data() + i);
  });
  return py::make_tuple(L, L1, L2);
}

// The same with the two derivatives after it. NaN means the default to make_loss; here the default is None and NaN is
// refused as any wrong number is.
py::tuple derivatives(const std::string& name, std::optional<double> parameter, Doubles d, Doubles s) {
  if (parameter && std::isnan(*parameter))
    for (const LossInfo& info : known_losses())
      require(info.name != name, info.parameter + ": must be >= 0 and finite, got nan");
  const std::shared_ptr<const Loss> loss = parameter ? make_loss(name, *parameter) : make_loss(name);
  Array<double> L3(d.size()), L4(d.size());
  double second[kMaxBatch];
  in_batches(d, s, [&](Index i, int count) {
    loss->curvature(count, d.data() + i, s.data() + i, second, L3.mutable_data() + i, L4.mutable_data() + i);
  });
  return gradient_of(*loss, d, s) + py::make_tuple(L3, L4);
}

Array<double> expected_sigmoid(Doubles mean, Doubles s) {
  Array<double> out(mean.size());
  double value[kMaxBatch], second[kMaxBatch];
  in_batches(mean, s, [&](Index i, int count) {
    kernels::expected_logistic(count, mean.data() + i, s.data() + i, value, out.mutable_data() + i, second);
  });
  return out;
}

py::tuple expected_hinge(Doubles d, Doubles s) {
  Array<double> loss(d.size()), cdf(d.size()), kappa(d.size());
  in_batches(d, s, [&](Index i, int count) {
    kernels::expected_hinge(count, d.data() + i, s.data() + i, loss.mutable_data() + i, cdf.mutable_data() + i,
                            kappa.mutable_data() + i);
  });
  return py::make_tuple(loss, cdf, kappa);
}

}  // namespace

void bind_losses(py::module_& m) {
  py::class_<Loss, std::shared_ptr<Loss>>(m, "Loss")
      .def(py::init([](const std::string& name, double parameter) {
             return std::const_pointer_cast<Loss>(make_loss(name, parameter));
           }),
           arg("name"), arg("parameter") = std::numeric_limits<double>::quiet_NaN())
      .def_property_readonly("name", &Loss::name)
      .def_property_readonly("parameter", &Loss::parameter)
      .def_property_readonly("smooth", &Loss::smooth)
      .def_property_readonly("gap_error", &Loss::gap_error)
      .def("gradient", &gradient_of, exact("d"), exact("s"));
  // (name, task, parameter's name or "", its default) of each.
  m.def("known_losses", [] {
    py::list out;
    for (const LossInfo& info : known_losses())
      out.append(py::make_tuple(info.name, info.task == Task::regression ? "regression" : "classification",
                                info.parameter, info.standard));
    return out;
  });
  m.def("loss_derivatives", &derivatives, arg("name"), arg("parameter"), exact("d"), exact("s"));
  m.def("expected_sigmoid", &expected_sigmoid, exact("mean"), exact("s"));
  m.def("expected_hinge", &expected_hinge, exact("d"), exact("s"));
}

}  // namespace svmgsu::python
