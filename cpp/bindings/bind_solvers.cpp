// Training: one Options in, one Result out; a monitor that keeps Ctrl-C alive.
#include "bindings.hpp"
#include "engines/mapped.hpp"
#include "engines/streamed.hpp"
#include "models/fitting.hpp"
#include "solvers/sgd.hpp"

namespace svmgsu::python {
namespace {

void bind_options(py::module_& m) {
  py::class_<Options>(m, "Options")
      .def(py::init<>())
      .def_readwrite("lam", &Options::lambda)
      .def_property(
          "loss", [](const Options& o) { return std::const_pointer_cast<Loss>(o.loss); },
          [](Options& o, const std::shared_ptr<Loss>& loss) { o.loss = std::shared_ptr<const Loss>(loss); })
      .def_property(
          "solver", [](const Options& o) { return o.solver == Solver::sgd ? "sgd" : "newton"; },
          [](Options& o, const std::string& name) { o.solver = name == "sgd" ? Solver::sgd : Solver::newton; })
      .def_readwrite("intercept", &Options::intercept)
      .def_readwrite("threads", &Options::threads)
      .def_readwrite("tolerance", &Options::tolerance)
      .def_readwrite("max_iterations", &Options::max_iterations)
      .def_readwrite("max_seconds", &Options::max_seconds)
      .def_readwrite("steps", &Options::steps)
      .def_readwrite("batch", &Options::batch)
      .def_readwrite("average", &Options::average)
      .def_readwrite("seed", &Options::seed);
  py::class_<FitOptions, Options>(m, "FitOptions")
      .def(py::init<>())
      .def_readwrite("lams", &FitOptions::lambdas)
      .def_readwrite("cov_scale", &FitOptions::cov_scale)
      .def_readwrite("cov_scales", &FitOptions::cov_scales)
      .def_readwrite("balanced", &FitOptions::balanced)
      .def_property(
          "multi_class", [](const FitOptions& o) { return o.multi_class == MultiClass::ovo ? "ovo" : "ovr"; },
          [](FitOptions& o, const std::string& name) {
            o.multi_class = name == "ovo" ? MultiClass::ovo : MultiClass::ovr;
          })
      .def_property("probability", nullptr, [](FitOptions& o, const py::object& how) {
        const bool named = py::isinstance<py::str>(how);
        if (named)
          o.probabilities = py::cast<std::string>(how) == "cv" ? Probabilities::held_out : Probabilities::training;
        else
          o.probabilities = py::cast<bool>(how) ? Probabilities::automatic : Probabilities::none;
      });
}

void bind_results(py::module_& m) {
  py::class_<Progress>(m, "Progress")
      .def_readonly("iteration", &Progress::iteration)
      .def_readonly("objective", &Progress::objective)
      .def_readonly("gap", &Progress::gap)
      .def_readonly("seconds", &Progress::seconds)
      .def_readonly("passes", &Progress::passes)
      .def_property_readonly("w", [](const Progress& p) { return p.w ? py::object(to_array(*p.w)) : py::none(); })
      .def_readonly("b", &Progress::b)
      .def_readonly("epsilon", &Progress::epsilon);
  py::class_<Result>(m, "Result")
      .def_property_readonly("w", [](const Result& r) { return to_array(r.w); })
      .def_readonly("b", &Result::b)
      .def_readonly("objective", &Result::objective)
      .def_readonly("gap", &Result::gap)
      .def_readonly("iterations", &Result::iterations)
      .def_readonly("epsilon", &Result::epsilon)
      .def_property_readonly("stop", [](const Result& r) { return name_of(r.stop); })
      .def_property_readonly("status", &Result::status)
      .def_readonly("history", &Result::history);
}

Objective objective_of(const TrainingSet& set, const Options& o) {
  return Objective(set, o.lambda, o.threads, o.intercept, o.loss);
}
template <class Data>
Objective objective_of(const Data& data, const Options& o) {
  return data.objective(o.lambda, o.threads, o.intercept, o.loss);
}

// One way to solve, wherever the samples are.
template <class Data>
void bind_solve(py::module_& m) {
  m.def(
      "solve",
      [](const Data& data, const Options& options, const py::object& callback, const MaybeArray& start_w,
         double start_b) {
        const Vector start = start_w ? to_vector(*start_w) : Vector();
        const Monitor monitor = monitor_of(callback);
        return released([&] {
          const Objective objective = objective_of(data, options);
          if (start_w) require_size(start.size(), objective.features(), "start_w");
          return solve(objective, options, monitor, start_w ? &start : nullptr, start_b);
        });
      },
      arg("data"), arg("options"), arg("callback") = py::none(), arg("start_w") = py::none(), arg("start_b") = 0.0);
}

// What `call` returns, which needs the interpreter.
template <class Call>
auto asked(const Call& call) {
  const py::gil_scoped_acquire acquire;
  return call();
}

// Samples that Python has in files or on other machines.
class PythonSource : public FitSource {
 public:
  explicit PythonSource(const py::object& source) : source_(source) {
    std::tie(samples, features) = py::cast<std::pair<Index, Index>>(source.attr("shape"));
    in_memory = false;
    uncertain = !source.attr("cov").is_none();
  }

  Result solve(SubProblem problem, const Options& options, const Monitor& monitor, const Result* start) const override {
    const auto [set, streamed, mapped] = asked([&] {
      const py::object made = source_.attr("training_set")(
          move_to_array(std::move(problem.targets)), move_to_array(std::move(problem.weights)),
          problem.regression ? "regression" : "classification", problem.cov_scale, of(problem.rows));
      const bool files = py::isinstance<Streamed>(made);
      return std::make_tuple(held(made), files ? py::cast<const Streamed*>(made) : nullptr,
                             files ? nullptr : py::cast<const Mapped*>(made));
    });
    const Objective objective = streamed ? objective_of(*streamed, options) : objective_of(*mapped, options);
    return svmgsu::solve(objective, options, monitor, start ? &start->w : nullptr, start ? start->b : 0);
  }

