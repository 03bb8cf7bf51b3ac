// How the core was built, and checks of big arrays at memory speed.
#include <algorithm>
#include <limits>

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

// The first place, in memory order, whose number does not lie in [least, most], nor is the 0 that `zero` allows; −1 if
// there is none. NaN and infinity lie nowhere.
template <class Scalar>
Index first_outside(const Array<Scalar>& a, double least, double most, bool zero) {
  constexpr double largest = std::numeric_limits<Scalar>::max();
  const Scalar low = static_cast<Scalar>(std::max(least, -largest)),
               high = static_cast<Scalar>(std::min(most, largest));
  const Scalar* data = a.data();
  const Index size = a.size(), block = 1 << 16, blocks = (size + block - 1) / block;
  py::gil_scoped_release release;
  std::vector<Index> found(static_cast<std::size_t>(blocks), -1);
  parallel_for(blocks, blocks < 64 ? 1 : 0, [&](Index k) {
    const auto inside = [=](Scalar x) { return ((x >= low) & (x <= high)) | (zero & (x == 0)); };
    const Index last = std::min(size, (k + 1) * block);
    bool all = true;
    for (Index i = k * block; i < last; ++i) all &= inside(data[i]);
    if (all) return;
    Index i = k * block;
    while (inside(data[i])) ++i;
    found[static_cast<std::size_t>(k)] = i;
  });
  for (const Index place : found)
    if (place >= 0) return place;
  return -1;
}

template <class Scalar>
void bind_scan(py::module_& m) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  m.def("first_outside", &first_outside<Scalar>, py::arg("a").noconvert(), py::arg("least") = -infinity,
        py::arg("most") = infinity, py::arg("zero") = false);
}

}  // namespace

void bind_support(py::module_& m) {
  m.def("config", &config);
  bind_scan<double>(m);
  bind_scan<float>(m);
}

}  // namespace svmgsu::python
