// The objective against its definition, its derivatives against finite differences, its certificate
// against weak duality, and its bits against the number of threads.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "helpers.hpp"
#include "solvers/sgd.hpp"
#include "svmgsu/svmgsu.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

constexpr double kLambda = 0.1;

// J by its definition (paper, eqs. 3 and 6), with dense matrices.
double definition(const Problem& problem, const Vector& w, double b) {
  double sum = 0;
  for (Index i = 0; i < problem.labels.size(); ++i) {
    const double d = 1 - problem.labels(i) * (problem.means.row(i).dot(w) + b);
    const double s = std::sqrt(w.dot(problem.noise.dense[static_cast<std::size_t>(i)] * w));
    const double hinge = std::max(0.0, d);
    const double smooth = s > 0 ? d * std::erfc(-d / s / std::sqrt(2.0)) / 2 +
                                      s * std::exp(-d * d / (2 * s * s)) / std::sqrt(6.283185307179586)
                                : hinge;
    sum += problem.weights(i) * smooth;
  }
  return kLambda / 2 * w.squaredNorm() + sum / static_cast<double>(problem.labels.size());
}

bool same_bits(const Vector& a, const Vector& b) { return (a.array() == b.array()).all(); }

}  // namespace

TEST_CASE("the value is the definition's for every kind") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    const Engine objective(problem.data(), kLambda);
    Random random(11);
    for (const double size : {0.0, 0.1, 1.0, 5.0}) {
      const Vector w = size * random.normals(7);
      const double b = random.normal();
      const double want = definition(problem, w, b);
      CHECK(objective.value(w, b) == doctest::Approx(want).epsilon(1e-13));
      CHECK(objective.evaluate(w, b).value == doctest::Approx(want).epsilon(1e-13));
      CHECK(objective.certify(w, b).value == doctest::Approx(want).epsilon(1e-13));
      const Evaluated at = objective.evaluate(w, b + 0.3, 0.1);
      CHECK(Line(objective, at, 0.2).at(0, 0).value ==
            doctest::Approx(objective.value(w, b + 0.3, 0.2)).epsilon(1e-13));
    }
  }
}

TEST_CASE("the gradient is the value's derivative for every kind") {
  for (const Kind& kind : every_kind())
    for (const double smoothing : {0.0, 0.3}) {
      CAPTURE(kind.name);
      CAPTURE(smoothing);
      const Problem problem(kind, 70, 7);
      const Objective objective(problem.data(), kLambda);
      Random random(12);
      for (int trial = 0; trial < 3; ++trial) {
        const Vector w = random.normals(7), v = random.normals(7);
        const double b = random.normal(), vb = random.normal(), h = 1e-6;
        const Evaluation at = objective.evaluate(w, b, smoothing);
        const double slope =
            (objective.value(w + h * v, b + h * vb, smoothing) - objective.value(w - h * v, b - h * vb, smoothing)) /
            (2 * h);
        CHECK(at.gradient.dot(v) + at.gradient_b * vb == doctest::Approx(slope).epsilon(1e-7));
      }
    }
}

TEST_CASE("the Hessian product is the gradient's derivative for every kind") {
  for (const Kind& kind : every_kind())
    for (const double smoothing : {0.0, 0.3}) {
      CAPTURE(kind.name);
      CAPTURE(smoothing);
      const Problem problem(kind, 70, 7);
      const Engine objective(problem.data(), kLambda);
      Random random(13);
      const Vector w = random.normals(7), v = random.normals(7);
      const double b = random.normal(), vb = random.normal(), h = 1e-5;
      const Evaluated at = objective.evaluate(w, b, smoothing);
      const Evaluated ahead = objective.evaluate(w + h * v, b + h * vb, smoothing);
      const Evaluated behind = objective.evaluate(w - h * v, b - h * vb, smoothing);
      Vector product;
      double product_b;
      Hessian(objective, at, 0).times(v, vb, product, product_b);
      CHECK(relative_error(product, (ahead.gradient - behind.gradient) / (2 * h)) < 1e-7);
      CHECK(product_b == doctest::Approx((ahead.gradient_b - behind.gradient_b) / (2 * h)).epsilon(1e-7));
    }
}

