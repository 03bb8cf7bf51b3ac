// Training sets whose samples are in several places, and who responds for one of them.
#include <pybind11/stl.h>

#include "engines/mapped.hpp"
#include "solving.hpp"
#include "support/poll.hpp"

namespace svmgsu::python {
namespace {

// A Python object that whoever is last may let go of.
std::shared_ptr<py::object> held(py::object object) {
  return {new py::object(std::move(object)), [](py::object* p) {
            py::gil_scoped_acquire acquire;
            delete p;
          }};
}

// What Interrupted is in Python. A map may call the library in the thread of the solver, whose Watch may stop it there:
// then this goes through Python's frames, back to the solver.
PyObject* interrupted = nullptr;

void translate(std::exception_ptr failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const Interrupted&) {
    PyErr_SetString(interrupted, "the fit that this was computed for has been stopped");
  }
}

template <class Call>
auto interruptible(const Call& call) {
  try {
    return call();
  } catch (const py::error_already_set& error) {
    if (error.matches(interrupted)) throw Interrupted();
    throw;
  }
}

MappedSet::Rows rows_of(const py::object& set) { return {py::cast<const TrainingSet&>(set).data, held(set)}; }

std::shared_ptr<Mapped> make_mapped(const py::object& like, std::vector<Index> sizes, const Array<double>& targets,
                                    const std::optional<Array<double>>& weights, bool regression, double numbers,
                                    double rank, const py::object& take, const py::object& ask,
                                    const py::object& make) {
  std::vector<double> c = weights ? to_std(*weights) : std::vector<double>();
  Targets all =
      regression ? Targets::values(to_std(targets), std::move(c)) : Targets::labels(to_std(targets), std::move(c));
  MappedSet set{
      std::move(sizes), rows_of(like), numbers, rank, std::make_shared<const Targets>(std::move(all)), {}, {}, {}};
  if (!ask.is_none())
    set.ask = [asked = held(ask)](const std::vector<std::string>& requests) {
      py::gil_scoped_acquire acquire;
      py::list list;
      for (const std::string& request : requests) list.append(py::bytes(request));
      return interruptible([&] {
        std::vector<std::string> responses;
        for (const py::handle response : (*asked)(list)) responses.push_back(py::cast<std::string>(response));
        return responses;
      });
    };
  if (!make.is_none())
    set.make = [asked = held(make)](std::size_t place) {
      py::gil_scoped_acquire acquire;
      return interruptible([&] { return rows_of((*asked)(place)); });
    };
  set.take = [asked = held(take)](const std::vector<Index>& positions) {
    py::gil_scoped_acquire acquire;
    Array<Index> list(static_cast<py::ssize_t>(positions.size()));
    std::copy(positions.begin(), positions.end(), list.mutable_data());
    return interruptible([&] { return rows_of((*asked)(list)); });
  };
  return std::make_shared<Mapped>(std::move(set));
}

}  // namespace

void bind_mapped(py::module_& m) {
  using py::arg;
  interrupted = PyErr_NewException("svmgsu._core.Interrupted", PyExc_BaseException, nullptr);
  if (!interrupted) throw py::error_already_set();
  m.attr("Interrupted") = py::reinterpret_borrow<py::object>(interrupted);
  py::register_exception_translator(&translate);
  py::class_<Mapped, std::shared_ptr<Mapped>>(m, "Mapped")
      .def(py::init(&make_mapped), arg("like"), arg("sizes"), arg("targets").noconvert(), arg("weights"),
           arg("regression"), arg("numbers"), arg("rank"), arg("take"), arg("ask") = py::none(),
           arg("make") = py::none())
      .def_property_readonly("samples", &Mapped::samples)
      .def_property_readonly("features", &Mapped::features);
  py::class_<ShardWorker>(m, "ShardWorker")
      .def(py::init<TrainingSet, int>(), arg("data"), arg("threads") = 1, py::keep_alive<1, 2>())
      .def("respond", [](ShardWorker& worker, const std::string& request) {
        std::string response;
        {
          py::gil_scoped_release release;
          response = worker.respond(request);
        }
        return py::bytes(response);
      });
  m.def("group_rows", [](const TrainingSet& like, double numbers, Index samples) {
    return Mapped::group_rows(like.data, numbers, samples);
  });
  // Numbers that a pass reads of a sample, and rows of its covariance's factors, on average.
  m.def("numbers_of",
        [](const TrainingSet& set) { return py::make_tuple(set.data.numbers_per_sample(), set.data.mean_rank()); });
  def_solve<Mapped>(m);
}

}  // namespace svmgsu::python
