// Model files.
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <sstream>

#include "checks.hpp"
#include "models/folds.hpp"
#include "models/prediction.hpp"

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

std::vector<Calibration> calibrations(const Array<double>& rows) {
  require_size(size_of(rows, 1), 4, "calibration: rows");
  std::vector<Calibration> out;
  const double* v = rows.data();
  for (py::ssize_t k = 0; k < size_of(rows, 0); ++k, v += 4) out.emplace_back(v[0], v[1], v[2], v[3]);
  return out;
}

MultiClass multi_class_of(const std::string& name) { return name == "ovo" ? MultiClass::ovo : MultiClass::ovr; }

Model model_of(const py::dict& items) {
  Model model;
  const auto w = items["w"].cast<Array<double>>();
  model.w = Eigen::Map<const EigenMatrix>(w.data(), size_of(w, 0), size_of(w, 1));
  model.b = to_vector(items["b"].cast<Array<double>>());
  model.lambda = items["lam"].cast<double>();
  model.task = items["task"].cast<std::string>() == "regression" ? Task::regression : Task::classification;
  model.loss = items["loss"].cast<std::string>();
  model.loss_parameter = items["loss_parameter"].cast<double>();
  model.scatter = items["scatter"].cast<double>();
  model.calibration = calibrations(items["calibration"].cast<Array<double>>());
  model.prior = to_vector(items["prior"].cast<Array<double>>());
  model.class_weight = to_vector(items["class_weight"].cast<Array<double>>());
  model.label_type = items["label_type"].cast<std::string>();
  model.labels = items["labels"].cast<std::vector<std::string>>();
  model.multi_class = multi_class_of(items["multi_class"].cast<std::string>());
  model.names = items["names"].cast<std::vector<std::string>>();
  model.cov_mat_type = items["cov_mat_type"].cast<std::string>();
  return model;
}

// What `find` gives, one row for each sample.
template <class Find>
py::array_t<double> rows_of(Find find) {
  std::unique_ptr<Matrix> found;
  {
    py::gil_scoped_release release;
    found = std::make_unique<Matrix>(find());
  }
  const py::ssize_t rows = found->rows(), cols = found->cols();
  double* const data = found->data();
  const py::capsule owner(found.release(), [](void* p) { delete static_cast<Matrix*>(p); });
  return py::array_t<double>({rows, cols}, data, owner);
}

Planes planes_of(const Array<double>& w, const Array<double>& b) {
  require(w.ndim() == 2 && b.ndim() == 1, "w, b: one row and one number for each hyperplane is wanted");
  require_size(b.size(), size_of(w, 0), "b");
  return {w.data(), b.data(), size_of(w, 0), size_of(w, 1)};
}

Classification task_of(Index classes, const std::string& multi_class, const Array<double>& calibration,
                       const Array<double>& prior, const Array<double>& class_weight) {
  require(classes >= 2, "classes: at least two are wanted");
  Classification task;
  task.labels.assign(static_cast<std::size_t>(classes), "");
  task.multi_class = multi_class_of(multi_class);
  task.calibration = calibrations(calibration);
  task.prior = to_vector(prior);
  task.class_weight = to_vector(class_weight);
  return task;
}

// Values of hyperplanes, and what a classifier makes of them.
void bind_prediction(py::module_& m) {
  using py::arg;
  using Doubles = const Array<double>&;
  py::class_<Classification>(m, "Classification")
      .def(py::init(&task_of), arg("classes"), arg("multi_class"), arg("calibration").noconvert(),
           arg("prior").noconvert(), arg("class_weight").noconvert());
  m.def(
      "decision_values",
      [](const Gaussians& data, Doubles w, Doubles b, int threads) {
        const Planes planes = planes_of(w, b);
        return rows_of([&] { return decision_values(planes, data, threads); });
      },
      arg("data"), arg("w").noconvert(), arg("b").noconvert(), arg("threads"));
  m.def(
      "variances",
      [](const Gaussians& data, Doubles w, Doubles b, int threads) {
        const Planes planes = planes_of(w, b);
        return rows_of([&] { return margins(planes, data, threads).variance; });
      },
      arg("data"), arg("w").noconvert(), arg("b").noconvert(), arg("threads"));
  m.def(
      "class_scores",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b, int threads) {
        const Planes planes = planes_of(w, b);
        return rows_of([&] { return class_scores(task, planes, data, true, threads); });
      },
      arg("task"), arg("data"), arg("w").noconvert(), arg("b").noconvert(), arg("threads"));
  m.def(
      "probabilities",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b,
         const std::optional<Array<double>>& prior, int threads) {
        const Planes planes = planes_of(w, b);
        Matrix given;
        if (prior) {
          require(prior->ndim() == 2, "prior: one row for all samples or for each is wanted");
          given = Eigen::Map<const EigenMatrix>(prior->data(), size_of(*prior, 0), size_of(*prior, 1));
        }
        return rows_of([&] { return probabilities(task, planes, data, prior ? &given : nullptr, threads); });
      },
      arg("task"), arg("data"), arg("w").noconvert(), arg("b").noconvert(), arg("prior").noconvert(), arg("threads"));
  m.def(
      "predict",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b, int threads) {
        const Planes planes = planes_of(w, b);
        std::vector<Index> found;
        {
          py::gil_scoped_release release;
          found = predict(task, planes, data, threads);
        }
        const auto count = static_cast<py::ssize_t>(found.size());
        return move_to_array(std::move(found), {count});
      },
      arg("task"), arg("data"), arg("w").noconvert(), arg("b").noconvert(), arg("threads"));
}

// The fold of each sample; None where there are none.
py::object array_of(std::vector<Index> folds) {
  if (folds.empty()) return py::none();
  const auto count = static_cast<py::ssize_t>(folds.size());
  return move_to_array(std::move(folds), {count});
}

void bind_folds(py::module_& m) {
  using py::arg;
  using Places = const Array<Index>&;
  m.def(
      "folds_by_key",
      [](const Array<double>& keys, Places codes, Index classes, const Array<double>& weights) {
        return array_of(folds_by_key(to_std(keys), to_std(codes), classes, to_std(weights)));
      },
      arg("keys"), arg("codes"), arg("classes"), arg("weights"));
  m.def(
      "folds_of_groups",
      [](Places groups, Places codes, Index classes, const Array<double>& weights) {
        return array_of(folds_of_groups(to_std(groups), to_std(codes), classes, to_std(weights)));
      },
      arg("groups"), arg("codes"), arg("classes"), arg("weights"));
}

}  // namespace

void bind_models(py::module_& m) {
  using py::arg;
  bind_prediction(m);
  bind_folds(m);
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
