// Deconvolution: one step by hand, the likelihood that never falls, threads, missing values, projections, refusals.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "helpers.hpp"
#include "svmgsu/population/deconvolution.hpp"

using namespace svmgsu;

namespace {

// Two groups, the second one small, measured with noise of the given kind.
struct Objects {
  Matrix values;
  test::Noise noise;

  Objects(const test::Kind& kind, Index count, Index n, std::uint64_t seed = 1) : values(count, n) {
    test::Random random(seed);
    values = random.normals(count, n);
    for (Index i = 0; i < count; i += 3)
      for (Index j = 0; j < n; ++j) values(i, j) += 4;
    noise = kind.make(count, n, random);
  }
};

Mixture start_of(Index n) {
  Mixture out{Vector::Constant(2, 0.5), Matrix::Zero(2, n), Matrix::Zero(2, n * n)};
  for (Index j = 0; j < n; ++j) {
    out.means(1, j) = 3;
    for (Index k = 0; k < 2; ++k) out.covariances(k, j * n + j) = 1 + static_cast<double>(k);
  }
  return out;
}

// log N(r; 0, T), by a decomposition that the library does not use here.
double log_density(const Eigen::VectorXd& r, const Eigen::MatrixXd& t) {
  const Eigen::FullPivLU<Eigen::MatrixXd> lu(t);
  return -0.5 * (r.dot(lu.solve(r)) + std::log(std::abs(lu.determinant())) +
                 static_cast<double>(r.size()) * std::log(2 * 3.14159265358979323846));
}

Eigen::MatrixXd square(const Matrix& rows, Index k, Index n) {
  Eigen::MatrixXd out(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) out(i, j) = rows(k, i * n + j);
  return out;
}

}  // namespace

TEST_CASE("likelihoods, shares, means and covariances of objects are those of the formulas, for every kind of noise") {
  for (const test::Kind& kind : test::every_kind()) {
    CAPTURE(kind.name);
    const Index count = 37, n = 3;
    const Objects objects(kind, count, n);
    const Gaussians data(objects.values, objects.noise.sum);
    const Observations seen{data};
    const Mixture mixture = start_of(n);
    Vector log(count);
    Matrix shares(count, 2), means(count, 2 * n), covariances(count, 2 * n * n);
    Posterior out;
    out.log_likelihood = log.data();
    out.weights = shares.data();
    out.means = means.data();
    out.covariances = covariances.data();
    posterior(seen, units_of(seen), mixture, 2, out);
    for (Index i = 0; i < count; ++i) {
      double total = 0;
      for (Index k = 0; k < 2; ++k) {
        const Eigen::MatrixXd s = square(mixture.covariances, k, n), t = s + objects.noise.dense[std::size_t(i)];
        const Eigen::VectorXd r = (objects.values.row(i) - mixture.means.row(k)).transpose();
        total += 0.5 * std::exp(log_density(r, t));
        const Eigen::MatrixXd gain = s * t.inverse();
        const Eigen::VectorXd b = mixture.means.row(k).transpose() + gain * r;
        const Eigen::MatrixXd covariance = s - gain * s;
        for (Index p = 0; p < n; ++p) {
          CHECK(means(i, k * n + p) == doctest::Approx(b(p)));
          for (Index q = 0; q < n; ++q) CHECK(std::abs(covariances(i, (k * n + p) * n + q) - covariance(p, q)) < 1e-12);
        }
      }
      CHECK(log(i) == doctest::Approx(std::log(total)));
      CHECK(shares.row(i).sum() == doctest::Approx(1));
    }
  }
}

TEST_CASE("the likelihood never falls, and the bits do not depend on the number of threads") {
  for (const Index memory : {Index{0}, Index{10}}) {
    const Objects objects(test::kind_named("diagonal"), 700, 3);
    const Gaussians data(objects.values, objects.noise.sum);
    const Observations seen{data};
    const Units units = units_of(seen);
    DeconvolutionOptions options;
    options.memory = memory;
    options.threads = 1;
    const Deconvolved one = deconvolve(seen, units, start_mixture(seen, units, 4, 7, options), options);
    for (std::size_t k = 1; k < one.history.size(); ++k) CHECK(one.history[k] >= one.history[k - 1] - 1e-12);
    options.threads = 3;
    const Deconvolved three = deconvolve(seen, units, start_mixture(seen, units, 4, 7, options), options);
    CHECK(one.mixture.means == three.mixture.means);
    CHECK(one.mixture.covariances == three.mixture.covariances);
    CHECK(one.history == three.history);
  }
}

