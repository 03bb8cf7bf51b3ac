// What holds for every loss alike: gradient, Hessian, line and bound follow from its five numbers, and the exact solver
// proves its tolerance.
#include <doctest/doctest.h>

#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "helpers.hpp"
#include "models/prediction.hpp"
#include "solvers/sgd.hpp"
#include "svmgsu/svmgsu.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

constexpr double kLambda = 0.1, kNaN = std::numeric_limits<double>::quiet_NaN();

// The problem as it is for labels; for values, targets that follow the means, far from zero.
TrainingSet set_for(const LossInfo& info, const Problem& problem) {
  if (info.task == Task::classification) return problem.data();
  Vector t = problem.means.rowwise().sum();
  t.array() += 30;
  return {Gaussians(problem.means, problem.noise.sum), Targets::values(t, problem.weights)};
}

template <class Use>
void for_every_loss(Use use) {
  for (const LossInfo& info : known_losses())
    for (const Kind& kind : every_kind()) {
      CAPTURE(info.name);
      CAPTURE(kind.name);
      const Problem problem(kind, 70, 7);
      use(info, set_for(info, problem));
    }
}

}  // namespace

TEST_CASE("derivatives are those of the value for every loss and kind") {
  for_every_loss([](const LossInfo& info, const TrainingSet& set) {
    const Engine objective(set, kLambda, 1, true, make_loss(info.name));
    Random random(5);
    const Vector w = random.normals(7), v = random.normals(7);
    const double b = random.normal(), vb = random.normal(), h = 1e-5, epsilon = 0.3;
    const Evaluated at = objective.evaluate(w, b, epsilon);
    const Evaluated ahead = objective.evaluate(w + h * v, b + h * vb, epsilon);
    const Evaluated behind = objective.evaluate(w - h * v, b - h * vb, epsilon);
    CHECK(at.gradient.dot(v) + at.gradient_b * vb ==
          doctest::Approx((ahead.value - behind.value) / (2 * h)).epsilon(1e-6));
    Hessian hessian(objective, at, 0);
    Vector product;
    double product_b;
    hessian.times(v, vb, product, product_b);
    CHECK(relative_error(product, (ahead.gradient - behind.gradient) / (2 * h)) < 1e-6);
    CHECK(product_b == doctest::Approx((ahead.gradient_b - behind.gradient_b) / (2 * h)).epsilon(1e-6));
    Vector along;
    double along_b;
    hessian.times(w, 0, along, along_b);
    CHECK(objective.along_w(at).w_w == doctest::Approx(along.dot(w)).epsilon(1e-9));
    CHECK(objective.along_w(at).w_b == doctest::Approx(along_b).epsilon(1e-9));
    const Matrix dense = hessian.dense(1000, 0);
    CHECK(relative_error(dense.topLeftCorner(7, 7) * v + vb * dense.col(7).head(7), product) < 1e-9);
    hessian.smoothing_derivative(product, product_b);
    const Vector along_epsilon =
        (objective.evaluate(w, b, epsilon + h).gradient - objective.evaluate(w, b, epsilon - h).gradient) / (2 * h);
    CHECK((product - along_epsilon).norm() < 1e-6 * (1 + along_epsilon.norm()));

    const Evaluated there = objective.evaluate(w + v, b + vb, epsilon);
    const Line line(objective, at, there, v, vb, epsilon);
    const Line::Value here = line.at(0.4, 0.2);
    CHECK(here.value == doctest::Approx(objective.value(w + 0.4 * v, b + 0.4 * vb + 0.2, epsilon)).epsilon(1e-10));
    CHECK(here.t ==
          doctest::Approx((line.at(0.4 + h, 0.2).value - line.at(0.4 - h, 0.2).value) / (2 * h)).epsilon(1e-5));
    CHECK(here.t_t == doctest::Approx((line.at(0.4 + h, 0.2).t - line.at(0.4 - h, 0.2).t) / (2 * h)).epsilon(1e-5));
    CHECK(here.t_beta ==
          doctest::Approx((line.at(0.4 + h, 0.2).beta - line.at(0.4 - h, 0.2).beta) / (2 * h)).epsilon(1e-5));
  });
}

