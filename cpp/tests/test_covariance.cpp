// Every kind of covariance against its own dense matrices.
#include <doctest/doctest.h>

#include <numeric>

#include "helpers.hpp"
#include "kinds/curvature.hpp"
#include "svmgsu/kinds/covariance.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

constexpr Index kSamples = 11, kFeatures = 9;

struct Pass {
  std::vector<double> quadratic;  // wᵀΣ_i w
  Vector product;                 // (Σ κ_i Σ_i) w
};

// What a gradient pass asks of a covariance, in batches of four.
Pass run(const CovarianceSum& covariance, const Vector& w, const std::vector<double>& kappa) {
  std::vector<Index> ids(kappa.size());
  std::iota(ids.begin(), ids.end(), Index{0});
  Pass pass{std::vector<double>(kappa.size(), 0.0), Vector::Zero(w.size())};
  for (const auto& term : covariance.terms()) {
    Plan plan;
    std::vector<double> sum(static_cast<std::size_t>(term.kind.sum_size()), 0.0);
    term.kind.prepare(w.data(), w.data(), w.size(), plan);
    for (std::size_t first = 0; first < ids.size(); first += 4) {
      const Batch batch{&ids[first], static_cast<int>(std::min<std::size_t>(4, ids.size() - first))};
      term.kind.bilinear(batch, plan, term.scale, &pass.quadratic[first]);
      term.kind.weigh(batch, plan, &kappa[first], sum.data());
    }
    term.kind.finish(sum.data(), w.data(), w.size(), term.scale, pass.product.data());
  }
  return pass;
}

Matrix full(const CovarianceSum& covariance, Index sample, Index n) {
  Matrix out = Matrix::Zero(n, n);
  for (const auto& term : covariance.terms()) term.kind.add_full(sample, term.scale, out);
  return out;
}

// The first sample that is indefinite beyond `tolerance`, of matrices that stay as they are.
template <class Packed>
Indefinite first_indefinite(Packed packed, Index samples, Index n, double tolerance, int threads) {
  const Packed before = packed;
  const Indefinite found = clip_indefinite(packed.data(), samples, n, tolerance, tolerance, threads).refused;
  CHECK(packed == before);
  return found;
}

}  // namespace

TEST_CASE("every kind agrees with its dense matrices") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    Random random(5);
    const Noise noise = kind.make(kSamples, kFeatures, random);
    const Vector w = random.normals(kFeatures);
    std::vector<double> kappa(kSamples);
    for (double& k : kappa) k = random.uniform();
    kappa[2] = 0;

    const Pass pass = run(noise.sum, w, kappa);
    Vector product = Vector::Zero(kFeatures);
    for (Index i = 0; i < kSamples; ++i) {
      const Matrix& sigma = noise.dense[static_cast<std::size_t>(i)];
      CAPTURE(i);
      CHECK((full(noise.sum, i, kFeatures) - sigma).norm() <= 1e-14 * sigma.norm());
      CHECK(pass.quadratic[static_cast<std::size_t>(i)] == doctest::Approx(w.dot(sigma * w)).epsilon(1e-13));
      product += kappa[static_cast<std::size_t>(i)] * sigma * w;
    }
    CHECK(relative_error(pass.product, product) < 1e-13);
  }
}

