// How the core was built, and checks of big arrays at memory speed.
#include <cmath>

#include "bindings.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu::python {
namespace {

#define SVMGSU_STRING_(x) #x
#define SVMGSU_STRING(x) SVMGSU_STRING_(x)

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

py::dict config() {
  py::dict out;
  out["version"] = SVMGSU_VERSION;
  out["compiler"] = compiler();
  out["eigen"] =
      SVMGSU_STRING(EIGEN_WORLD_VERSION) "." SVMGSU_STRING(EIGEN_MAJOR_VERSION) "." SVMGSU_STRING(EIGEN_MINOR_VERSION);
#ifdef _OPENMP
  out["openmp"] = SVMGSU_STRING(_OPENMP);
#else
  out["openmp"] = py::none();
#endif
  out["threads"] = resolve_threads(0);
  out["instruction_set"] = kernels::instruction_set();
  return out;
}

// The first place, in memory order, where `wrong` holds; −1 if nowhere.
template <class Scalar, class Test>
Index first_where(const Array<Scalar>& a, Test wrong) {
  const Scalar* data = a.data();
  const Index size = a.size(), block = 1 << 16, blocks = (size + block - 1) / block;
  py::gil_scoped_release release;
  std::vector<Index> found(static_cast<std::size_t>(blocks), -1);
  parallel_for(blocks, blocks < 64 ? 1 : 0, [&](Index k) {
    const Index last = std::min(size, (k + 1) * block);
    bool any = false;
    for (Index i = k * block; i < last; ++i) any |= wrong(data[i]);
    if (!any) return;
    Index i = k * block;
    while (!wrong(data[i])) ++i;
    found[static_cast<std::size_t>(k)] = i;
  });
  for (const Index place : found)
    if (place >= 0) return place;
  return -1;
}

template <class Scalar>
void bind_scans(py::module_& m) {
  m.def(
      "first_nonfinite", [](const Array<Scalar>& a) { return first_where(a, [](Scalar x) { return !(x - x == 0); }); },
      py::arg("a").noconvert());
  m.def(
      "first_negative", [](const Array<Scalar>& a) { return first_where(a, [](Scalar x) { return x < 0; }); },
      py::arg("a").noconvert());
}

}  // namespace

void bind_support(py::module_& m) {
  m.def("config", &config);
  bind_scans<double>(m);
  bind_scans<float>(m);
}

}  // namespace svmgsu::python
