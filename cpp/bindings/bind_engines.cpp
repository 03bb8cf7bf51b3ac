// The objective for Python: the last point is remembered, so that an optimiser that asks for value,
// gradient and Hessian products at one point pays for one pass.
#include <mutex>
#include <optional>

#include "checks.hpp"
#include "engines/hessian.hpp"
#include "kernels/kernels.hpp"
#include "models/prediction.hpp"

namespace svmgsu::python {
namespace {

class PyObjective {
 public:
  PyObjective(const TrainingSet& set, double lambda, int threads, bool intercept, const std::shared_ptr<Loss>& loss)
      : objective_(set, lambda, threads, intercept, loss) {}

  double value(const Array<double>& w, double b) {
    const Vector at = point(w);
    py::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(mutex_);
    return known(at, b) ? last_->value : objective_.value(at, b);
  }
  py::tuple value_and_gradient(const Array<double>& w, double b) {
    const Vector at = point(w);
    Vector gradient;
    double value, gradient_b;
    {
      py::gil_scoped_release release;
      const std::lock_guard<std::mutex> lock(mutex_);
      const Evaluation& e = evaluate(at, b);
      value = e.value;
      gradient = e.gradient;
      gradient_b = e.gradient_b;
    }
    return py::make_tuple(value, to_array(gradient), gradient_b);
  }
  py::tuple hessian_product(const Array<double>& w, double b, const Array<double>& vw, double vb) {
    const Vector at = point(w), v = point(vw);
    Vector out;
    double out_b;
    {
      py::gil_scoped_release release;
      const std::lock_guard<std::mutex> lock(mutex_);
      const Evaluation& e = evaluate(at, b);
      if (!hessian_) hessian_ = objective_.hessian(e);
      hessian_->times(v, vb, out, out_b);
    }
    return py::make_tuple(to_array(out), out_b);
  }
  py::tuple certify(const Array<double>& w, double b) {
    const Vector at = point(w);
    Certificate c;
    {
      py::gil_scoped_release release;
      c = prove(objective_, at, b);
    }
    return py::make_tuple(c.value, c.bound, c.gap());
  }
  double best_intercept(const Array<double>& w, double start) {
    const Vector at = point(w);
    py::gil_scoped_release release;
    return objective_.best_intercept(at, start);
  }

 private:
  Vector point(const Array<double>& w) const {
    require_size(w.size(), objective_.features(), "w");
    return to_vector(w);
  }
  bool known(const Vector& w, double b) const { return last_ && last_->b == b && last_->w == w; }
  const Evaluation& evaluate(const Vector& w, double b) {
    if (!known(w, b)) {
      hessian_.reset();
      if (!last_) last_.emplace();
      objective_.evaluate(w, b, 0.0, *last_);
    }
    return *last_;
  }

  Objective objective_;
  std::mutex mutex_;
  std::optional<Evaluation> last_;
  std::shared_ptr<Hessian> hessian_;
};

}  // namespace

void bind_engines(py::module_& m) {
  using py::arg;
  py::class_<PyObjective>(m, "Objective")
      .def(py::init<const TrainingSet&, double, int, bool, const std::shared_ptr<Loss>&>(), arg("data"), arg("lam"),
           arg("threads"), arg("intercept"), arg("loss") = py::none(), py::keep_alive<1, 2>())
      .def("value", &PyObjective::value, arg("w").noconvert(), arg("b"))
      .def("value_and_gradient", &PyObjective::value_and_gradient, arg("w").noconvert(), arg("b"))
      .def("hessian_product", &PyObjective::hessian_product, arg("w").noconvert(), arg("b"), arg("vw").noconvert(),
           arg("vb"))
      .def("certify", &PyObjective::certify, arg("w").noconvert(), arg("b"))
      .def("best_intercept", &PyObjective::best_intercept, arg("w").noconvert(), arg("start"));
  // w·x and wᵀΣw, one row for each sample.
  m.def(
      "margins",
      [](const Gaussians& data, const Array<double>& w, int threads) {
        const Index rows = size_of(w, 0), count = data.samples();
        require_size(size_of(w, 1), data.features(), "w: rows");
        const std::vector<double> zeros(static_cast<std::size_t>(rows), 0.0);
        const Planes planes{w.data(), zeros.data(), rows, data.features()};
        Array<double> mean({count, rows}), variance({count, rows});
        double* const out[2] = {mean.mutable_data(), variance.mutable_data()};
        {
          py::gil_scoped_release release;
          const Margins found = margins(planes, data, threads);
          std::copy_n(found.mean.data(), found.mean.size(), out[0]);
          std::copy_n(found.variance.data(), found.variance.size(), out[1]);
        }
        return py::make_tuple(mean, variance);
      },
      arg("data"), arg("w").noconvert(), arg("threads"));
  m.def(
      "expected_hinge",
      [](const Array<double>& d, const Array<double>& s) {
        const py::ssize_t size = d.size();
        require_size(s.size(), size, "s");
        require(size < (Index{1} << 31), "d: too many numbers");
        Array<double> loss(size), cdf(size), kappa(size);
        kernels::expected_hinge(static_cast<int>(size), d.data(), s.data(), loss.mutable_data(), cdf.mutable_data(),
                                kappa.mutable_data());
        return py::make_tuple(loss, cdf, kappa);
      },
      arg("d").noconvert(), arg("s").noconvert());
}

}  // namespace svmgsu::python
