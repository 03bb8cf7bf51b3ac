// Training sets in files, which a solver reads as it goes.
#include <pybind11/stl.h>

#include "engines/streamed.hpp"
#include "solving.hpp"

namespace svmgsu::python {
namespace {

// (path, offset, narrow, rows, columns)
FlatFile flat_file_of(const py::handle& item) {
  const auto tuple = py::cast<py::tuple>(item);
  require_size(static_cast<Index>(tuple.size()), 5, "file");
  return {py::cast<std::string>(tuple[0]), py::cast<std::int64_t>(tuple[1]), py::cast<bool>(tuple[2]),
          py::cast<Index>(tuple[3]), py::cast<Index>(tuple[4])};
}

std::shared_ptr<const Targets> targets_of(const Array<double>& targets, const std::optional<Array<double>>& weights,
                                          bool regression) {
  std::vector<double> c = weights ? to_std(*weights) : std::vector<double>();
  return std::make_shared<const Targets>(regression ? Targets::values(to_std(targets), std::move(c))
                                                    : Targets::labels(to_std(targets), std::move(c)));
}

// (kind, file, scale), or ("shared", packed, scale, diagonal, group) with arrays that the tuple keeps.
FlatTerm flat_term_of(const py::handle& item, const FlatFile& means) {
  const auto tuple = py::cast<py::tuple>(item);
  require(tuple.size() == 3 || tuple.size() == 5, "terms: expected (kind, file, scale)");
  const auto name = py::cast<std::string>(tuple[0]);
  FlatTerm term;
  term.scale = py::cast<double>(tuple[2]);
  if (name == "shared") {
    require(tuple.size() == 5 && py::isinstance<Array<double>>(tuple[1]),
            "terms: expected (\"shared\", array of float64, scale, diagonal, group)");
    const auto packed = py::cast<Array<double>>(tuple[1]);
    const bool diagonal = py::cast<bool>(tuple[3]);
    require(packed.ndim() == 2 && size_of(packed, 0) > 0, "packed: expected a covariance per row");
    require_triangles(packed, means.columns, diagonal);
    term.shared = shared_of(packed, diagonal, tuple[4]);
    if (term.shared->groups()) require_size(term.shared->samples(), means.rows, "group");
    return term;
  }
  using Layout = Covariance::Layout;
  const std::pair<const char*, Layout> known[] = {{"isotropic", Layout::isotropic},
                                                  {"diagonal", Layout::diagonal},
                                                  {"low_rank", Layout::low_rank},
                                                  {"full", Layout::full}};
  bool found = false;
  for (const auto& [word, layout] : known)
    if (name == word) {
      term.layout = layout;
      found = true;
    }
  require(found, "terms: expected isotropic, diagonal, low_rank, full or shared, got " + name);
  term.file = flat_file_of(tuple[1]);
  return term;
}

std::shared_ptr<Streamed> open_streamed(const py::tuple& means, const py::tuple& terms, const Array<double>& targets,
                                        const std::optional<Array<double>>& weights, bool regression,
                                        std::size_t memory, Index window, bool check, int threads, int problems) {
  FlatSet set;
  set.means = flat_file_of(means);
  for (const auto& item : terms) set.terms.push_back(flat_term_of(item, set.means));
  set.targets = targets_of(targets, weights, regression);
  set.memory = memory;
  set.window = window;
  set.check = check;
  set.problems = problems;
  return std::make_shared<Streamed>(std::move(set), threads);
}

}  // namespace

void bind_streamed(py::module_& m) {
  using py::arg;
  py::class_<Streamed, std::shared_ptr<Streamed>>(m, "Streamed")
      .def(py::init(&open_streamed), arg("means"), arg("terms"), arg("targets").noconvert(), arg("weights"),
           arg("regression"), arg("memory"), arg("window"), arg("check"), arg("threads"), arg("problems") = 1,
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>())
      .def(
          "beside",
          [](const Streamed& self, const Array<double>& targets, const std::optional<Array<double>>& weights,
             bool regression) { return self.beside(targets_of(targets, weights, regression)); },
          arg("targets").noconvert(), arg("weights"), arg("regression"), py::keep_alive<0, 1>())
      .def("leave", &Streamed::leave, py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("samples", &Streamed::samples)
      .def_property_readonly("features", &Streamed::features)
      .def_property_readonly("bytes", &Streamed::bytes)
      .def_property_readonly("bytes_read", &Streamed::bytes_read)
      .def_property_readonly("least_memory", &Streamed::least_memory)
      .def_property_readonly("lean", &Streamed::lean)
      .def_property_readonly("window", &Streamed::window);
  def_solve<Streamed>(m);
}

}  // namespace svmgsu::python