TEST_CASE("every kind's curvature agrees with its dense matrices") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    Random random(6);
    const Noise noise = kind.make(kSamples, kFeatures, random);
    const Vector w = random.normals(kFeatures), v = random.normals(kFeatures);
    const std::vector<Index> active = {0, 1, 3, 4, 7, 10};  // the others have κ = 0
    const std::size_t size = active.size();
    std::vector<double> tau(size), kappa(size), cross(size, 0.0);
    for (std::size_t k = 0; k < size; ++k) {
      tau[k] = random.normal();
      kappa[k] = random.uniform();
    }
    const Batch batch{active.data(), static_cast<int>(size)};
    Vector product = Vector::Zero(kFeatures);
    for (const auto& term : noise.sum.terms()) {
      Plan plan;
      std::vector<double> unused(size, 0.0), sum(static_cast<std::size_t>(term.kind.sum_size()), 0.0);
      term.kind.prepare(w.data(), w.data(), kFeatures, plan);
      term.kind.bilinear(batch, plan, 1.0, unused.data());
      term.kind.weigh(batch, plan, kappa.data(), sum.data());
      Curvature curvature(term.kind, w, plan, sum, active, 1);
      std::vector<double> own(static_cast<std::size_t>(curvature.sum_size()), 0.0);
      curvature.prepare(v.data());
      curvature.cross(batch, term.scale, cross.data());
      curvature.weigh(batch, tau.data(), kappa.data(), own.data());
      curvature.finish(own.data(), term.scale, product.data());
    }
    Vector want = Vector::Zero(kFeatures);
    for (std::size_t k = 0; k < size; ++k) {
      const Matrix& sigma = noise.dense[static_cast<std::size_t>(active[k])];
      CHECK(cross[k] == doctest::Approx(w.dot(sigma * v)).epsilon(1e-13));
      want += sigma * (tau[k] * w + kappa[k] * v);
    }
    CHECK(relative_error(product, want) < 1e-13);
  }
}

TEST_CASE("covariances add and scale") {
  Random random(7);
  const Noise a = kind_named("full").make(kSamples, kFeatures, random);
  const Noise b = kind_named("isotropic").make(kSamples, kFeatures, random);
  const CovarianceSum sum = 0.25 * (a.sum + 2.0 * b.sum);
  const Matrix want = 0.25 * a.dense[4] + 0.5 * b.dense[4];
  CHECK((full(sum, 4, kFeatures) - want).norm() < 1e-14 * want.norm());
  CHECK((0.0 * a.sum).terms()[0].scale == 0);
  CHECK_THROWS_AS(-1.0 * a.sum, InvalidArgument);
}

TEST_CASE("packing keeps a symmetric matrix and averages the triangles of a nearly symmetric one") {
  Random random(8);
  const auto dense = random_covariances(5, kFeatures, random);
  std::vector<double> stacked;
  for (const Matrix& sigma : dense) stacked.insert(stacked.end(), sigma.data(), sigma.data() + sigma.size());
  const Matrix want = packed_upper(dense);
  Matrix packed(5, want.cols());
  CHECK(pack(stacked.data(), 5, kFeatures, 1e-10, 2, packed.data()) == -1);
  CHECK((packed - want).cwiseAbs().maxCoeff() <= 1e-15);

  const std::size_t upper = 3 * kFeatures * kFeatures + 1;  // Σ_3(0, 1)
  stacked[upper] += 2e-12;
  CHECK(pack(stacked.data(), 5, kFeatures, 1e-10, 2, packed.data()) == -1);
  CHECK(packed(3, 1) == doctest::Approx(want(3, 1) + 1e-12).epsilon(1e-15));
}

TEST_CASE("packing names the first asymmetric matrix, whatever the number of threads") {
  Random random(9);
  constexpr Index kMany = 200;
  std::vector<double> stacked;
  for (const Matrix& sigma : random_covariances(kMany, 3, random))
    stacked.insert(stacked.end(), sigma.data(), sigma.data() + sigma.size());
  for (const Index wrong : {57, 58, 199}) stacked[static_cast<std::size_t>(wrong) * 9 + 2] += 0.1;
  Matrix packed(kMany, 6);
  for (const int threads : {1, 2, 8}) CHECK(pack(stacked.data(), kMany, 3, 1e-8, threads, packed.data()) == 57);
}

TEST_CASE("an indefinite matrix is found with its smallest eigenvalue") {
  Random random(10);
  auto dense = random_covariances(20, 4, random);
  dense[3].setZero();                                        // semidefinite
  dense[5] = Vector::Ones(4) * Vector::Ones(4).transpose();  // semidefinite
  for (Matrix& sigma : dense) sigma = (sigma + sigma.transpose()) / 2;
  Matrix packed = packed_upper(dense);
  CHECK(first_indefinite(packed, 20, 4, 1e-10, 2).sample == -1);

  Matrix negative = Vector::LinSpaced(4, 1, 4).asDiagonal();
  negative(2, 2) = -0.3;
  dense[12] = negative;
  dense[15] = -Matrix::Identity(4, 4);
  packed = packed_upper(dense);
  for (const int threads : {1, 2, 8}) {
    const Indefinite found = first_indefinite(packed, 20, 4, 1e-10, threads);
    CHECK(found.sample == 12);
    CHECK(found.eigenvalue == doctest::Approx(-0.3).epsilon(1e-13));
  }
  const MatrixOf<float> single = packed.cast<float>();
  CHECK(first_indefinite(single, 20, 4, 1e-6, 1).sample == 12);
}

