// Hyperplanes and what classifiers make of them: values, probabilities, calibrations, folds, and model files.
#include <sstream>

#include "bindings.hpp"
#include "models/folds.hpp"
#include "models/prediction.hpp"

namespace svmgsu::python {
namespace {

using Doubles = const Array<double>&;

MultiClass multi_class_of(const std::string& name) { return name == "ovo" ? MultiClass::ovo : MultiClass::ovr; }

std::vector<Calibration> calibrations(Doubles rows) {
  require_size(size_of(rows, 1), 4, "calibration: rows");
  std::vector<Calibration> out;
  const double* v = rows.data();
  for (py::ssize_t k = 0; k < size_of(rows, 0); ++k, v += 4) out.emplace_back(v[0], v[1], v[2], v[3]);
  return out;
}

// Calls visit(key, item) for each item of a model that Python sees as it is.
template <class AnyModel, class Visit>
void for_items(AnyModel& model, Visit visit) {
  visit("lam", model.lambda);
  visit("loss", model.loss);
  visit("loss_parameter", model.loss_parameter);
  visit("scatter", model.scatter);
  visit("label_type", model.label_type);
  visit("labels", model.labels);
  visit("names", model.names);
  visit("cov_mat_type", model.cov_mat_type);
}

// A model as Python sees it: what has a key in the file has one here. `calibration` has one row
// (a, b, kappa, base) for each decision value, or none.
py::dict items_of(Model model) {
  std::vector<double> calibration;
  for (const Calibration& c : model.calibration)
    for (const double v : {c.a, c.b, c.kappa, c.base}) calibration.push_back(v);
  py::dict out;
  for_items(model, [&](const char* key, const auto& item) { out[key] = item; });
  out["b"] = to_array(model.b);
  out["prior"] = to_array(model.prior);
  out["class_weight"] = to_array(model.class_weight);
  out["w"] = move_to_array(std::move(model.w));
  out["calibration"] = move_to_array(std::move(calibration), {static_cast<py::ssize_t>(model.calibration.size()), 4});
  out["task"] = model.task == Task::regression ? "regression" : "classification";
  out["multi_class"] = model.multi_class == MultiClass::ovo ? "ovo" : "ovr";
  return out;
}

Model model_of(const py::dict& items) {
  Model model;
  for_items(model, [&](const char* key, auto& item) { item = items[key].cast<std::decay_t<decltype(item)>>(); });
  const auto array = [&](const char* key) { return items[key].cast<Array<double>>(); };
  model.calibration = calibrations(array("calibration"));
  model.w = to_matrix(array("w"));
  model.b = to_vector(array("b"));
  model.prior = to_vector(array("prior"));
  model.class_weight = to_vector(array("class_weight"));
  model.task = items["task"].cast<std::string>() == "regression" ? Task::regression : Task::classification;
  model.multi_class = multi_class_of(items["multi_class"].cast<std::string>());
  return model;
}

Planes planes_of(Doubles w, Doubles b) {
  require(w.ndim() == 2 && b.ndim() == 1, "w, b: one row and one number for each hyperplane is wanted");
  require_size(b.size(), size_of(w, 0), "b");
  return {w.data(), b.data(), size_of(w, 0), size_of(w, 1)};
}

Classification task_of(Index classes, const std::string& multi_class, Doubles calibration, Doubles prior,
                       Doubles class_weight) {
  require(classes >= 2, "classes: at least two are wanted");
  Classification task;
  task.labels.assign(static_cast<std::size_t>(classes), "");
  task.multi_class = multi_class_of(multi_class);
  task.calibration = calibrations(calibration);
  task.prior = to_vector(prior);
  task.class_weight = to_vector(class_weight);
  return task;
}

// w·x and wᵀΣw, one row for each sample.
py::tuple margins_of(const Gaussians& data, Doubles w, int threads) {
  require_size(size_of(w, 1), data.features(), "w: rows");
  const std::vector<double> zeros(static_cast<std::size_t>(size_of(w, 0)), 0.0);
  const Planes planes{w.data(), zeros.data(), size_of(w, 0), data.features()};
  Margins found = released([&] { return margins(planes, data, threads); });
  return py::make_tuple(move_to_array(std::move(found.mean)), move_to_array(std::move(found.variance)));
}

// Values of hyperplanes, and what a classifier makes of them; one row for each sample.
void bind_prediction(py::module_& m) {
  py::class_<Classification>(m, "Classification")
      .def(py::init(&task_of), arg("classes"), arg("multi_class"), exact("calibration"), exact("prior"),
           exact("class_weight"));
  m.def("margins", &margins_of, arg("data"), exact("w"), arg("threads"));
  m.def(
      "decision_values",
      [](const Gaussians& data, Doubles w, Doubles b, int threads) {
        return move_to_array(
            released([&, planes = planes_of(w, b)] { return decision_values(planes, data, threads); }));
      },
      arg("data"), exact("w"), exact("b"), arg("threads"));
  m.def(
      "class_scores",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b, int threads) {
        return move_to_array(
            released([&, planes = planes_of(w, b)] { return class_scores(task, planes, data, threads); }));
      },
      arg("task"), arg("data"), exact("w"), exact("b"), arg("threads"));
  m.def(
      "probabilities",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b, const MaybeArray& prior,
         int threads) {
        const Matrix given = prior ? to_matrix(*prior) : Matrix();
        return move_to_array(released([&, planes = planes_of(w, b)] {
          return probabilities(task, planes, data, prior ? &given : nullptr, threads);
        }));
      },
      arg("task"), arg("data"), exact("w"), exact("b"), exact("prior"), arg("threads"));
  m.def(
      "predict",
      [](const Classification& task, const Gaussians& data, Doubles w, Doubles b, int threads) {
        return move_to_array(released([&, planes = planes_of(w, b)] { return predict(task, planes, data, threads); }));
      },
      arg("task"), arg("data"), exact("w"), exact("b"), arg("threads"));
}