TEST_CASE("the Hessian is symmetric and positive definite in w") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    const Engine objective(problem.data(), kLambda);
    Random random(14);
    Hessian hessian(objective, objective.evaluate(random.normals(7), 0.2), 0);
    const Vector u = random.normals(7), v = random.normals(7);
    Vector hu, hv;
    double hu_b, hv_b;
    hessian.times(u, 0.7, hu, hu_b);
    hessian.times(v, -1.3, hv, hv_b);
    CHECK(v.dot(hu) - 1.3 * hu_b == doctest::Approx(u.dot(hv) + 0.7 * hv_b).epsilon(1e-12));
    CHECK(u.dot(hu) + 0.7 * hu_b >= kLambda * u.squaredNorm());
  }
}

TEST_CASE("results have the same bits for any number of threads") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 2500, 13);
    Random random(15);
    const Vector w = 0.3 * random.normals(13), v = random.normals(13);
    const Engine one(problem.data(), kLambda, 1);
    const Evaluated want = one.evaluate(w, 0.1);
    Vector want_product;
    double want_product_b;
    Hessian(one, want, 0).times(v, 1, want_product, want_product_b);
    const Certificate want_certificate = one.certify(w, 0.1);
    for (const int threads : {2, 3, 8}) {
      CAPTURE(threads);
      const Engine many(problem.data(), kLambda, threads);
      const Evaluated got = many.evaluate(w, 0.1);
      CHECK(got.value == want.value);
      CHECK(got.gradient_b == want.gradient_b);
      CHECK(same_bits(got.gradient, want.gradient));
      Vector product;
      double product_b;
      Hessian(many, got, 0).times(v, 1, product, product_b);
      CHECK(same_bits(product, want_product));
      CHECK(product_b == want_product_b);
      const Certificate certificate = many.certify(w, 0.1);
      CHECK(certificate.value == want_certificate.value);
      CHECK(certificate.bound == want_certificate.bound);
    }
  }
}

TEST_CASE("a subset of rows equals a copy of those rows") {
  const std::vector<Index> rows = {3, 5, 8, 9, 30, 31, 64, 2, 69};
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    Matrix means(rows.size(), 7);
    std::vector<Matrix> dense;
    std::vector<double> labels, weights;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      means.row(static_cast<Index>(k)) = problem.means.row(rows[k]);
      dense.push_back(problem.noise.dense[static_cast<std::size_t>(rows[k])]);
      labels.push_back(problem.labels(rows[k]));
      weights.push_back(problem.weights(rows[k]));
    }
    const Matrix packed = packed_upper(dense);
    const auto count = static_cast<Index>(rows.size());
    const Targets targets = Targets::labels(labels, weights);
    const Engine copy(TrainingSet(Gaussians(Rows(means.data(), count, 7), Full(packed)), targets), kLambda);
    const Engine view(TrainingSet(Gaussians(Rows(problem.means.data(), 70, 7), problem.noise.sum, &rows), targets),
                      kLambda);
    Random random(16);
    const Vector w = random.normals(7), v = random.normals(7);
    const Evaluated a = view.evaluate(w, 0.3), b = copy.evaluate(w, 0.3);
    CHECK(a.value == doctest::Approx(b.value).epsilon(1e-13));
    CHECK(relative_error(a.gradient, b.gradient) < 1e-12);
    CHECK(view.certify(w, 0.3).bound == doctest::Approx(copy.certify(w, 0.3).bound).epsilon(1e-12));
    Vector hv, hv_copy;
    double hv_b, hv_b_copy;
    Hessian(view, a, 0).times(v, 1, hv, hv_b);
    Hessian(copy, b, 0).times(v, 1, hv_copy, hv_b_copy);
    CHECK(relative_error(hv, hv_copy) < 1e-12);
    CHECK(hv_b == doctest::Approx(hv_b_copy).epsilon(1e-12));
  }
}

