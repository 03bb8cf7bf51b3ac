// Learning in linear subspaces: which eigenvalues are kept, and what is made of them.
#include <doctest/doctest.h>

#include "helpers.hpp"
#include "svmgsu/data/subspace.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

constexpr Index kSamples = 8, kFeatures = 6;

Matrix rows_of(const Subspaces& subspaces, Index sample, Index n) {
  const auto at = static_cast<std::size_t>(sample);
  return Eigen::Map<const EigenMatrix>(subspaces.factors.data() + subspaces.start[at] * n,
                                       subspaces.start[at + 1] - subspaces.start[at], n);
}

Vector values(std::initializer_list<double> list) {
  return Eigen::Map<const EigenVector>(list.begin(), static_cast<Index>(list.size()));
}

}  // namespace

TEST_CASE("eigenvalues are kept until their share exceeds p") {
  const Vector descending = values({5, 3, 1.5, 0.5});
  CHECK(kept_eigenvalues(descending, 4, 0.1) == 1);
  CHECK(kept_eigenvalues(descending, 4, 0.49) == 1);
  CHECK(kept_eigenvalues(descending, 4, 0.5) == 2);  // exceeds, not reaches
  CHECK(kept_eigenvalues(descending, 4, 0.79) == 2);
  CHECK(kept_eigenvalues(descending, 4, 0.9) == 3);
  CHECK(kept_eigenvalues(descending, 4, 0.99) == 4);
  CHECK(kept_eigenvalues(descending, 4, 1) == 4);
}

TEST_CASE("all is kept at p = 1 but what rounding has made, and nothing of a zero covariance") {
  CHECK(kept_eigenvalues(values({2, 1, 1e-17, 0}), 4, 1) == 2);
  CHECK(kept_eigenvalues(values({2, 1, 1e-7, 0}), 4, 1) == 3);
  CHECK(kept_eigenvalues(values({2, 1, 1e-7, 0}), 4, 1, std::numeric_limits<float>::epsilon()) == 2);
  CHECK(kept_eigenvalues(values({0, 0, 0}), 3, 1) == 0);
  CHECK(kept_eigenvalues(values({0, 0, 0}), 3, 0.5) == 0);
  CHECK(kept_eigenvalues(Vector(), 3, 0.5) == 0);
}

TEST_CASE("the whole subspace is the covariance itself, for every kind") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    Random random(22);
    const Noise noise = kind.make(kSamples, kFeatures, random);
    const Subspaces kept = eigen_subspaces(noise.sum, kSamples, kFeatures, 1, 2);
    CHECK(kept.start.size() == kSamples + 1);
    for (Index i = 0; i < kSamples; ++i) {
      const Matrix f = rows_of(kept, i, kFeatures), &sigma = noise.dense[static_cast<std::size_t>(i)];
      CHECK((f.transpose() * f - sigma).norm() <= 1e-12 * sigma.norm());
    }
  }
}

TEST_CASE("kept rows are orthogonal, largest first, and no more than the share asks for") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    Random random(23);
    const Noise noise = kind.make(kSamples, kFeatures, random);
    const Subspaces kept = eigen_subspaces(noise.sum, kSamples, kFeatures, 0.8, 1);
    for (Index i = 0; i < kSamples; ++i) {
      const Matrix f = rows_of(kept, i, kFeatures), gram = f * f.transpose();
      const double trace = noise.dense[static_cast<std::size_t>(i)].trace();
      if (trace == 0) {
        CHECK(f.rows() == 0);
        continue;
      }
      const Vector diagonal = gram.diagonal();
      CHECK((gram - Matrix(diagonal.asDiagonal())).norm() < 1e-12 * gram.norm());
      CHECK(std::is_sorted(diagonal.begin(), diagonal.end(), [](double a, double b) { return a > b * (1 + 1e-12); }));
      CHECK(diagonal.sum() > 0.8 * trace * (1 - 1e-12));
      CHECK(diagonal.head(f.rows() - 1).sum() <= 0.8 * trace * (1 + 1e-12));
    }
  }
}

TEST_CASE("subspaces have the same bits for any number of threads") {
  Random random(24);
  const Noise noise = kind_named("full").make(50, kFeatures, random);
  const Subspaces one = eigen_subspaces(noise.sum, 50, kFeatures, 0.9, 1);
  for (const int threads : {2, 3, 8}) {
    const Subspaces many = eigen_subspaces(noise.sum, 50, kFeatures, 0.9, threads);
    CHECK(many.start == one.start);
    CHECK(many.factors == one.factors);
  }
}

TEST_CASE("projected means lie in their subspace and stay when projected again") {
  Random random(25);
  const Noise noise = kind_named("low rank of many ranks").make(kSamples, kFeatures, random);
  const Subspaces kept = eigen_subspaces(noise.sum, kSamples, kFeatures, 0.9, 2);
  const Matrix means = random.normals(kSamples, kFeatures);
  Matrix once(kSamples, kFeatures), twice(kSamples, kFeatures);
  project_means(means.data(), kept, kFeatures, 2, once.data());
  project_means(once.data(), kept, kFeatures, 1, twice.data());
  CHECK((once - twice).norm() < 1e-13 * once.norm());
  for (Index i = 0; i < kSamples; ++i) {
    const Matrix f = rows_of(kept, i, kFeatures);
    CHECK((f * (means.row(i) - once.row(i)).transpose()).norm() <= 1e-12 * f.norm());
    if (f.rows() == 0) CHECK(once.row(i).norm() == 0);
  }
  const MatrixOf<float> single = means.cast<float>();
  MatrixOf<float> projected(kSamples, kFeatures);
  project_means(single.data(), kept, kFeatures, 1, projected.data());
  CHECK((projected.cast<double>() - once).norm() < 1e-6 * once.norm());
}

TEST_CASE("a share outside (0, 1] is refused") {
  Random random(26);
  const Noise noise = kind_named("isotropic").make(kSamples, kFeatures, random);
  for (const double p : {0.0, -0.5, 1.5, std::nan("")})
    CHECK_THROWS_AS(eigen_subspaces(noise.sum, kSamples, kFeatures, p, 1), InvalidArgument);
}