Scored scored_of(Doubles margins, const MaybeArray& variances, Doubles signs, Doubles weights) {
  return {to_std(margins), to_std(variances), to_std(signs), to_std(weights)};
}

std::array<double, 4> numbers_of(const Calibration& c) { return {c.a, c.b, c.kappa, c.base}; }

void bind_calibration(py::module_& m) {
  m.def(
      "fit_platt",
      [](Doubles scores, Doubles labels, const MaybeArray& weights) {
        const Platt p = fit_platt(to_std(scores), to_std(labels), to_std(weights));
        return py::make_tuple(p.a, p.b);
      },
      exact("scores"), exact("labels"), arg("weights") = py::none());
  m.def(
      "fit_calibration",
      [](Doubles margins, const MaybeArray& variances, Doubles signs, Doubles weights, double without_noise) {
        return numbers_of(fit_calibration(scored_of(margins, variances, signs, weights), without_noise));
      },
      arg("margins"), arg("variances"), arg("signs"), arg("weights"), arg("without_noise") = 0.05);
  m.def(
      "own_calibration",
      [](Doubles margins, const MaybeArray& variances, Doubles signs, Doubles weights, double trained_odds) {
        return numbers_of(own_calibration(scored_of(margins, variances, signs, weights), trained_odds));
      },
      arg("margins"), arg("variances"), arg("signs"), arg("weights"), arg("trained_odds"));
}

// The fold of each sample; None where there are none.
py::object array_of(std::vector<Index> folds) {
  if (folds.empty()) return py::none();
  return move_to_array(std::move(folds));
}

void bind_folds(py::module_& m) {
  using Places = const Array<Index>&;
  m.def(
      "folds_by_key",
      [](Doubles keys, Places codes, Index classes, Doubles weights) {
        return array_of(folds_by_key(to_std(keys), to_std(codes), classes, to_std(weights)));
      },
      arg("keys"), arg("codes"), arg("classes"), arg("weights"));
  m.def(
      "folds_of_groups",
      [](Places groups, Places codes, Index classes, Doubles weights) {
        return array_of(folds_of_groups(to_std(groups), to_std(codes), classes, to_std(weights)));
      },
      arg("groups"), arg("codes"), arg("classes"), arg("weights"));
}

}  // namespace

void bind_models(py::module_& m) {
  bind_prediction(m);
  bind_calibration(m);
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
