// Maps of Gaussians and mixtures to features.
#include "bindings.hpp"

namespace svmgsu::python {
namespace {

using MapPtr = std::shared_ptr<Map>;

const double* each(const MaybeArray& values, Index count, const char* name) {
  if (!values) return nullptr;
  require_size(values->size(), count, name);
  return values->data();
}

Spread spread_named(const std::string& name) {
  if (name == "none") return Spread::none;
  if (name == "diagonal") return Spread::diagonal;
  require(name == "full", "spread: expected none, diagonal or full, got " + name);
  return Spread::full;
}

template <class Scalar>
void bind_moments(py::module_& m) {
  m.def(
      "map_moments",
      [](const Map& map, const Gaussians& data, const MaybeArray& weights, const std::string& spread,
         Array<Scalar>& mean, int threads) {
        Blend blend;
        blend.weight = each(weights, data.samples(), "weights");
        if (weights) blend.components = size_of(*weights, 1);
        const Spread kind = spread_named(spread);
        require_size(mean.size(), blend.samples(data) * map.outputs(), "mean");
        FeatureMoments found =
            released([&, out = mean.mutable_data()] { return map_moments(map, data, blend, kind, out, threads); });
        return py::make_tuple(move_to_array(std::move(found.variance)), move_to_array(std::move(found.packed)));
      },
      arg("map"), arg("data"), exact("weights"), arg("spread"), exact("mean"), arg("threads"));
}

// E z of Fourier features, (l, 2R), or `combine` times that.
Array<double> waves_of(const Array<double>& frequencies, const MaybeArray& weights, const Array<double>& means,
                       const MaybeArray& covariances, const MaybeArray& further, const MaybeArray& combine,
                       int threads) {
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
  released([&, to = out.mutable_data()] { expected_waves(w, data, combined, to, threads); });
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
      exact("frequencies"));
  m.def("polynomial_map", [](Index inputs) -> MapPtr { return std::make_shared<Polynomial>(inputs); }, arg("inputs"));
  m.def("expected_waves", &waves_of, exact("frequencies"), exact("weights"), exact("means"), exact("covariances"),
        exact("further"), exact("combine"), arg("threads"));
  bind_moments<double>(m);
  bind_moments<float>(m);
}

}  // namespace svmgsu::python
