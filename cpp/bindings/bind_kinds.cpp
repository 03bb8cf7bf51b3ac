// Covariance kinds, as views of NumPy arrays.
#include "checks.hpp"

namespace svmgsu::python {
namespace {

// Each function's result keeps its arrays alive.
template <class Scalar>
void bind_views(py::module_& m) {
  using py::arg;
  m.def(
      "isotropic", [](const Array<Scalar>& v) { return Isotropic({v.data(), static_cast<Index>(v.size()), 1}); },
      arg("variances").noconvert(), result_keeps<1>());
  m.def(
      "diagonal", [](const Array<Scalar>& v) { return Diagonal({v.data(), size_of(v, 0), size_of(v, 1)}); },
      arg("variances").noconvert(), result_keeps<1>());
  m.def(
      "sparse_diagonal",
      [](const Array<Scalar>& value, const Array<std::int32_t>& column, const Array<Index>& start, Index features) {
        return Diagonal(sparse_rows(value, column, start, features));
      },
      arg("value").noconvert(), arg("column").noconvert(), arg("start").noconvert(), arg("features"), result_keeps<1>(),
      result_keeps<2>(), result_keeps<3>());
  m.def(
      "full",
      [](const Array<Scalar>& packed, Index features) {
        require_triangles(packed, features);
        return Full({packed.data(), size_of(packed, 0), size_of(packed, 1)});
      },
      arg("packed").noconvert(), arg("features"), result_keeps<1>());
  m.def(
      "low_rank",
      [](const Array<Scalar>& factors, const Array<Index>& start) {
        require_starts(start, size_of(factors, 0), "start");
        return LowRank({factors.data(), size_of(factors, 0), size_of(factors, 1)}, start.data(), start.size() - 1);
      },
      arg("factors").noconvert(), arg("start").noconvert(), result_keeps<1>(), result_keeps<2>());
}

// Full matrices to packed ones, and whether these are semidefinite.
template <class Scalar>
void bind_packing(py::module_& m) {
  using py::arg;
  m.def(
      "pack",
      [](const Array<Scalar>& full, double tolerance, Array<Scalar>& packed) {
        const Scalar* in = full.data();
        Scalar* out = packed.mutable_data();
        const Index samples = size_of(full, 0, 3), n = size_of(full, 1, 3);
        require_size(size_of(full, 2, 3), n, "full: rows");
        require_size(size_of(packed, 0), samples, "packed");
        require_triangles(packed, n);
        py::gil_scoped_release release;
        return pack(in, samples, n, tolerance, 0, out);
      },
      arg("full").noconvert(), arg("tolerance"), arg("packed").noconvert());
  m.def(
      "find_indefinite",
      [](const Array<Scalar>& packed, Index n, double tolerance) {
        const Scalar* in = packed.data();
        const Index samples = size_of(packed, 0);
        require_triangles(packed, n);
        Indefinite found;
        {
          py::gil_scoped_release release;
          found = find_indefinite(in, samples, n, tolerance, 0);
        }
        return py::make_tuple(found.sample, found.eigenvalue);
      },
      arg("packed").noconvert(), arg("n"), arg("tolerance"));
  m.def(
      "clip_indefinite",
      [](Array<Scalar>& packed, Index n, double rounding, double tolerance) {
        Scalar* at = packed.mutable_data();
        const Index samples = size_of(packed, 0);
        require_triangles(packed, n);
        Clipped result;
        {
          py::gil_scoped_release release;
          result = clip_indefinite(at, samples, n, rounding, tolerance, 0);
        }
        return py::make_tuple(result.samples, result.farthest, result.refused.sample, result.refused.eigenvalue);
      },
      arg("packed").noconvert(), arg("n"), arg("rounding"), arg("tolerance"));
}

}  // namespace

void bind_kinds(py::module_& m) {
  using py::arg;
  py::class_<Covariance>(m, "Covariance")
      .def("add_full", [](const Covariance& kind, Index sample, double scale, Array<double>& out) {
        const Index n = size_of(out, 0), own = kind.features();
        require_size(size_of(out, 1), own < 0 ? n : own, "out");
        require_size(n, size_of(out, 1), "out");
        if (kind.samples() >= 0) require_indices(&sample, 1, kind.samples(), "sample");
        Matrix full = Matrix::Zero(n, n);
        kind.add_full(sample, scale, full);
        Eigen::Map<EigenMatrix>(out.mutable_data(), full.rows(), full.cols()) += full;
      });
  bind_views<double>(m);
  bind_views<float>(m);
  bind_packing<double>(m);
  bind_packing<float>(m);
  m.def(
      "shared",
      [](const Array<double>& packed, Index features, bool diagonal, const py::object& group) {
        require_triangles(packed, features, diagonal);
        return shared_of(packed, diagonal, group);
      },
      arg("packed").noconvert(), arg("features"), arg("diagonal"), arg("group"), result_keeps<1>(), result_keeps<4>());
}

}  // namespace svmgsu::python
