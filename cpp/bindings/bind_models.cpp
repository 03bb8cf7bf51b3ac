// Model files.
#include <pybind11/stl.h>

#include <sstream>

#include "checks.hpp"

namespace svmgsu::python {
namespace {

// A model as Python sees it: what has a key in the file has one here. `calibration` has one row
// (a, b, kappa, base) for each decision value, or none.
py::dict items_of(const Model& model) {
  std::vector<double> w(model.w.data(), model.w.data() + model.w.size()), calibration;
  for (const Calibration& c : model.calibration)
    for (const double v : {c.a, c.b, c.kappa, c.base}) calibration.push_back(v);
  py::dict out;
  out["w"] = move_to_array(std::move(w), {model.w.rows(), model.w.cols()});
  out["b"] = to_array(model.b);
  out["task"] = model.task == Task::regression ? "regression" : "classification";
  out["lam"] = model.lambda;
  out["loss"] = model.loss;
  out["loss_parameter"] = model.loss_parameter;
  out["scatter"] = model.scatter;
  out["calibration"] = move_to_array(std::move(calibration), {static_cast<py::ssize_t>(model.calibration.size()), 4});
  out["prior"] = to_array(model.prior);
  out["class_weight"] = to_array(model.class_weight);
  out["label_type"] = model.label_type;
  out["labels"] = model.labels;
  out["multi_class"] = model.multi_class == MultiClass::ovo ? "ovo" : "ovr";
  out["names"] = model.names;
  out["cov_mat_type"] = model.cov_mat_type;
  return out;
}

Model model_of(const py::dict& items) {
  Model model;
  const auto w = items["w"].cast<Array<double>>(), calibration = items["calibration"].cast<Array<double>>();
  model.w = Eigen::Map<const EigenMatrix>(w.data(), size_of(w, 0), size_of(w, 1));
  model.b = to_vector(items["b"].cast<Array<double>>());
  model.lambda = items["lam"].cast<double>();
  model.task = items["task"].cast<std::string>() == "regression" ? Task::regression : Task::classification;
  model.loss = items["loss"].cast<std::string>();
  model.loss_parameter = items["loss_parameter"].cast<double>();
  model.scatter = items["scatter"].cast<double>();
  require_size(size_of(calibration, 1), 4, "calibration: rows");
  const double* v = calibration.data();
  for (py::ssize_t k = 0; k < size_of(calibration, 0); ++k, v += 4)
    model.calibration.emplace_back(v[0], v[1], v[2], v[3]);
  model.prior = to_vector(items["prior"].cast<Array<double>>());
  model.class_weight = to_vector(items["class_weight"].cast<Array<double>>());
  model.label_type = items["label_type"].cast<std::string>();
  model.labels = items["labels"].cast<std::vector<std::string>>();
  model.multi_class = items["multi_class"].cast<std::string>() == "ovo" ? MultiClass::ovo : MultiClass::ovr;
  model.names = items["names"].cast<std::vector<std::string>>();
  model.cov_mat_type = items["cov_mat_type"].cast<std::string>();
  return model;
}

}  // namespace

void bind_models(py::module_& m) {
  using py::arg;
  m.def(
      "decision_values",
      [](const Means& means, const Array<double>& w, double b, int threads) {
        require_size(w.size(), means.features(), "w");
        const Vector weights = to_vector(w);
        std::vector<double> out;
        {
          py::gil_scoped_release release;
          out = decision_values(means, weights, b, threads);
        }
        return to_array(out);
      },
      arg("means"), arg("w").noconvert(), arg("b"), arg("threads"));
  m.def("match_names", &match_names, arg("wanted"), arg("given"));
  // Python opens, names and replaces files itself.
  m.def(
      "format_model",
      [](const std::string& format, const py::dict& items) {
        std::ostringstream out;
        model_of(items).write(out, format == "gsvm" ? ModelFormat::gsvm : ModelFormat::svmgsu);
        return py::bytes(out.str());
      },
      arg("format"), arg("items"));
  m.def(
      "parse_model",
      [](const std::string& text, const std::string& name) {
        std::istringstream file(text);
        return items_of(Model::read(file, name));
      },
      arg("text"), arg("name"));
}

}  // namespace svmgsu::python
