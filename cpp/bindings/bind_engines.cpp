// The objective for Python, and training sets that are in files or in several places.
#include <mutex>

#include "bindings.hpp"
#include "engines/hessian.hpp"
#include "engines/mapped.hpp"
#include "engines/streamed.hpp"
#include "support/poll.hpp"

namespace svmgsu::python {
namespace {

// Remembers the last point, so that an optimiser that asks for value, gradient and Hessian products at one point pays
// for one pass.
class PyObjective {
  Vector point(const Array<double>& w) const {
    require_size(w.size(), objective_.features(), "w");
    return to_vector(w);
  }
  // compute(w) while no other thread is at this objective.
  template <class Compute>
  auto locked(const Array<double>& w, const Compute& compute) {
    return released([&, at = point(w)] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return compute(at);
    });
  }

 public:
  PyObjective(const TrainingSet& set, double lambda, int threads, bool intercept, const std::shared_ptr<Loss>& loss)
      : objective_(set, lambda, threads, intercept, loss), engine_(objective_.engine()) {}

  double value(const Array<double>& w, double b) {
    return locked(w, [&](const Vector& at) { return known(at, b) ? last_->value : objective_.value(at, b); });
  }
  py::tuple value_and_gradient(const Array<double>& w, double b) {
    Vector gradient;
    double gradient_b = 0;
    const double value = locked(w, [&](const Vector& at) {
      const Evaluated& e = evaluate(at, b);
      gradient = e.gradient;
      gradient_b = e.gradient_b;
      return e.value;
    });
    return py::make_tuple(value, to_array(gradient), gradient_b);
  }
  py::tuple hessian_product(const Array<double>& w, double b, const Array<double>& vw, double vb) {
    const Vector v = point(vw);
    Vector out;
    double out_b = 0;
    locked(w, [&](const Vector& at) {
      const Evaluated& e = evaluate(at, b);
      if (!hessian_) hessian_ = std::make_unique<Hessian>(engine_, e, 0.0);
      hessian_->times(v, vb, out, out_b);
    });
    return py::make_tuple(to_array(out), out_b);
  }
  py::tuple certify(const Array<double>& w, double b) {
    const Certificate c = released([&, at = point(w)] { return prove(objective_, at, b); });
    return py::make_tuple(c.value, c.bound, c.gap());
  }
  double best_intercept(const Array<double>& w, double start) {
    return released([&, at = point(w)] { return objective_.best_intercept(at, start); });
  }

 private:
  bool known(const Vector& w, double b) const { return last_ && last_->b == b && last_->w == w; }
  const Evaluated& evaluate(const Vector& w, double b) {
    if (!known(w, b)) {
      hessian_.reset();
      if (!last_) last_.emplace();
      engine_.evaluate(w, b, 0.0, *last_);
    }
    return *last_;
  }

  Objective objective_;
  const Engine& engine_;
  std::mutex mutex_;
  std::optional<Evaluated> last_;
  std::unique_ptr<Hessian> hessian_;
};

// (path, offset, narrow, rows, columns)
FlatFile flat_file_of(const py::handle& item) {
  const auto tuple = py::cast<py::tuple>(item);
  require_size(static_cast<Index>(tuple.size()), 5, "file");
  return {py::cast<std::string>(tuple[0]), py::cast<std::int64_t>(tuple[1]), py::cast<bool>(tuple[2]),
          py::cast<Index>(tuple[3]), py::cast<Index>(tuple[4])};
}

Covariance::Layout layout_named(const std::string& name) {
  using Layout = Covariance::Layout;
  if (name == "isotropic") return Layout::isotropic;
  if (name == "diagonal") return Layout::diagonal;
  if (name == "low_rank") return Layout::low_rank;
  require(name == "full", "terms: expected isotropic, diagonal, low_rank, full or shared, got " + name);
  return Layout::full;
}

// (kind, file, scale), or ("shared", packed, scale, diagonal, group) with arrays that the tuple keeps.
FlatTerm flat_term_of(const py::handle& item, const FlatFile& means) {
  const auto tuple = py::cast<py::tuple>(item);
  require(tuple.size() == 3 || tuple.size() == 5, "terms: expected (kind, file, scale)");
  const auto name = py::cast<std::string>(tuple[0]);
  FlatTerm term;
  term.scale = py::cast<double>(tuple[2]);
  if (name != "shared") {
    term.layout = layout_named(name);
    term.file = flat_file_of(tuple[1]);
    return term;
  }
  require(tuple.size() == 5 && py::isinstance<Array<double>>(tuple[1]),
          "terms: expected (\"shared\", array of float64, scale, diagonal, group)");
  const auto packed = py::cast<Array<double>>(tuple[1]);
  require(packed.ndim() == 2 && size_of(packed, 0) > 0, "packed: expected a covariance per row");
  term.shared = shared_of(packed, means.columns, py::cast<bool>(tuple[3]), tuple[4]);
  return term;
}

std::shared_ptr<const Targets> kept_targets(const Array<double>& targets, const MaybeArray& weights, bool regression) {
  return std::make_shared<const Targets>(targets_of(targets, weights, regression));
}

std::shared_ptr<Streamed> open_streamed(const py::tuple& means, const py::tuple& terms, const Array<double>& targets,
                                        const MaybeArray& weights, bool regression, std::size_t memory, Index window,
                                        bool check, int threads) {
  FlatSet set;
  set.means = flat_file_of(means);
  for (const auto& item : terms) set.terms.push_back(flat_term_of(item, set.means));
  set.targets = kept_targets(targets, weights, regression);
  set.memory = memory;
  set.window = window;
  set.check = check;
  return std::make_shared<Streamed>(set, threads);
}

// What Interrupted is in Python. A map may call the library in the thread of the solver, whose Watch may stop it there:
// then this goes through Python's frames, back to the solver.
PyObject* interrupted = nullptr;

void translate_interrupted(std::exception_ptr failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const Interrupted&) {
    PyErr_SetString(interrupted, "the fit that this was computed for has been stopped");
  }
}

