// Means, training sets, and the eigenanalysis of each sample's covariance.
#include <pybind11/stl.h>

#include "checks.hpp"

namespace svmgsu::python {
namespace {

// Each function's result keeps its arrays alive.
template <class Scalar>
void bind_means(py::module_& m) {
  using py::arg;
  m.def(
      "dense_means", [](const Array<Scalar>& x) { return Rows(x.data(), size_of(x, 0), size_of(x, 1)); },
      arg("x").noconvert(), result_keeps<1>());
  m.def("sparse_means", &sparse_rows<Scalar>, arg("value").noconvert(), arg("column").noconvert(),
        arg("start").noconvert(), arg("features"), result_keeps<1>(), result_keeps<2>(), result_keeps<3>());
}

Gaussians gaussians_of(const Rows& means, const py::tuple& terms, const std::optional<Array<Index>>& rows) {
  std::vector<Index> ids;
  if (rows) ids = to_std(*rows);
  return Gaussians(means, sum_of(terms), rows ? &ids : nullptr);
}

// `terms` is a tuple of (kind, scale); it is kept, and with it every array.
void bind_sets(py::module_& m) {
  using py::arg;
  py::class_<Gaussians>(m, "Gaussians")
      .def(py::init(&gaussians_of), arg("means"), arg("terms"), arg("rows") = py::none(), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def_property_readonly("samples", &Gaussians::samples)
      .def_property_readonly("features", &Gaussians::features);
  py::class_<TrainingSet>(m, "TrainingSet")
      .def_property_readonly("samples", [](const TrainingSet& set) { return set.data.samples(); })
      .def_property_readonly("features", [](const TrainingSet& set) { return set.data.features(); });
  m.def(
      "labelled",
      [](const Rows& means, const py::tuple& terms, const Array<double>& labels, const Array<double>& weights,
         const std::optional<Array<Index>>& rows) {
        return TrainingSet(gaussians_of(means, terms, rows), Targets::labels(to_std(labels), to_std(weights)));
      },
      arg("means"), arg("terms"), arg("labels").noconvert(), arg("weights").noconvert(), arg("rows") = py::none(),
      result_keeps<1>(), result_keeps<2>());
  m.def(
      "valued",
      [](const Rows& means, const py::tuple& terms, const Array<double>& targets, const Array<double>& weights,
         const std::optional<Array<Index>>& rows) {
        return TrainingSet(gaussians_of(means, terms, rows), Targets::values(to_std(targets), to_std(weights)));
      },
      arg("means"), arg("terms"), arg("targets").noconvert(), arg("weights").noconvert(), arg("rows") = py::none(),
      result_keeps<1>(), result_keeps<2>());
}

template <class Scalar>
void bind_projection(py::module_& m) {
  m.def(
      "project_means",
      [](const Array<Scalar>& means, const Array<double>& factors, const Array<Index>& start) {
        Array<Scalar> out({means.shape(0), means.shape(1)});
        require_size(start.size(), size_of(means, 0) + 1, "start");
        require_size(size_of(factors, 1), size_of(means, 1), "factors: rows");
        require_starts(start, size_of(factors, 0), "start");
        const Subspaces subspaces{to_std(factors), to_std(start)};
        const Scalar* in = means.data();
        Scalar* projected = out.mutable_data();
        const Index n = size_of(means, 1);
        {
          py::gil_scoped_release release;
          project_means(in, subspaces, n, 0, projected);
        }
        return out;
      },
      py::arg("means").noconvert(), py::arg("factors").noconvert(), py::arg("start").noconvert());
}

}  // namespace

void bind_data(py::module_& m) {
  py::class_<Rows>(m, "Means").def_property_readonly("samples", &Rows::count);
  bind_means<double>(m);
  bind_means<float>(m);
  bind_sets(m);
  m.def(
      "eigen_subspaces",
      [](const py::tuple& terms, Index samples, Index features, double p) {
        const CovarianceSum covariance = sum_of(terms);
        Subspaces result;
        {
          py::gil_scoped_release release;
          result = eigen_subspaces(covariance, samples, features, p, 0);
        }
        const py::ssize_t rows = result.start.back(), count = static_cast<py::ssize_t>(result.start.size());
        return py::make_tuple(move_to_array(std::move(result.factors), {rows, features}),
                              move_to_array(std::move(result.start), {count}));
      },
      py::arg("terms"), py::arg("samples"), py::arg("features"), py::arg("p"));
  bind_projection<double>(m);
  bind_projection<float>(m);
}

}  // namespace svmgsu::python
