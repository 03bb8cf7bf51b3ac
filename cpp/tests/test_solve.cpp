// Training: both solvers, what stops them, and what they refuse.
#include <doctest/doctest.h>

#include "helpers.hpp"
#include "solvers/sgd.hpp"
#include "svmgsu/svmgsu.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

const Kind& kDiagonal = kind_named("diagonal");

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("two symmetric points without uncertainty have a known solution") {
  // x = ±2 with y = ±1: the margin is met from w = 1/2 on, so w = min(1/2, 2/λ · ...), b = 0.
  Matrix means(2, 1);
  means << 2, -2;
  Vector labels(2);
  labels << 1, -1;
  Options options;
  options.lambda = 1e-2;
  const Result exact = train({means, CovarianceSum(), labels}, options);
  CHECK(exact.w(0) == doctest::Approx(0.5).epsilon(1e-4));
  CHECK(exact.b == doctest::Approx(0).epsilon(1e-4));
  CHECK(exact.objective == doctest::Approx(0.01 / 2 * 0.25).epsilon(1e-5));
}

TEST_CASE("newton proves the tolerance that was asked for, for every kind") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Problem problem(kind, 70, 7);
    Options options;
    options.lambda = 0.05;
    const Result result = train(problem.data(), options);
    CHECK(result.stop == Stop::converged);
    CHECK(result.gap >= 0);
    CHECK(result.gap <= options.tolerance * result.objective);
    const Objective objective(problem.data(), options.lambda);
    CHECK(result.objective == doctest::Approx(objective.value(result.w, result.b)).epsilon(1e-12));
  }
}

TEST_CASE("sgd comes near the optimum, and its gap is proven") {
  const Problem problem(kDiagonal, 200, 5);
  Options options;
  options.lambda = 0.1;
  options.solver = Solver::newton;
  const Result exact = train(problem.data(), options);
  options.solver = Solver::sgd;
  options.steps = 20000;
  options.batch = 20;
  const Result rough = train(problem.data(), options);
  CHECK(rough.iterations == 20000);
  CHECK(rough.objective >= exact.objective - exact.gap);
  CHECK(rough.objective - rough.gap <= exact.objective);
  CHECK(rough.objective == doctest::Approx(exact.objective).epsilon(1e-2));
}

TEST_CASE("a stream in pieces takes the steps of one, comes near the optimum, and keeps its dimension") {
  const Problem problem(kDiagonal, 200, 5), other(kDiagonal, 10, 4);
  Options options;
  options.lambda = 0.1;
  const Result exact = train(problem.data(), options);
  const Objective objective(problem.data(), 0.1, 1);
  Stream once, twice;
  for (std::uint64_t reading = 0; reading < 400; ++reading) continue_sgd(objective, 20, reading, once);
  CHECK(once.steps == 4000);
  CHECK(once.samples == 80000);
  CHECK(objective.value(once.average, once.average_b) == doctest::Approx(exact.objective).epsilon(1e-2));

  Stream again;  // the state is all that there is: a copy goes on as the original does
  continue_sgd(objective, 20, 1, again);
  twice = again;
  continue_sgd(objective, 20, 2, again);
  continue_sgd(objective, 20, 2, twice);
  CHECK(again.w == twice.w);
  CHECK(again.average_b == twice.average_b);
  CHECK_THROWS_AS(continue_sgd(Objective(other.data(), 0.1, 1), 20, 3, again), InvalidArgument);
  CHECK_THROWS_AS(continue_sgd(objective, 0, 3, again), InvalidArgument);
}

TEST_CASE("sgd repeats itself for a seed, whatever the threads, and differs for another") {
  const Problem problem(kDiagonal, 200, 5);
  Options options;
  options.solver = Solver::sgd;
  options.steps = 500;
  options.seed = 3;
  options.threads = 1;
  const Result first = train(problem.data(), options);
  options.threads = 8;
  const Result second = train(problem.data(), options);
  CHECK((first.w.array() == second.w.array()).all());
  CHECK(first.b == second.b);
  options.seed = 4;
  CHECK((train(problem.data(), options).w - first.w).norm() > 0);
}

TEST_CASE("without an intercept b stays 0") {
  const Problem problem(kDiagonal, 70, 5);
  for (const Solver solver : {Solver::newton, Solver::sgd}) {
    Options options;
    options.solver = solver;
    options.intercept = false;
    const Result result = train(problem.data(), options);
    CHECK(result.b == 0);
    CHECK(result.gap >= 0);
    CHECK(Objective(problem.data(), options.lambda, 0, false).value(result.w, 0) ==
          doctest::Approx(result.objective).epsilon(1e-12));
  }
}

