// Means, covariance kinds and training sets, as views of NumPy arrays; the eigenanalysis of each sample's covariance.
// The result of each function keeps its arrays alive.
#include "bindings.hpp"

namespace svmgsu::python {
namespace {

// The covariance of a tuple of (kind, scale).
CovarianceSum sum_of(const py::tuple& terms) {
  std::vector<CovarianceSum::Term> list;
  for (const auto& item : terms) {
    const auto pair = py::cast<py::tuple>(item);
    list.push_back({py::cast<const Covariance&>(pair[0]), py::cast<double>(pair[1])});
  }
  return CovarianceSum(std::move(list));
}

template <class Scalar>
Rows sparse_rows(const Array<Scalar>& value, const Array<std::int32_t>& column, const Array<Index>& start,
                 Index features) {
  require_size(column.size(), value.size(), "column");
  require_starts(start, value.size());
  require_indices(column.data(), column.size(), features, "column");
  return {value.data(), column.data(), start.data(), start.size() - 1, features};
}

template <class Scalar>
void bind_views(py::module_& m) {
  m.def("dense_means", &dense_rows<Scalar>, exact("x"), result_keeps<1>());
  m.def("sparse_means", &sparse_rows<Scalar>, exact("value"), exact("column"), exact("start"), arg("features"),
        result_keeps<1>(), result_keeps<2>(), result_keeps<3>());
  m.def(
      "isotropic", [](const Array<Scalar>& v) { return Isotropic({v.data(), static_cast<Index>(v.size()), 1}); },
      exact("variances"), result_keeps<1>());
  m.def(
      "diagonal", [](const Array<Scalar>& v) { return Diagonal(dense_rows(v)); }, exact("variances"),
      result_keeps<1>());
  m.def(
      "sparse_diagonal",
      [](const Array<Scalar>& value, const Array<std::int32_t>& column, const Array<Index>& start, Index features) {
        return Diagonal(sparse_rows(value, column, start, features));
      },
      exact("value"), exact("column"), exact("start"), arg("features"), result_keeps<1>(), result_keeps<2>(),
      result_keeps<3>());
  m.def(
      "full",
      [](const Array<Scalar>& packed, Index features) {
        require_triangles(packed, features);
        return Full(dense_rows(packed));
      },
      exact("packed"), arg("features"), result_keeps<1>());
  m.def(
      "low_rank",
      [](const Array<Scalar>& factors, const Array<Index>& start) {
        require_starts(start, size_of(factors, 0));
        return LowRank(dense_rows(factors), start.data(), start.size() - 1);
      },
      exact("factors"), exact("start"), result_keeps<1>(), result_keeps<2>());
}

// Full matrices to packed ones, and whether these are semidefinite; means in subspaces.
template <class Scalar>
void bind_matrices(py::module_& m) {
  m.def(
      "pack",
      [](const Array<Scalar>& full, double tolerance, Array<Scalar>& packed) {
        const Index samples = size_of(full, 0, 3), n = size_of(full, 1, 3);
        require_size(size_of(full, 2, 3), n, "full: rows");
        require_size(size_of(packed, 0), samples, "packed");
        require_triangles(packed, n);
        return released(
            [&, in = full.data(), out = packed.mutable_data()] { return pack(in, samples, n, tolerance, 0, out); });
      },
      exact("full"), arg("tolerance"), exact("packed"));
  m.def(
      "clip_indefinite",
      [](Array<Scalar>& packed, Index n, double rounding, double tolerance) {
        require_triangles(packed, n);
        // Nothing is changed where the two are equal: the array may be read-only.
        Scalar* const numbers = rounding < tolerance ? packed.mutable_data() : const_cast<Scalar*>(packed.data());
        const Clipped result = released([&, at = numbers, samples = size_of(packed, 0)] {
          return clip_indefinite(at, samples, n, rounding, tolerance, 0);
        });
        return py::make_tuple(result.samples, result.farthest, result.refused.sample, result.refused.eigenvalue);
      },
      exact("packed"), arg("n"), arg("rounding"), arg("tolerance"));
  m.def(
      "project_means",
      [](const Array<Scalar>& means, const Array<double>& factors, const Array<Index>& start) {
        const Index n = size_of(means, 1);
        require_size(start.size(), size_of(means, 0) + 1, "start");
        require_size(size_of(factors, 1), n, "factors: rows");
        require_starts(start, size_of(factors, 0));
        Array<Scalar> out({means.shape(0), means.shape(1)});
        const Subspaces subspaces{to_std(factors), to_std(start)};
        released(
            [&, in = means.data(), projected = out.mutable_data()] { project_means(in, subspaces, n, 0, projected); });
        return out;
      },
      exact("means"), exact("factors"), exact("start"));
}

Gaussians gaussians_of(const Rows& means, const py::tuple& terms, const std::optional<Array<Index>>& rows) {
  std::vector<Index> ids;
  if (rows) ids = to_std(*rows);
  return Gaussians(means, sum_of(terms), rows ? &ids : nullptr);
}

// `terms` is a tuple of (kind, scale); it is kept, and with it every array.
void bind_sets(py::module_& m) {
  py::class_<Gaussians>(m, "Gaussians")
      .def(py::init(&gaussians_of), arg("means"), arg("terms"), arg("rows") = py::none(), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def_property_readonly("samples", &Gaussians::samples)
      .def_property_readonly("features", &Gaussians::features);
  py::class_<TrainingSet>(m, "TrainingSet")
      .def_property_readonly("samples", [](const TrainingSet& set) { return set.data.samples(); })
      .def_property_readonly("features", [](const TrainingSet& set) { return set.data.features(); });
  for (const bool regression : {false, true})
    m.def(
        regression ? "valued" : "labelled",
        [regression](const Rows& means, const py::tuple& terms, const Array<double>& targets,
                     const Array<double>& weights, const std::optional<Array<Index>>& rows) {
          return TrainingSet(gaussians_of(means, terms, rows), targets_of(targets, weights, regression));
        },
        arg("means"), arg("terms"), exact(regression ? "targets" : "labels"), exact("weights"),
        arg("rows") = py::none(), result_keeps<1>(), result_keeps<2>());
}

}  // namespace

void bind_data(py::module_& m) {
  py::class_<Rows>(m, "Means").def_property_readonly("samples", &Rows::count);
  py::class_<Covariance>(m, "Covariance")
      .def("add_full", [](const Covariance& kind, Index sample, double scale, Array<double>& out) {
        const Index n = size_of(out, 0), own = kind.features();
        require_size(size_of(out, 1), own < 0 ? n : own, "out");
        require_size(n, size_of(out, 1), "out");
        if (kind.samples() >= 0) require_indices(&sample, 1, kind.samples(), "sample");
        Matrix full = Matrix::Zero(n, n);
        kind.add_full(sample, scale, full);
        Eigen::Map<EigenMatrix>(out.mutable_data(), n, n) += full;
      });
  bind_views<double>(m);
  bind_views<float>(m);
  bind_matrices<double>(m);
  bind_matrices<float>(m);
  m.def("shared", &shared_of, exact("packed"), arg("features"), arg("diagonal"), arg("group"), result_keeps<1>(),
        result_keeps<4>());
  bind_sets(m);
  m.def(
      "eigen_subspaces",
      [](const py::tuple& terms, Index samples, Index features, double p) {
        const CovarianceSum covariance = sum_of(terms);
        Subspaces result = released([&] { return eigen_subspaces(covariance, samples, features, p, 0); });
        const py::ssize_t rows = result.start.back();
        return py::make_tuple(move_to_array(std::move(result.factors), {rows, features}),
                              move_to_array(std::move(result.start)));
      },
      arg("terms"), arg("samples"), arg("features"), arg("p"));
}

}  // namespace svmgsu::python
