// Text files: rows read into arrays that NumPy then owns.
#include "bindings.hpp"
#include "support/poll.hpp"
#include "svmgsu/text/io.hpp"

namespace svmgsu::python {
namespace {

// Hands the numbers to NumPy and leaves none.
template <class Scalar>
py::array_t<Scalar> give(std::vector<Scalar>& values) {
  return move_to_array(std::exchange(values, {}));
}

TextFormat format_named(const std::string& name) {
  if (name == "means") return TextFormat::means;
  if (name == "labels") return TextFormat::labels;
  require(name == "covariances", "format: means, labels or covariances");
  return TextFormat::covariances;
}

// Bytes that are not UTF-8 are lone surrogates in Python's text, and come back as they were.
constexpr const char* kBytesAsText = "surrogateescape";

py::object decoded(std::string_view text, const char* errors) {
  PyObject* const out = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), errors);
  if (out == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(out);
}

py::handle format_error;  // the Python type; the module keeps it

// Messages quote ids, which may be bytes of any encoding.
void translate_format_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FormatError& error) {
    PyErr_SetObject(format_error.ptr(), decoded(error.what(), "backslashreplace").ptr());
  }
}

py::list ids_of(const TextRows& rows, const Array<Index>& select) {
  require_indices(select.data(), select.size(), static_cast<Index>(rows.ids.size()), "select");
  py::list out;
  for (py::ssize_t i = 0; i < select.size(); ++i)
    out.append(decoded(rows.ids[static_cast<std::size_t>(select.data()[i])], kBytesAsText));
  return out;
}

void bind_rows(py::module_& m) {
  py::class_<TextRows>(m, "TextRows")
      .def_property_readonly("samples", &TextRows::samples)
      .def_property_readonly("entries", &TextRows::entries)
      .def_readonly("name", &TextRows::name)
      .def_readonly("features", &TextRows::features)
      .def_readonly("full", &TextRows::full)
      .def_readonly("bare", &TextRows::bare)
      .def("line", [](const TextRows& rows, std::size_t row) { return rows.line.at(row); })
      .def("ids", &ids_of)
      .def("take_label", [](TextRows& rows) { return give(rows.label); })
      .def("take_entries",
           [](TextRows& rows) { return py::make_tuple(give(rows.start), give(rows.column), give(rows.value)); })
      .def(
          "fill_dense",
          [](const TextRows& rows, const Array<Index>& select, int threads, Array<double>& out) {
            require_size(size_of(out, 0), select.size(), "out: rows");
            released([&, chosen = to_std(select), features = size_of(out, 1), to = out.mutable_data()] {
              fill_dense(rows, chosen, features, threads, to);
            });
          },
          exact("select"), arg("threads"), exact("out"))
      .def(
          "fill_packed",
          [](const TextRows& rows, const Array<Index>& select, Index features, int threads, Array<double>& out) {
            require_triangles(out, features);
            require_size(size_of(out, 0), select.size(), "out: rows");
            released([&, chosen = to_std(select), to = out.mutable_data()] {
              fill_packed(rows, chosen, features, threads, to);
            });
          },
          exact("select"), arg("features"), arg("threads"), exact("out"));
}

// The rows keep `text`, an object with a buffer of bytes.
TextRows rows_of_text(const py::buffer& text, const std::string& format, const std::string& name, Index most_features,
                      const std::string& most_because, bool diagonal, bool as_written, int threads) {
  TextOptions options;
  options.format = format_named(format);
  options.name = name;
  options.most_features = most_features;
  options.most_because = most_because;
  options.diagonal = diagonal;
  options.as_written = as_written;
  options.threads = threads;
  const py::buffer_info bytes = text.request();
  const std::string_view view(static_cast<const char*>(bytes.ptr),
                              static_cast<std::size_t>(bytes.size * bytes.itemsize));
  const py::gil_scoped_release release;
  const Watch watch([] {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return true;
  });
  return read_rows(view, options);
}

py::list joined(const std::vector<const TextRows*>& files) {
  py::list out;
  for (auto& rows : released([&] { return join(files); })) out.append(move_to_array(std::move(rows)));
  return out;
}

}  // namespace

void bind_text(py::module_& m) {
  format_error = py::exception<FormatError>(m, "FormatError", PyExc_ValueError).release();
  py::register_exception_translator(translate_format_error);
  bind_rows(m);
  m.def("read_rows", &rows_of_text, arg("text"), arg("format"), arg("name"), arg("most_features"), arg("most_because"),
        arg("diagonal"), arg("as_written"), arg("threads"), result_keeps<1>());
  m.def("join", &joined);
}

}  // namespace svmgsu::python