TEST_CASE("newton proves its tolerance for every loss and kind, and no bound is above a value") {
  for_every_loss([](const LossInfo& info, const TrainingSet& set) {
    for (const bool intercept : {true, false})
      for (const double lambda : {1.0, 1e-2, 1e-5}) {
        CAPTURE(intercept);
        CAPTURE(lambda);
        Options options;
        options.lambda = lambda;
        options.intercept = intercept;
        options.threads = 1;
        options.loss = make_loss(info.name);
        const Result result = train(set, options);
        CHECK(result.stop == Stop::converged);
        CHECK(result.gap <= options.tolerance * result.objective);
        const Engine objective(set, lambda, 1, intercept, options.loss);
        CHECK(result.objective == doctest::Approx(objective.value(result.w, result.b)).epsilon(1e-12));
        Random random(9);
        for (int trial = 0; trial < 3; ++trial) {
          const Vector w = result.w + 0.3 * random.normals(7);
          const double b = intercept ? result.b + random.normal() : 0.0;
          CHECK(objective.certify(w, b).bound <= result.objective * (1 + 1e-12));
          CHECK(objective.value(w, b) >= result.objective - result.gap);
        }
        const Engine::Trivial trivial = objective.trivial();
        CHECK(trivial.value <= objective.value(Vector::Zero(7), intercept ? trivial.b + 0.1 : 0.0) + 1e-12);
        CHECK(result.objective <= trivial.value);
      }
  });
}

TEST_CASE("a point that is no number has no gap that is one") {
  const Problem problem(kind_named("diagonal"), 30, 3);
  const Objective objective(problem.data(), kLambda);
  Vector w = Vector::Zero(3);
  CHECK(std::isnan(objective.certify(w, kNaN).gap()));
  w(1) = kNaN;
  CHECK(std::isnan(objective.certify(w, 0).gap()));
}

TEST_CASE("a start that is no number or absurd is not used") {
  const Problem problem(kind_named("diagonal"), 100, 4);
  Options options;
  options.threads = 1;
  const Objective objective(problem.data(), options.lambda, 1);
  const Result cold = solve(objective, options);
  for (const double value : {kNaN, 1e200, -1e9}) {
    const Vector start = Vector::Constant(4, value);
    const Result result = solve(objective, options, {}, &start, value);
    CHECK(result.stop == Stop::converged);
    CHECK(result.gap <= options.tolerance * result.objective);
    CHECK(result.objective == doctest::Approx(cold.objective).epsilon(1e-6));
  }
}

TEST_CASE("a sample without factors put first changes neither cost nor result") {
  Random random(2);
  std::vector<Index> start = {0, 0}, other = {0};  // the first sample has no rows, or the last
  for (Index i = 1; i < 60; ++i) {
    start.push_back(2 * i);
    other.push_back(2 * i);
  }
  other.push_back(other.back());
  const Matrix factors = random.normals(start.back(), 5);
  const Rows rows(factors);
  const Covariance first = LowRank(rows, start.data(), 60), last = LowRank(rows, other.data(), 60);
  const Problem problem(kind_named("none"), 60, 5);
  const Engine a({problem.means, first, problem.labels}, kLambda), b({problem.means, last, problem.labels}, kLambda);
  CHECK(a.source().rank() == doctest::Approx(118.0 / 60));
  CHECK(a.source().rank() == b.source().rank());
}

TEST_CASE("the stochastic solver takes Lipschitz losses and says of the others that it does not") {
  const Problem problem(kind_named("diagonal"), 200, 5);
  for (const LossInfo& info : known_losses()) {
    CAPTURE(info.name);
    Options options;
    options.solver = Solver::sgd;
    options.steps = 200;
    options.lambda = 0.1;
    options.loss = make_loss(info.name);
    const TrainingSet set = set_for(info, problem);
    if (info.name.rfind("squared", 0) == 0) {
      const std::string wanted = "solver sgd: the loss " + info.name + " is not Lipschitz; use newton";
      CHECK_THROWS_WITH_AS(train(set, options), wanted.c_str(), InvalidArgument);
    } else {
      const Result result = train(set, options);
      CHECK(std::isfinite(result.gap));
      CHECK(result.objective <= Engine(set, 0.1, 1, true, options.loss).trivial().start);
    }
  }
}

TEST_CASE("margins of several w are those of each alone, whatever the threads") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 300, 7);
    const Gaussians data(problem.means, problem.noise.sum);
    const Matrix w = Random(4).normals(3, 7);
    const Vector b = Vector::Zero(3);
    const Planes planes{w.data(), b.data(), 3, 7};
    const Margins all = margins(planes, data, 3), again = margins(planes, data, 1);
    CHECK((all.variance.array() == again.variance.array()).all());
    for (Index i = 0; i < 300; i += 37)
      for (Index k = 0; k < 3; ++k) {
        const Vector one = w.row(k).transpose();
        CHECK(all.mean(i, k) == doctest::Approx(problem.means.row(i).dot(one)).epsilon(1e-12));
        CHECK(all.variance(i, k) ==
              doctest::Approx(one.dot(problem.noise.dense[static_cast<std::size_t>(i)] * one)).epsilon(1e-12));
      }
  }
}

TEST_CASE("targets that are no numbers are refused") {
  CHECK_THROWS_WITH_AS(Targets::values(std::vector<double>{1, kNaN}),
                       "targets: sample 1 has nan; targets must be finite numbers", InvalidArgument);
}