TEST_CASE("sparse means equal the dense means that they stand for") {
  const Problem problem(kind_named("diagonal"), 70, 7);
  Matrix means = problem.means;
  std::vector<double> value;
  std::vector<std::int32_t> column;
  std::vector<Index> start(1, 0);
  for (Index i = 0; i < means.rows(); ++i) {
    for (Index j = 0; j < means.cols(); ++j) {
      if (means(i, j) < 0.2) means(i, j) = 0;
      if (means(i, j) == 0) continue;
      value.push_back(means(i, j));
      column.push_back(static_cast<std::int32_t>(j));
    }
    start.push_back(static_cast<Index>(value.size()));
  }
  const Rows sparse = Rows(value.data(), column.data(), start.data(), means.rows(), means.cols());
  const Objective a({means, problem.noise.sum, problem.labels}, kLambda);
  const Objective b({Gaussians(sparse, problem.noise.sum), Targets::labels(problem.labels)}, kLambda);
  const Vector w = Random(17).normals(7);
  CHECK(a.value(w, 0.1) == doctest::Approx(b.value(w, 0.1)).epsilon(1e-14));
  CHECK(relative_error(a.evaluate(w, 0.1).gradient, b.evaluate(w, 0.1).gradient) < 1e-13);
}

TEST_CASE("a weight counts like copies of the sample, and zero like none") {
  const Problem problem(kind_named("diagonal"), 20, 5);
  Vector weights = Vector::Ones(20);
  weights(4) = 3;
  weights(7) = 0;
  std::vector<Index> rows;
  std::vector<double> labels;
  for (Index i = 0; i < 20; ++i)
    for (int copy = 0; copy < static_cast<int>(weights(i)); ++copy) {
      rows.push_back(i);
      labels.push_back(problem.labels(i));
    }
  const auto means = Rows(problem.means);
  const Objective weighted({problem.means, problem.noise.sum, problem.labels, weights}, 1e-9);
  const Objective copied({Gaussians(means, problem.noise.sum, &rows), Targets::labels(labels)}, 1e-9);
  const Vector w = Random(18).normals(5);
  const double ratio = 20.0 / static_cast<double>(rows.size());
  CHECK(copied.value(w, 0.1) == doctest::Approx(ratio * weighted.value(w, 0.1)).epsilon(1e-8));
}

TEST_CASE("no point is below the bound that another point certifies") {
  for (const Kind& kind : every_kind())
    for (const bool intercept : {true, false}) {
      CAPTURE(kind.name);
      CAPTURE(intercept);
      const Problem problem(kind, 70, 7);
      const Objective objective(problem.data(), kLambda, 0, intercept);
      Random random(19);
      double highest_bound = -1e300, lowest_value = 1e300;
      for (int trial = 0; trial < 20; ++trial) {
        const Vector w = 0.1 * trial * random.normals(7);
        const Certificate certificate = objective.certify(w, intercept ? random.normal() : 0.0);
        CHECK(certificate.gap() >= 0);
        highest_bound = std::max(highest_bound, certificate.bound);
        lowest_value = std::min(lowest_value, certificate.value);
      }
      CHECK(highest_bound <= lowest_value);
    }
}

TEST_CASE("the best intercept is where the derivative changes sign") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    const Objective objective(problem.data(), kLambda);
    const Vector w = Random(20).normals(7);
    for (const double start : {-1e6, 0.0, 3.0, 1e6}) {
      const double b = objective.best_intercept(w, start);
      CHECK(objective.evaluate(w, b - 1e-6).gradient_b <= 1e-12);
      CHECK(objective.evaluate(w, b + 1e-6).gradient_b >= -1e-12);
      for (const double other : {b - 1, b - 1e-3, b + 1e-3, b + 1})
        CHECK(objective.value(w, b) <= objective.value(w, other) + 1e-14);
    }
  }
}

TEST_CASE("a stochastic step with all samples follows the gradient of the loss") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    const Objective objective(problem.data(), kLambda);
    Stream stream;
    stream.w = stream.average = 0.1 * Random(21).normals(7);
    stream.b = 0.2;
    stream.steps = 999;
    const Evaluation at = objective.evaluate(stream.w, 0.2);
    const Vector want = stream.w - at.gradient / (kLambda * 1000);
    continue_sgd(objective, 70, 0, stream);
    CHECK(relative_error(stream.w, want) < 1e-12);
    CHECK(stream.b == doctest::Approx(0.2 - at.gradient_b * std::min(1 / (kLambda * 1000), 1 / std::sqrt(1000.0))));
  }
}

TEST_CASE("lambda must be positive and finite") {
  const Problem problem(kind_named("none"), 20, 5);
  for (const double lambda : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK_THROWS_AS(Objective(problem.data(), lambda), InvalidArgument);
}
