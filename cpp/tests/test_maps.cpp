// Features of Gaussians from C++: against their definition by sampling, for every kind of covariance.
#include <doctest/doctest.h>

#include <Eigen/Cholesky>

#include "helpers.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

// Mean and variance of each feature by draws from N(x, Σ).
void sampled(const Map& map, const Vector& x, const Matrix& sigma, Random& random, Vector& mean, Vector& variance) {
  const Eigen::MatrixXd full = sigma;
  const Eigen::MatrixXd root =
      Eigen::LLT<Eigen::MatrixXd>(full + 1e-14 * Eigen::MatrixXd::Identity(x.size(), x.size())).matrixL();
  const int draws = 20000;
  mean.setZero(map.outputs());
  variance.setZero(map.outputs());
  Vector z(map.outputs());
  OneGaussian point;
  for (int k = 0; k < draws; ++k) {
    point.x = x + root * random.normals(x.size());
    map.mean(point, z.data());
    mean += z / draws;
    variance += z.cwiseAbs2() / draws;
  }
  variance -= mean.cwiseAbs2();
}

void check_kind(const Map& map, const Kind& kind, Random& random) {
  const Index n = map.inputs();
  const Matrix means = random.normals(3, n);
  Noise noise = kind.make(3, n, random);
  for (Matrix& sigma : noise.dense) sigma *= 0.2;
  const Gaussians data(means, 0.2 * noise.sum);
  Matrix found(3, map.outputs());
  const FeatureMoments moments = map_moments(map, data, {}, Spread::diagonal, found.data(), 2);
  Vector mean, variance;
  sampled(map, means.row(1), noise.dense[1], random, mean, variance);
  for (Index j = 0; j < map.outputs(); ++j) {
    const double bound = 6 * std::sqrt(moments.variance(1, j) / 20000) + 1e-6;
    CHECK(std::abs(found(1, j) - mean[j]) < bound);
    CHECK(std::abs(moments.variance(1, j) - variance[j]) < 0.1 * moments.variance(1, j) + 1e-6);
  }
}

}  // namespace

TEST_CASE("features of every kind have the moments of draws") {
  Random random(3);
  const Fourier fourier(random.normals(3, 4));
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    check_kind(fourier, kind, random);
  }
}

TEST_CASE("maps refuse data of another number of features") {
  const Matrix means = Matrix(Eigen::MatrixXd::Zero(2, 3));
  const Gaussians data(means, {});
  const Polynomial map(2);
  double out[10];
  CHECK_THROWS_AS(map_moments(map, data, {}, Spread::none, out), InvalidArgument);
  const Blend blend{out, 3};
  CHECK_THROWS_AS(map_moments(Polynomial(3), data, blend, Spread::none, out), InvalidArgument);
}
