// Eigenanalysis of each example's covariance.
#include "checks.hpp"

namespace svmgsu::python {
namespace {

CovarianceSum sum_of(const py::tuple& terms) {
  std::vector<CovarianceSum::Term> list;
  for (const auto& item : terms) {
    const auto pair = py::cast<py::tuple>(item);
    list.push_back({py::cast<std::shared_ptr<Covariance>>(pair[0]), py::cast<double>(pair[1])});
  }
  return CovarianceSum(std::move(list));
}

template <class Scalar>
void bind_projection(py::module_& m) {
  m.def(
      "project_means",
      [](const Array<Scalar>& means, const Array<double>& factors, const Array<Index>& start) {
        Array<Scalar> out({means.shape(0), means.shape(1)});
        require_size(start.size(), size_of(means, 0) + 1, "start");
        require_size(size_of(factors, 1), size_of(means, 1), "factors: rows");
        require_starts(start, size_of(factors, 0), "start");
        const Subspaces subspaces{to_std(factors), to_std(start)};
        const Scalar* in = means.data();
        Scalar* projected = out.mutable_data();
        const Index n = size_of(means, 1);
        {
          py::gil_scoped_release release;
          project_means(in, subspaces, n, 0, projected);
        }
        return out;
      },
      py::arg("means").noconvert(), py::arg("factors").noconvert(), py::arg("start").noconvert());
}

}  // namespace

void bind_subspace(py::module_& m) {
  m.def(
      "eigen_subspaces",
      [](const py::tuple& terms, Index examples, Index features, double p) {
        const CovarianceSum covariance = sum_of(terms);
        require(examples >= 0 && features > 0, "examples, features: must be >= 0 and > 0");
        for (const auto& term : covariance.terms()) {
          const Index own = term.kind->examples();
          require(own < 0 || examples <= own, "examples: the covariance has " + std::to_string(own));
          if (term.kind->features() >= 0) require_size(term.kind->features(), features, "terms: features");
        }
        Subspaces result;
        {
          py::gil_scoped_release release;
          result = eigen_subspaces(covariance, examples, features, p, 0);
        }
        const py::ssize_t rows = result.start.back(), count = static_cast<py::ssize_t>(result.start.size());
        return py::make_tuple(move_to_array(std::move(result.factors), {rows, features}),
                              move_to_array(std::move(result.start), {count}));
      },
      py::arg("terms"), py::arg("examples"), py::arg("features"), py::arg("p"));
  bind_projection<double>(m);
  bind_projection<float>(m);
}

}  // namespace svmgsu::python
