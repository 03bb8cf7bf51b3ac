// Model files.
#include "bindings.hpp"

namespace svmgsu::python {

void bind_model(py::module_& m) {
  using py::arg;
  m.def(
      "decision_values",
      [](const Means& means, const Array<double>& w, double b, int threads) {
        const Vector weights = to_vector(w);
        std::vector<double> out;
        {
          py::gil_scoped_release release;
          out = decision_values(means, weights, b, threads);
        }
        return to_array(out);
      },
      arg("means"), arg("w").noconvert(), arg("b"), arg("threads"));
  m.def(
      "save_model",
      [](const std::string& path, const Array<double>& w, double b, double lam, const py::object& platt,
         const std::string& label_type, const std::string& negative, const std::string& positive) {
        Model model;
        model.w = to_vector(w);
        model.b = b;
        model.lambda = lam;
        if (!platt.is_none()) {
          const auto pair = py::cast<py::tuple>(platt);
          model.platt = Platt{py::cast<double>(pair[0]), py::cast<double>(pair[1])};
        }
        model.label_type = label_type;
        model.labels = {negative, positive};
        model.save(path);
      },
      arg("path"), arg("w").noconvert(), arg("b"), arg("lam"), arg("platt"), arg("label_type"), arg("negative"),
      arg("positive"));
  m.def(
      "load_model",
      [](const std::string& path) {
        const Model model = Model::load(path);
        py::object platt = py::none();
        if (model.platt) platt = py::make_tuple(model.platt->a, model.platt->b);
        py::dict out;
        out["w"] = to_array(model.w);
        out["b"] = model.b;
        out["lam"] = model.lambda;
        out["platt"] = platt;
        out["label_type"] = model.label_type;
        out["labels"] = py::make_tuple(model.labels[0], model.labels[1]);
        return out;
      },
      arg("path"));
}

}  // namespace svmgsu::python
