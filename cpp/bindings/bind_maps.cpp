// Maps of Gaussians and mixtures to features.
#include <pybind11/stl.h>

#include "checks.hpp"

namespace svmgsu::python {
namespace {

using MapPtr = std::shared_ptr<Map>;
using Weights = std::optional<Array<double>>;

Matrix to_matrix(const Array<double>& a) {
  Matrix out(size_of(a, 0), size_of(a, 1));
  std::copy_n(a.data(), out.size(), out.data());
  return out;
}

Array<double> to_rows(const Matrix& matrix) {
  Array<double> out({matrix.rows(), matrix.cols()});
  std::copy_n(matrix.data(), matrix.size(), out.mutable_data());
  return out;
}

Blend blend_of(const Gaussians& data, const Weights& weights) {
  if (!weights) return {};
  require_size(weights->size(), data.samples(), "weights");
  return {weights->data(), size_of(*weights, 1)};
}

const double* each(const Weights& weights, Index samples, const char* name) {
  if (!weights) return nullptr;
  require_size(weights->size(), samples, name);
  return weights->data();
}

Spread spread_named(const std::string& name) {
  if (name == "none") return Spread::none;
  if (name == "diagonal") return Spread::diagonal;
  if (name == "lowrank") return Spread::low_rank;
  require(name == "full", "spread: expected none, diagonal, lowrank or full, got " + name);
  return Spread::full;
}

template <class Scalar>
void bind_moments(py::module_& m) {
  using py::arg;
  m.def(
      "map_moments",
      [](const Map& map, const Gaussians& data, const Weights& weights, const std::string& spread, Array<Scalar>& mean,
         int threads) {
        const Blend blend = blend_of(data, weights);
        const Spread kind = spread_named(spread);
        require_size(mean.size(), blend.samples(data) * map.outputs(), "mean");
        Scalar* const out = mean.mutable_data();
        FeatureMoments found;
        {
          py::gil_scoped_release release;
          found = map_moments(map, data, blend, kind, out, threads);
        }
        const py::ssize_t rows = found.start.empty() ? 0 : found.start.back();
        const auto starts = static_cast<py::ssize_t>(found.start.size());
        return py::make_tuple(to_rows(found.variance), to_rows(found.packed),
                              move_to_array(std::move(found.factors), {rows, map.outputs()}),
                              move_to_array(std::move(found.start), {starts}));
      },
      arg("map"), arg("data"), arg("weights").noconvert(), arg("spread"), arg("mean").noconvert(), arg("threads"));
}

// E z of Fourier features, (l, 2R), or `combine` times that.
Array<double> waves_of(const Array<double>& frequencies, const Weights& weights, const Array<double>& means,
                       const Weights& covariances, const Weights& further, const Weights& combine, int threads) {
  MixtureArrays data;
  data.samples = size_of(means, 0, 3);
  data.components = size_of(means, 1, 3);
  data.features = size_of(means, 2, 3);
  data.means = means.data();
  const Index rows = data.samples * data.components, n = data.features;
  data.weights = each(weights, rows, "weights");
  if (covariances) {
    data.diagonal = covariances->ndim() == 3;
    size_of(*covariances, 0, data.diagonal ? 3 : 4);
    data.covariances = each(covariances, rows * n * (data.diagonal ? 1 : n), "covariances");
  }
  if (further) {
    data.known = size_of(*further, 1);
    data.further = each(further, data.samples * data.known, "further");
  }
  const Matrix w = to_matrix(frequencies);
  require(!combine || size_of(*combine, 0) > 0, "combine: there are no rows");
  const Matrix combined = combine ? to_matrix(*combine) : Matrix(0, 0);
  Array<double> out({data.samples, combine ? combined.rows() : 2 * w.rows()});
  double* const to = out.mutable_data();
  {
    py::gil_scoped_release release;
    expected_waves(w, data, combined, to, threads);
  }
  return out;
}

}  // namespace

void bind_maps(py::module_& m) {
  py::class_<Map, MapPtr>(m, "Map")
      .def_property_readonly("inputs", &Map::inputs)
      .def_property_readonly("outputs", &Map::outputs);
  m.def(
      "fourier_map",
      [](const Array<double>& frequencies) -> MapPtr { return std::make_shared<Fourier>(to_matrix(frequencies)); },
      py::arg("frequencies").noconvert());
  m.def(
      "landmark_map",
      [](const Array<double>& landmarks, const Array<double>& transform) -> MapPtr {
        return std::make_shared<Landmarks>(to_matrix(landmarks), to_matrix(transform));
      },
      py::arg("landmarks").noconvert(), py::arg("transform").noconvert());
  m.def(
      "polynomial_map", [](Index inputs) -> MapPtr { return std::make_shared<Polynomial>(inputs); }, py::arg("inputs"));
  m.def("expected_waves", &waves_of, py::arg("frequencies").noconvert(), py::arg("weights").noconvert(),
        py::arg("means").noconvert(), py::arg("covariances").noconvert(), py::arg("further").noconvert(),
        py::arg("combine").noconvert(), py::arg("threads"));
  bind_moments<double>(m);
  bind_moments<float>(m);
}

}  // namespace svmgsu::python
