// Training: one Options in, one Result out; a monitor that keeps Ctrl-C alive.
#include "bindings.hpp"
#include "engines/mapped.hpp"
#include "engines/streamed.hpp"
#include "solvers/sgd.hpp"

namespace svmgsu::python {
namespace {

void bind_options(py::module_& m) {
  py::class_<Options>(m, "Options")
      .def(py::init<>())
      .def("__copy__", [](const Options& o) { return Options(o); })
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
      .def_readwrite("start_epsilon", &Options::start_epsilon)
      .def_readwrite("steps", &Options::steps)
      .def_readwrite("batch", &Options::batch)
      .def_readwrite("average", &Options::average)
      .def_readwrite("seed", &Options::seed);
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