TEST_CASE("a variance that is negative by rounding only is accepted") {
  Matrix sigma = Matrix::Identity(3, 3);
  sigma(2, 2) = -1e-16;
  CHECK(first_indefinite(packed_upper({sigma}), 1, 3, 1e-10, 1).sample == -1);
  sigma(2, 2) = -1e-13;
  CHECK(first_indefinite(packed_upper({sigma}), 1, 3, 1e-10, 1).sample == 0);
}

TEST_CASE("units hide no indefinite matrix") {
  Matrix sigma = Matrix::Identity(3, 3);
  sigma(1, 2) = sigma(2, 1) = 1.9;
  for (const double large : {1.0, 1e8, 1e30}) {
    sigma(0, 0) = large;
    const Indefinite found = first_indefinite(packed_upper({sigma}), 1, 3, 1e-4, 1);
    CHECK(found.sample == 0);
    CHECK(found.eigenvalue == doctest::Approx(-0.9).epsilon(1e-7));
  }
  sigma = Vector::LinSpaced(3, 0, 2).asDiagonal();
  CHECK(first_indefinite(packed_upper({sigma}), 1, 3, 0, 1).sample == -1);
  sigma(0, 1) = sigma(1, 0) = 1e-6;  // a covariance without a variance
  CHECK(first_indefinite(packed_upper({sigma}), 1, 3, 1e-4, 1).sample == 0);
}

TEST_CASE("what is nearly semidefinite is projected, the same for any number of threads, and the rest is kept") {
  Random random(11);
  auto dense = random_covariances(40, 4, random);
  for (Matrix& sigma : dense) sigma = (sigma + sigma.transpose()) / 2;
  Matrix near = Matrix::Identity(4, 4);
  near(0, 1) = near(1, 0) = 1 + 1e-5;
  Matrix units = Matrix::Identity(4, 4);
  units(1, 1) = 1e6;
  dense[7] = near;
  dense[9] = units * near * units;
  const Matrix before = packed_upper(dense);
  for (const int threads : {1, 2, 8}) {
    Matrix after = before;
    const Clipped clipped = clip_indefinite(after.data(), 40, 4, 1e-9, 1e-4, threads);
    CHECK(clipped.samples == 2);
    CHECK(clipped.farthest == doctest::Approx(1e-5).epsilon(1e-9));
    CHECK(clipped.refused.sample == -1);
    for (Index i = 0; i < 40; ++i)
      if (i != 7 && i != 9) CHECK((after.row(i) - before.row(i)).norm() == 0);
    // The block is 1 + 5e-6 times (1 1; 1 1): its upper eigenvalue is kept, the lower one is 0.
    CHECK(after(7, 0) == doctest::Approx(1 + 5e-6).epsilon(1e-13));
    CHECK(after(7, 1) == doctest::Approx(1 + 5e-6).epsilon(1e-13));
    CHECK(after(9, 1) == doctest::Approx(1e6 * (1 + 5e-6)).epsilon(1e-13));
    CHECK(first_indefinite(after, 40, 4, 1e-14, threads).sample == -1);
  }
  dense[20] = -near;
  Matrix bad = packed_upper(dense);
  CHECK(clip_indefinite(bad.data(), 40, 4, 1e-9, 1e-4, 2).refused.sample == 20);
}

TEST_CASE("a packed row must have n(n+1)/2 numbers") {
  for (Index n = 1; n <= 50; ++n) {
    const Matrix none(0, n * (n + 1) / 2);
    CHECK(Full(none).features() == n);
  }
}
