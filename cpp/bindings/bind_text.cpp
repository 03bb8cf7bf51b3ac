// Text files: rows read into arrays that NumPy then owns, and lines of text from arrays.
#include "bindings.hpp"
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
  if (name == "covariances") return TextFormat::covariances;
  require(name == "svmlight", "format: means, labels, covariances or svmlight");
  return TextFormat::svmlight;
}

EntryStyle style_named(const std::string& name) {
  return name == "packed" ? EntryStyle::packed : name == "diagonal" ? EntryStyle::diagonal : EntryStyle::feature;
}

// Bytes that are not UTF-8 are lone surrogates in Python's text, and come back as they were.
constexpr const char* kBytesAsText = "surrogateescape";

// The bytes of a text, for as long as it lives.
class Bytes {
 public:
  explicit Bytes(const py::handle& text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) {
      PyErr_Clear();
      owner_ = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", kBytesAsText));
      if (!owner_) throw py::error_already_set();
      data = PyBytes_AS_STRING(owner_.ptr());
      size = PyBytes_GET_SIZE(owner_.ptr());
    }
    view_ = {data, static_cast<std::size_t>(size)};
  }
  operator std::string_view() const { return view_; }

 private:
  py::object owner_;
  std::string_view view_;
};

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
      .def_readonly("packed", &TextRows::packed)
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

// `source` is a path, or a bytes object, which the rows keep.
TextRows rows_of_source(const py::object& source, const std::string& format, const std::string& name,
                        Index most_features, const std::string& most_because, bool zero_based, bool diagonal,
                        bool as_written, int threads) {
  TextOptions options;
  options.format = format_named(format);
  options.name = name;
  options.most_features = most_features;
  options.most_because = most_because;
  options.zero_based = zero_based;
  options.diagonal = diagonal;
  options.as_written = as_written;
  options.threads = threads;
  options.monitor = [] {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
  if (py::isinstance<py::str>(source))
    return released([&, path = py::cast<std::string>(source)] { return read_rows(Text::map(path), options); });
  return released([&, bytes = py::cast<std::string_view>(source)] { return read_rows(Text::lend(bytes), options); });
}

py::list joined(const std::vector<const TextRows*>& files) {
  py::list out;
  for (auto& rows : released([&] { return join(files); })) out.append(move_to_array(std::move(rows)));
  return out;
}

// One line for each lead: append(out, i, lead) adds it.
template <class Append>
py::bytes lines_of(const py::list& leads, Append append) {
  std::string out;
  for (std::size_t i = 0; i < leads.size(); ++i) append(out, i, Bytes(leads[i]));
  return py::bytes(out);
}

void bind_writing(py::module_& m) {
  m.def(
      "format_dense",
      [](const py::list& leads, const Array<double>& rows, Index features, const std::string& style) {
        require_size(size_of(rows, 0), static_cast<Index>(leads.size()), "rows");
        require_triangles(rows, features, style != "packed");
        return lines_of(leads, [&](std::string& out, std::size_t i, std::string_view lead) {
          append_line(out, lead, rows.data(static_cast<py::ssize_t>(i)), features, style_named(style));
        });
      },
      arg("leads"), exact("rows"), arg("features"), arg("style"));
  m.def(
      "format_table",
      [](const py::list& leads, const Array<double>& rows, const py::list& tails) {
        require_size(size_of(rows, 0), static_cast<Index>(leads.size()), "rows");
        require_size(static_cast<Index>(tails.size()), static_cast<Index>(leads.size()), "tails");
        return lines_of(leads, [&](std::string& out, std::size_t i, std::string_view lead) {
          append_table_line(out, lead, rows.data(static_cast<py::ssize_t>(i)), rows.shape(1), Bytes(tails[i]));
        });
      },
      arg("leads"), exact("rows"), arg("tails"));
  m.def(
      "format_sparse",
      [](const py::list& leads, const Array<double>& value, const Array<std::int32_t>& column,
         const Array<Index>& start, const std::string& style) {
        require_size(start.size(), static_cast<Index>(leads.size()) + 1, "start");
        require_size(column.size(), value.size(), "column");
        require_starts(start, value.size());
        return lines_of(leads, [&](std::string& out, std::size_t i, std::string_view lead) {
          const Index first = start.data()[i], last = start.data()[i + 1];
          append_line(out, lead, value.data() + first, column.data() + first, last - first, style_named(style));
        });
      },
      arg("leads"), exact("value"), exact("column"), exact("start"), arg("style"));
}

}  // namespace

void bind_text(py::module_& m) {
  format_error = py::exception<FormatError>(m, "FormatError", PyExc_ValueError).release();
  py::register_exception_translator(translate_format_error);
  bind_rows(m);
  m.def("read_rows", &rows_of_source, arg("source"), arg("format"), arg("name"), arg("most_features"),
        arg("most_because"), arg("zero_based"), arg("diagonal"), arg("as_written"), arg("threads"), result_keeps<1>());
  m.def("join", &joined);
  bind_writing(m);
}

}  // namespace svmgsu::python
