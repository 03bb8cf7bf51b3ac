// Text files: rows read into arrays that NumPy then owns, and lines of text from arrays.
#include <pybind11/stl.h>

#include "checks.hpp"
#include "svmgsu/text/io.hpp"

namespace svmgsu::python {
namespace {

// Hands the numbers to NumPy and leaves none.
template <class Scalar>
py::array_t<Scalar> give(std::vector<Scalar>& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return move_to_array(std::exchange(values, {}), {size});
}

// Runs in the thread that called, between two rounds of pieces.
std::function<void(Index, Index)> text_monitor(const py::object& callback) {
  return [&callback](Index done, Index total) {
    py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback.is_none()) callback(done, total);
  };
}

TextFormat format_named(const std::string& name) {
  if (name == "means") return TextFormat::means;
  if (name == "labels") return TextFormat::labels;
  if (name == "covariances") return TextFormat::covariances;
  require(name == "svmlight", "format: means, labels, covariances or svmlight");
  return TextFormat::svmlight;
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

py::handle format_error;  // the Python type; the module keeps it

// Messages quote ids, which may be bytes of any encoding.
void translate_format_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FormatError& error) {
    const std::string_view text = error.what();
    const auto reason = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    if (reason) PyErr_SetObject(format_error.ptr(), reason.ptr());
  }
}

py::list ids_of(const TextRows& rows, const std::vector<Index>& select) {
  require_indices(select.data(), static_cast<Index>(select.size()), static_cast<Index>(rows.ids.size()), "select");
  py::list out(select.size());
  for (std::size_t i = 0; i < select.size(); ++i) {
    const std::string_view id = rows.ids[static_cast<std::size_t>(select[i])];
    PyObject* text = PyUnicode_DecodeUTF8(id.data(), static_cast<Py_ssize_t>(id.size()), kBytesAsText);
    if (text == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), text);
  }
  return out;
}

EntryStyle style_named(const std::string& name) {
  return name == "packed" ? EntryStyle::packed : name == "diagonal" ? EntryStyle::diagonal : EntryStyle::feature;
}

void bind_rows(py::module_& m) {
  using py::arg;
  py::class_<TextRows>(m, "TextRows")
      .def_property_readonly("samples", &TextRows::samples)
      .def_property_readonly("entries", &TextRows::entries)
      .def_readonly("name", &TextRows::name)
      .def_readonly("features", &TextRows::features)
      .def_readonly("packed", &TextRows::packed)
      .def_readonly("bare", &TextRows::bare)
      .def("line", [](const TextRows& rows, std::size_t row) { return rows.line.at(row); })
      .def("ids", [](const TextRows& rows, const Array<Index>& select) { return ids_of(rows, to_std(select)); })
      .def("take_label", [](TextRows& rows) { return give(rows.label); })
      .def("take_entries",
           [](TextRows& rows) { return py::make_tuple(give(rows.start), give(rows.column), give(rows.value)); })
      .def(
          "fill_dense",
          [](const TextRows& rows, const Array<Index>& select, int threads, Array<double>& out) {
            const auto chosen = to_std(select);
            double* const to = out.mutable_data();
            const Index features = size_of(out, 1);
            require_size(size_of(out, 0), select.size(), "out: rows");
            py::gil_scoped_release release;
            fill_dense(rows, chosen, features, threads, to);
          },
          arg("select").noconvert(), arg("threads"), arg("out").noconvert())
      .def(
          "fill_packed",
          [](const TextRows& rows, const Array<Index>& select, Index features, int threads, Array<double>& out) {
            const auto chosen = to_std(select);
            double* const to = out.mutable_data();
            require_triangles(out, features);
            require_size(size_of(out, 0), select.size(), "out: rows");
            py::gil_scoped_release release;
            fill_packed(rows, chosen, features, threads, to);
          },
          arg("select").noconvert(), arg("features"), arg("threads"), arg("out").noconvert());
}

