// Deconvolution: populations from noisy objects, and what they say of objects.
#include "bindings.hpp"

namespace svmgsu::python {
namespace {

Observations observations_of(const Gaussians& data, const MaybeArray& projection, const MaybeArray& weights) {
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

// From weights (K,), means (K, n) and covariances (K, n, n).
Mixture mixture_from(const Array<double>& weights, const Array<double>& means, const Array<double>& covariances) {
  const Index count = weights.size(), n = size_of(means, 1);
  require_size(means.size(), count * n, "means");
  require_size(covariances.size(), count * n * n, "covariances");
  return {to_vector(weights), to_matrix(means), Eigen::Map<const EigenMatrix>(covariances.data(), count, n * n)};
}

py::tuple tuple_of(const Mixture& mixture) {
  const Index count = mixture.components(), n = mixture.features();
  return py::make_tuple(to_array(mixture.weights), to_array(mixture.means).reshape({count, n}),
                        to_array(mixture.covariances).reshape({count, n, n}));
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
  if (moments) out.means = means.mutable_data();
  if (moments && spreads) out.covariances = covariances.mutable_data();
  released([&] { posterior(observed, units, mixture, threads, out); });
  return py::make_tuple(log_likelihood, distance, weights, means, covariances);
}

}  // namespace

void bind_population(py::module_& m) {
  py::class_<Units>(m, "Units")
      .def(py::init([](const Array<double>& centre, const Array<double>& scale) {
             return Units{to_vector(centre), to_vector(scale)};
           }),
           arg("centre"), arg("scale"))
      .def_property_readonly("centre", [](const Units& u) { return to_array(u.centre); })
      .def_property_readonly("scale", [](const Units& u) { return to_array(u.scale); });
  py::class_<Mixture>(m, "Mixture")
      .def(py::init(&mixture_from), exact("weights"), exact("means"), exact("covariances"))
      .def_property_readonly("parts", &tuple_of);
  py::class_<Observations>(m, "Observations")
      .def(py::init(&observations_of), arg("data"), exact("projection") = py::none(), exact("weights") = py::none(),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), py::keep_alive<1, 4>())
      .def_property_readonly("features", &Observations::features)
      .def("units", &units_of, py::call_guard<py::gil_scoped_release>());
  m.def(
      "start_mixture",
      [](const Observations& observed, const Units& units, Index components, std::uint64_t seed, double floor,
         int threads) {
        DeconvolutionOptions options;
        options.floor = floor;
        options.threads = threads;
        return start_mixture(observed, units, components, seed, options);
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
        DeconvolutionOptions options;
        options.tolerance = tolerance;
        options.max_iterations = iterations;
        options.floor = floor;
        options.threads = threads;
        options.memory = memory;
        return released(
            [&, monitor = monitor_of(callback)] { return deconvolve(observed, units, start, options, monitor); });
      },
      arg("observed"), arg("units"), arg("start"), arg("tolerance"), arg("max_iterations"), arg("floor"),
      arg("threads"), arg("callback") = py::none(), arg("memory") = DeconvolutionOptions().memory);
  m.def("posterior", &posterior_of, arg("observed"), arg("units"), arg("mixture"), arg("threads"), arg("moments"),
        arg("covariances") = true);
}

}  // namespace svmgsu::python