  RowScores margins(const Vector& w, const Rowlist* rows, bool test_noise, int threads) const override {
    return asked([&] {
      const py::object coef = to_array(w).reshape({Index{1}, w.size()});
      const py::tuple found = source_.attr("margins")(coef, of(rows), threads, test_noise);
      return RowScores{{}, to_std(py::cast<Array<double>>(found[0])), to_std(py::cast<Array<double>>(found[1]))};
    });
  }

  void keep(Index subproblem, const Vector& w, double b, double epsilon) const override {
    asked([&] {
      const py::object checkpoint = source_.attr("checkpoint");
      if (!checkpoint.is_none()) checkpoint.attr("keep")(subproblem, to_array(w), b, epsilon);
      return true;
    });
  }

 private:
  static py::object of(const Rowlist* rows) { return rows ? py::object(to_array(*rows)) : py::none(); }
  const py::object& source_;
};

// An item of a dict, or what it is without one.
template <class Value>
Value item(const py::dict& items, const char* key) {
  return items.contains(key) && !items[key].is_none() ? py::cast<Value>(items[key]) : Value();
}
template <class Scalar>
std::vector<Scalar> list_of(const py::dict& items, const char* key) {
  return to_std(item<Array<Scalar>>(items, key));
}

FitTask fit_task_of(const py::dict& items) {
  FitTask task;
  task.classes = item<Index>(items, "classes");
  task.codes = list_of<Index>(items, "codes");
  task.targets = list_of<double>(items, "targets");
  task.errors = list_of<double>(items, "errors");
  task.weights = list_of<double>(items, "weights");
  task.factors = list_of<double>(items, "factors");
  task.groups = list_of<Index>(items, "groups");
  task.direction = list_of<double>(items, "direction");
  if (!items.contains("start")) return task;
  for (const py::handle& row : items["start"]) {
    const auto [w, b, epsilon] = py::cast<std::tuple<Array<double>, double, double>>(row);
    Result point;
    point.w = to_vector(w);
    point.b = b;
    point.epsilon = epsilon;
    task.start.push_back(std::move(point));
  }
  return task;
}

// What Python makes a model and warnings of.
py::dict items_of(const FitReport& report) {
  py::list calibration;
  for (const Calibration& c : report.calibration) calibration.append(py::make_tuple(c.a, c.b, c.kappa, c.base));
  using namespace py::literals;
  return py::dict("lam"_a = report.lambda, "cov_scale"_a = report.cov_scale, "scores"_a = to_array(report.scores),
                  "folds"_a = report.folds, "best"_a = report.best, "tried"_a = report.tried,
                  "results"_a = report.results, "status"_a = report.status, "calibration"_a = calibration,
                  "out_of_time"_a = report.out_of_time, "late"_a = report.late, "undivided"_a = report.undivided,
                  "scatter"_a = report.scatter, "scatter_before"_a = report.scatter_before);
}

py::dict fit_of(const py::object& source, const FitOptions& options, const py::dict& items, const py::object& report,
                bool only_search) {
  const FitTask task = fit_task_of(items);
  std::unique_ptr<FitSource> where;
  if (py::isinstance<py::tuple>(source)) {  // samples in memory, as training and as prediction see them
    const auto pair = py::cast<py::tuple>(source);
    where = std::make_unique<FitMemory>(py::cast<const Gaussians&>(pair[0]), py::cast<const Gaussians&>(pair[1]));
  } else {
    where = std::make_unique<PythonSource>(source);
  }
  FitHooks hooks;
  if (!report.is_none()) hooks.report = monitor_of(report);
  hooks.check = [] {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
  return items_of(released([&] { return fit_task(*where, task, options, hooks, only_search); }));
}

// What continue_sgd returned the last time; empty: nothing yet.
Stream stream_of(const py::tuple& state) {
  Stream s;
  if (state.empty()) return s;
  require_size(static_cast<Index>(state.size()), 7, "state");
  s.w = to_vector(py::cast<Array<double>>(state[0]));
  s.average = to_vector(py::cast<Array<double>>(state[1]));
  require_size(s.average.size(), s.w.size(), "state: average");
  s.b = py::cast<double>(state[2]);
  s.average_b = py::cast<double>(state[3]);
  s.steps = py::cast<Index>(state[4]);
  s.weight = py::cast<double>(state[5]);
  s.samples = py::cast<double>(state[6]);
  return s;
}

}  // namespace

void bind_solvers(py::module_& m) {
  bind_options(m);
  bind_results(m);
  bind_solve<TrainingSet>(m);
  bind_solve<Streamed>(m);
  bind_solve<Mapped>(m);
  m.def("fit", &fit_of, arg("source"), arg("options"), arg("task"), arg("report") = py::none(),
        arg("only_search") = false);
  // `state` is what the last call returned: (w, average, b, average_b, steps, weight, samples).
  m.def(
      "continue_sgd",
      [](const TrainingSet& data, double lam, bool intercept, Index batch, std::uint64_t seed, const py::tuple& state,
         const std::shared_ptr<Loss>& loss) {
        Stream s = stream_of(state);
        released([&] { continue_sgd(Objective(data, lam, 1, intercept, loss), batch, seed, s); });
        return py::make_tuple(to_array(s.w), to_array(s.average), s.b, s.average_b, s.steps, s.weight, s.samples);
      },
      arg("data"), arg("lam"), arg("intercept"), arg("batch"), arg("seed"), arg("state"), arg("loss") = py::none());
}

}  // namespace svmgsu::python