// `source` is a path, or a bytes object, which the rows keep.
void bind_reading(py::module_& m) {
  using py::arg;
  m.def(
      "read_rows",
      [](const py::object& source, const std::string& format, const std::string& name, Index most_features,
         const std::string& most_because, bool zero_based, bool diagonal, bool as_written, int threads,
         const py::object& callback) {
        TextOptions options;
        options.format = format_named(format);
        options.name = name;
        options.most_features = most_features;
        options.most_because = most_because;
        options.zero_based = zero_based;
        options.diagonal = diagonal;
        options.as_written = as_written;
        options.threads = threads;
        options.monitor = text_monitor(callback);
        const bool mapped = py::isinstance<py::str>(source);
        std::string path;
        std::string_view bytes;
        if (mapped)
          path = py::cast<std::string>(source);
        else
          bytes = py::cast<std::string_view>(source);
        py::gil_scoped_release release;
        return read_rows(mapped ? Text::map(path) : Text::lend(bytes), options);
      },
      arg("source"), arg("format"), arg("name"), arg("most_features"), arg("most_because"), arg("zero_based"),
      arg("diagonal"), arg("as_written"), arg("threads"), arg("callback") = py::none(), result_keeps<1>());
  m.def("join", [](const std::vector<const TextRows*>& files) {
    std::vector<std::vector<Index>> rows;
    {
      py::gil_scoped_release release;
      rows = join(files);
    }
    py::list out;
    for (auto& each : rows) {
      const auto size = static_cast<py::ssize_t>(each.size());
      out.append(move_to_array(std::move(each), {size}));
    }
    return out;
  });
}

void bind_writing(py::module_& m) {
  using py::arg;
  m.def(
      "format_dense",
      [](const py::list& leads, const Array<double>& rows, Index features, const std::string& style) {
        std::string out;
        const Index width = size_of(rows, 1);
        require_size(size_of(rows, 0), static_cast<Index>(leads.size()), "rows");
        require_triangles(rows, features, style != "packed");
        for (std::size_t i = 0; i < leads.size(); ++i)
          append_line(out, Bytes(leads[i]), rows.data() + static_cast<Index>(i) * width, features, style_named(style));
        return py::bytes(out);
      },
      arg("leads"), arg("rows").noconvert(), arg("features"), arg("style"));
  m.def(
      "format_table",
      [](const py::list& leads, const Array<double>& rows, const py::list& tails) {
        std::string out;
        const Index width = size_of(rows, 1);
        require_size(size_of(rows, 0), static_cast<Index>(leads.size()), "rows");
        require_size(static_cast<Index>(tails.size()), static_cast<Index>(leads.size()), "tails");
        for (std::size_t i = 0; i < leads.size(); ++i)
          append_table_line(out, Bytes(leads[i]), rows.data() + static_cast<Index>(i) * width, width, Bytes(tails[i]));
        return py::bytes(out);
      },
      arg("leads"), arg("rows").noconvert(), arg("tails"));
  m.def(
      "format_sparse",
      [](const py::list& leads, const Array<double>& value, const Array<std::int32_t>& column,
         const Array<Index>& start, const std::string& style) {
        std::string out;
        require_size(start.size(), static_cast<Index>(leads.size()) + 1, "start");
        require_size(column.size(), value.size(), "column");
        require_starts(start, value.size(), "start");
        for (std::size_t i = 0; i < leads.size(); ++i) {
          const Index first = start.data()[i], last = start.data()[i + 1];
          append_line(out, Bytes(leads[i]), value.data() + first, column.data() + first, last - first,
                      style_named(style));
        }
        return py::bytes(out);
      },
      arg("leads"), arg("value").noconvert(), arg("column").noconvert(), arg("start").noconvert(), arg("style"));
}

}  // namespace

void bind_text(py::module_& m) {
  format_error = py::exception<FormatError>(m, "FormatError", PyExc_ValueError).release();
  py::register_exception_translator(translate_format_error);
  bind_rows(m);
  bind_reading(m);
  bind_writing(m);
}

}  // namespace svmgsu::python