template <class Call>
auto interruptible(const Call& call) {
  const py::gil_scoped_acquire acquire;
  try {
    return call();
  } catch (const py::error_already_set& error) {
    if (error.matches(interrupted)) throw Interrupted();
    throw;
  }
}

MappedSet::Rows rows_of(const py::object& set) { return {py::cast<const TrainingSet&>(set).data, held(set)}; }

std::shared_ptr<Mapped> make_mapped(const py::object& like, std::vector<Index> sizes, const Array<double>& targets,
                                    const MaybeArray& weights, bool regression, double numbers, double rank,
                                    const py::object& take, const py::object& ask, const py::object& make) {
  MappedSet set{std::move(sizes), rows_of(like), numbers, rank, kept_targets(targets, weights, regression), {}, {}, {}};
  if (!ask.is_none())
    set.ask = [asked = held(ask)](const std::vector<std::string>& requests) {
      return interruptible([&] {
        py::list list;
        for (const std::string& request : requests) list.append(py::bytes(request));
        std::vector<std::string> responses;
        for (const py::handle response : (*asked)(list)) responses.push_back(py::cast<std::string>(response));
        return responses;
      });
    };
  if (!make.is_none())
    set.make = [asked = held(make)](std::size_t place) {
      return interruptible([&] { return rows_of((*asked)(place)); });
    };
  set.take = [asked = held(take)](const std::vector<Index>& positions) {
    return interruptible([&] { return rows_of((*asked)(to_array(positions))); });
  };
  return std::make_shared<Mapped>(std::move(set));
}

void bind_mapped(py::module_& m) {
  interrupted = PyErr_NewException("svmgsu._core.Interrupted", PyExc_BaseException, nullptr);
  if (!interrupted) throw py::error_already_set();
  m.attr("Interrupted") = py::reinterpret_borrow<py::object>(interrupted);
  py::register_exception_translator(&translate_interrupted);
  py::class_<Mapped, std::shared_ptr<Mapped>>(m, "Mapped")
      .def(py::init(&make_mapped), arg("like"), arg("sizes"), exact("targets"), arg("weights"), arg("regression"),
           arg("numbers"), arg("rank"), arg("take"), arg("ask") = py::none(), arg("make") = py::none())
      .def_property_readonly("samples", &Mapped::samples)
      .def_property_readonly("features", &Mapped::features);
  py::class_<ShardWorker>(m, "ShardWorker")
      .def(py::init<TrainingSet, int>(), arg("data"), arg("threads") = 1, py::keep_alive<1, 2>())
      .def("respond", [](ShardWorker& worker, const std::string& request) {
        return py::bytes(released([&] { return worker.respond(request); }));
      });
  m.def("group_rows", [](const TrainingSet& like, double numbers, Index samples) {
    return Mapped::group_rows(like.data, numbers, samples);
  });
  // Numbers that a pass reads of a sample, and rows of its covariance's factors, on average.
  m.def("numbers_of",
        [](const TrainingSet& set) { return py::make_tuple(set.data.numbers_per_sample(), set.data.mean_rank()); });
}

}  // namespace

void bind_engines(py::module_& m) {
  py::class_<PyObjective>(m, "Objective")
      .def(py::init<const TrainingSet&, double, int, bool, const std::shared_ptr<Loss>&>(), arg("data"), arg("lam"),
           arg("threads"), arg("intercept"), arg("loss") = py::none(), py::keep_alive<1, 2>())
      .def("value", &PyObjective::value, exact("w"), arg("b"))
      .def("value_and_gradient", &PyObjective::value_and_gradient, exact("w"), arg("b"))
      .def("hessian_product", &PyObjective::hessian_product, exact("w"), arg("b"), exact("vw"), arg("vb"))
      .def("certify", &PyObjective::certify, exact("w"), arg("b"))
      .def("best_intercept", &PyObjective::best_intercept, exact("w"), arg("start"));
  py::class_<Streamed, std::shared_ptr<Streamed>>(m, "Streamed")
      .def(py::init(&open_streamed), arg("means"), arg("terms"), exact("targets"), arg("weights"), arg("regression"),
           arg("memory"), arg("window"), arg("check"), arg("threads"), py::keep_alive<1, 2>(), py::keep_alive<1, 3>())
      .def_property_readonly("samples", &Streamed::samples)
      .def_property_readonly("features", &Streamed::features)
      .def_property_readonly("bytes", &Streamed::bytes)
      .def_property_readonly("bytes_read", &Streamed::bytes_read)
      .def_property_readonly("least_memory", &Streamed::least_memory)
      .def_property_readonly("window", &Streamed::window);
  bind_mapped(m);
}

}  // namespace svmgsu::python
