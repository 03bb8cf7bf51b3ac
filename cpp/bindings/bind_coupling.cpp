// Values of pairs of classes, brought together.
#include "bindings.hpp"

namespace svmgsu::python {

void bind_coupling(py::module_& m) {
  using py::arg;
  // One row of pairs for each object in, one row of classes out.
  const auto rows = [](auto function) {
    return [function](const Array<double>& pairs, Index classes) {
      const Index count = size_of(pairs, 0), each = size_of(pairs, 1);
      require(classes >= 2 && each == count_pairs(classes), "pairs: one column for each pair of classes is wanted");
      std::vector<double> out(static_cast<std::size_t>(count * classes));
      {
        py::gil_scoped_release release;
        for (Index i = 0; i < count; ++i) function(pairs.data() + i * each, classes, out.data() + i * classes);
      }
      return move_to_array(std::move(out), {count, classes});
    };
  };
  m.def("couple", rows(couple), arg("pairs").noconvert(), arg("classes"));
  m.def("vote", rows(vote), arg("pairs").noconvert(), arg("classes"));
}

}  // namespace svmgsu::python