TEST_CASE("a monitor sees progress and stops the solver at a usable point") {
  const Problem problem(kDiagonal, 2000, 20);
  for (const Solver solver : {Solver::newton, Solver::sgd}) {
    CAPTURE(static_cast<int>(solver));
    Options options;
    options.solver = solver;
    options.lambda = 1e-4;
    options.tolerance = 1e-10;
    options.steps = 1000000000;  // would take hours
    int calls = 0;
    const Result result = train(problem.data(), options, [&](const Progress& progress) {
      ++calls;
      CHECK(progress.seconds >= 0);
      CHECK(progress.passes >= 0);
      return false;
    });
    CHECK(result.stop == Stop::monitor);
    CHECK(calls >= 1);
    CHECK(calls <= 2);  // once to be told, perhaps once more with the final numbers
    CHECK(result.w.allFinite());
    CHECK(std::isfinite(result.objective));
    CHECK(std::isfinite(result.gap));
  }
}

TEST_CASE("a time limit stops the solver") {
  const Problem problem(kDiagonal, 2000, 20);
  Options options;
  options.solver = Solver::sgd;
  options.steps = 1000000000;
  options.max_seconds = 0.1;
  const Result result = train(problem.data(), options);
  CHECK(result.stop == Stop::time);
  CHECK(result.history.back().seconds < 30);
}

TEST_CASE("a warm start at the optimum is accepted") {
  const Problem problem(kDiagonal, 200, 5);
  Options options;
  const Objective objective(problem.data(), options.lambda);
  const Result cold = solve(objective, options);
  const Result warm = solve(objective, options, {}, &cold.w, cold.b);
  CHECK(warm.objective <= cold.objective + cold.gap);
  CHECK(warm.iterations <= cold.iterations);
}

TEST_CASE("an exception of the monitor reaches the caller") {
  const Problem problem(kDiagonal, 200, 5);
  for (const Solver solver : {Solver::newton, Solver::sgd}) {
    Options options;
    options.solver = solver;
    CHECK_THROWS_AS(train(problem.data(), options, [](const Progress&) -> bool { throw std::runtime_error("stop"); }),
                    std::runtime_error);
  }
}

TEST_CASE("training refuses what it cannot learn from, and says why") {
  Problem problem(kDiagonal, 20, 5);
  const auto message = [&](const Options& options = {}) { return message_of([&] { train(problem.data(), options); }); };
  SUBCASE("one class") {
    problem.labels.setOnes();
    CHECK(message() == "labels: one class only; training needs samples of both");
  }
  SUBCASE("labels other than -1 and +1") {
    problem.labels(3) = 0;
    CHECK(message().find("labels: sample 3 has 0") == 0);
  }
  SUBCASE("too few labels") {
    problem.labels = problem.labels.head(19).eval();
    CHECK(message() == "labels: 19 for 20 samples");
  }
  SUBCASE("too few weights") {
    problem.weights = problem.weights.head(19).eval();
    CHECK(message() == "weights: 19 for 20 samples");
  }
  SUBCASE("no samples") {
    problem.means.resize(0, 5);
    problem.noise.sum = CovarianceSum();
    CHECK(message() == "means: there are no samples");
  }
  SUBCASE("no features") {
    problem.means.resize(20, 0);
    problem.noise.sum = CovarianceSum();
    CHECK(message() == "means: there are no features");
  }
  SUBCASE("covariances of another number of samples") {
    problem.noise = Problem(kDiagonal, 21, 5).noise;
    CHECK(message() == "covariance: 21 samples, but the means have 20");
  }
  SUBCASE("covariances of another number of features") {
    problem.noise = Problem(kDiagonal, 20, 6).noise;
    CHECK(message() == "covariance: 6 features, but the means have 5");
  }
  SUBCASE("lambda") {
    Options options;
    options.lambda = 0;
    CHECK(message(options).find("lambda: must be positive") == 0);
  }
  SUBCASE("a minibatch larger than the data") {
    Options options;
    options.solver = Solver::sgd;
    options.batch = 21;
    CHECK(message(options).find("k: a minibatch of 21 from 20 samples") == 0);
  }
  SUBCASE("a row that does not exist") {
    const auto means = Rows(problem.means);
    const std::vector<Index> rows = {0, 20};
    CHECK(message_of([&] { Gaussians(means, problem.noise.sum, &rows); }) == "rows: 20 is not a sample");
  }
}
