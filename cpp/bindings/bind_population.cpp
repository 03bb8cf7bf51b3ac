// Deconvolution: populations from noisy objects, and what they say of objects.
#include <pybind11/stl.h>

#include "checks.hpp"
#include "monitor.hpp"

namespace svmgsu::python {
namespace {

Observations observations_of(const Gaussians& data, const std::optional<Array<double>>& projection,
                             const std::optional<Array<double>>& weights) {
  Observations out{data};
  if (projection) {
    require(size_of(*projection, 1, 3) == data.features(),
            "projection: expected matrices of as many rows as there are values");
    require_size(size_of(*projection, 0, 3), data.means().count(), "projection: matrices");
    out.projection = projection->data();
    out.projected = size_of(*projection, 2, 3);
  }
  if (weights) {
    require_size(weights->size(), data.samples(), "weights");
    out.weights = weights->data();
  }
  return out;
}

Units units_from(const Array<double>& centre, const Array<double>& scale) {
  return {to_vector(centre), to_vector(scale)};
}

// From weights (K,), means (K, n) and covariances (K, n, n).
Mixture mixture_from(const Array<double>& weights, const Array<double>& means, const Array<double>& covariances) {
  const Index count = weights.size(), n = size_of(means, 1);
  require_size(means.size(), count * n, "means");
  require_size(covariances.size(), count * n * n, "covariances");
  Mixture out{to_vector(weights), Matrix(count, n), Matrix(count, n * n)};
  std::copy_n(means.data(), count * n, out.means.data());
  std::copy_n(covariances.data(), count * n * n, out.covariances.data());
  return out;
}

py::tuple tuple_of(const Mixture& mixture) {
  const Index count = mixture.components(), n = mixture.features();
  return py::make_tuple(to_array(mixture.weights), to_array(mixture.means).reshape({count, n}),
                        to_array(mixture.covariances).reshape({count, n, n}));
}

DeconvolutionOptions options_of(double tolerance, Index iterations, double floor, int threads, Index memory) {
  DeconvolutionOptions out;
  out.tolerance = tolerance;
  out.max_iterations = iterations;
  out.floor = floor;
  out.threads = threads;
  out.memory = memory;
  return out;
}

// (log-likelihood, distance, weights, means or None, covariances or None)
py::tuple posterior_of(const Observations& observed, const Units& units, const Mixture& mixture, int threads,
                       bool moments, bool spreads) {
  const Index count = observed.data.samples(), components = mixture.components(), n = observed.features();
  Array<double> log_likelihood(count), distance(count), weights({count, components});
  Array<double> means({moments ? count : 0, components, n}),
      covariances({moments && spreads ? count : 0, components, n, n});
  Posterior out;
  out.log_likelihood = log_likelihood.mutable_data();
  out.distance = distance.mutable_data();
  out.weights = weights.mutable_data();
  if (moments) {
    out.means = means.mutable_data();
    if (spreads) out.covariances = covariances.mutable_data();
  }
  {
    py::gil_scoped_release release;
    posterior(observed, units, mixture, threads, out);
  }
  return py::make_tuple(log_likelihood, distance, weights, means, covariances);
}

}  // namespace

void bind_population(py::module_& m) {
  using py::arg;
  py::class_<Units>(m, "Units")
      .def(py::init(&units_from), arg("centre"), arg("scale"))
      .def_property_readonly("centre", [](const Units& u) { return to_array(u.centre); })
      .def_property_readonly("scale", [](const Units& u) { return to_array(u.scale); });
  py::class_<Mixture>(m, "Mixture")
      .def(py::init(&mixture_from), arg("weights").noconvert(), arg("means").noconvert(),
           arg("covariances").noconvert())
      .def_property_readonly("parts", &tuple_of);
  py::class_<Observations>(m, "Observations")
      .def(py::init(&observations_of), arg("data"), arg("projection").noconvert() = py::none(),
           arg("weights").noconvert() = py::none(), py::keep_alive<1, 2>(), py::keep_alive<1, 3>(),
           py::keep_alive<1, 4>())
      .def_property_readonly("features", &Observations::features)
      .def("units", &units_of, py::call_guard<py::gil_scoped_release>());
  m.def(
      "start_mixture",
      [](const Observations& observed, const Units& units, Index components, std::uint64_t seed, double floor,
         int threads) {
        return start_mixture(observed, units, components, seed, options_of(0, 0, floor, threads, 10));
      },
      arg("observed"), arg("units"), arg("components"), arg("seed"), arg("floor"), arg("threads"),
      py::call_guard<py::gil_scoped_release>());
  py::class_<Deconvolved>(m, "Deconvolved")
      .def_readonly("mixture", &Deconvolved::mixture)
      .def_readonly("log_likelihood", &Deconvolved::log_likelihood)
      .def_readonly("iterations", &Deconvolved::iterations)
      .def_readonly("history", &Deconvolved::history)
      .def_property_readonly("stop", [](const Deconvolved& d) { return name_of(d.stop); });
  m.def(
      "deconvolve",
      [](const Observations& observed, const Units& units, const Mixture& start, double tolerance, Index iterations,
         double floor, int threads, const py::object& callback, Index memory) {
        const Monitor monitor = monitor_of(callback);
        py::gil_scoped_release release;
        return deconvolve(observed, units, start, options_of(tolerance, iterations, floor, threads, memory), monitor);
      },
      arg("observed"), arg("units"), arg("start"), arg("tolerance"), arg("max_iterations"), arg("floor"),
      arg("threads"), arg("callback") = py::none(), arg("memory") = 10);
  m.def("posterior", &posterior_of, arg("observed"), arg("units"), arg("mixture"), arg("threads"), arg("moments"),
        arg("covariances") = true);
}

}  // namespace svmgsu::python