TEST_CASE("a missing value says nothing: the likelihood is that of the others") {
  Matrix values(2, 2), alone(2, 1);
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  values << 1, nothing, 2, nothing;
  alone << 1, 2;
  const Mixture both = start_of(2), first = start_of(1);
  Vector found(2), wanted(2);
  Posterior out;
  const Gaussians data(values, {}), fewer(alone, {});
  out.log_likelihood = found.data();
  posterior({data}, {Vector::Zero(2), Vector::Ones(2)}, both, 1, out);
  out.log_likelihood = wanted.data();
  posterior({fewer}, {Vector::Zero(1), Vector::Constant(1, 5.0)}, first, 1, out);
  CHECK(found(0) == doctest::Approx(wanted(0)));
  CHECK(found(1) == doctest::Approx(wanted(1)));
}

TEST_CASE("one population seen through projections is found") {
  const Index count = 4000;
  test::Random random(3);
  Matrix values(count, 1), projection(count, 2);
  for (Index i = 0; i < count; ++i) {
    const double angle = 0.7 * static_cast<double>(i);
    projection(i, 0) = std::cos(angle);
    projection(i, 1) = std::sin(angle);
    values(i, 0) = projection(i, 0) * (5 + 2 * random.normal()) + projection(i, 1) * (1 + random.normal());
  }
  const Gaussians data(values, {});
  const Observations seen{data, projection.data(), 2};
  const Units units = units_of(seen);
  const Mixture found = deconvolve(seen, units, start_mixture(seen, units, 1, 0), {}).mixture;
  CHECK(found.means(0, 0) == doctest::Approx(5).epsilon(0.03));
  CHECK(found.means(0, 1) == doctest::Approx(1).epsilon(0.1));
  CHECK(found.covariances(0, 0) == doctest::Approx(4).epsilon(0.1));
  CHECK(found.covariances(0, 3) == doctest::Approx(1).epsilon(0.15));
}

TEST_CASE("a monitor stops with the best mixture so far") {
  const Objects objects(test::kind_named("full"), 200, 2);
  const Gaussians data(objects.values, objects.noise.sum);
  const Observations seen{data};
  int calls = 0;
  const Deconvolved found = deconvolve(seen, units_of(seen), start_of(2), {}, [&](const Progress& p) {
    CHECK(std::isfinite(p.objective));
    return ++calls < 3;
  });
  CHECK(found.stop == Stop::monitor);
  CHECK(found.history.size() == 3);
}

TEST_CASE("what has no population is refused") {
  Matrix same = Matrix::Ones(4, 1), empty = Matrix::Constant(4, 1, std::numeric_limits<double>::quiet_NaN());
  const Gaussians constant(same, {}), nothing(empty, {});
  CHECK_THROWS_AS(units_of({constant}), InvalidArgument);
  CHECK_THROWS_AS(units_of({nothing}), InvalidArgument);
  const Objects objects(test::kind_named("full"), 20, 2);
  const Gaussians data(objects.values, objects.noise.sum);
  const Observations seen{data};
  const Units units = units_of(seen);
  CHECK_THROWS_AS(deconvolve(seen, units, start_of(3), {}), InvalidArgument);
  CHECK_THROWS_AS(start_mixture(seen, units, 0, 0), InvalidArgument);
  Mixture bad = start_of(2);
  bad.weights(0) = -1;
  CHECK_THROWS_AS(deconvolve(seen, units, bad, {}), InvalidArgument);
  bad = start_of(2);
  bad.means(0, 0) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(deconvolve(seen, units, bad, {}), InvalidArgument);
}
