// What training refuses of the numbers that an application hands in.
#include <doctest/doctest.h>

#include <limits>

#include "helpers.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

// Means of two classes without fault, for a covariance to be tried on.
struct Plain {
  Matrix means = Random(3).normals(6, 4);
  Vector labels = (Vector(6) << 1, -1, 1, -1, 1, -1).finished();
  std::string with(const CovarianceSum& covariance, Options options = {}) const {
    return message_of([&] { train({means, covariance, labels}, options); });
  }
};

}  // namespace

TEST_CASE("every kind passes the check as it is made") {
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    CHECK_NOTHROW(check(Problem(kind, 300, 7).data().data));
  }
}

TEST_CASE("means must be finite, and the first fault is named for any number of threads") {
  Problem problem(kind_named("diagonal"), 1000, 5);
  problem.means(777, 0) = kInfinity;
  problem.means(431, 3) = kNaN;
  problem.means(431, 4) = kNaN;
  for (const int threads : {1, 4})
    CHECK(message_of([&] { check(problem.data().data, threads); }) ==
          "means: sample 431 has nan at feature 3; all numbers must be finite");
  MatrixOf<float> narrow = problem.means.cast<float>();
  narrow.row(431).setZero();
  CHECK(message_of([&] { train(TrainingSet(narrow, CovarianceSum(), problem.labels), Options()); }) ==
        "means: sample 777 has inf at feature 0; all numbers must be finite");
}

TEST_CASE("only the chosen rows are looked at") {
  Plain plain;
  plain.means(2, 2) = kNaN;
  const auto means = Rows(plain.means);
  const std::vector<Index> without = {0, 1, 3}, with = {0, 1, 2};
  CHECK_NOTHROW(check(Gaussians(means, {}, &without)));
  CHECK_THROWS_AS(check(Gaussians(means, {}, &with)), InvalidArgument);
}

TEST_CASE("variances must be >= 0 and finite") {
  const Plain plain;
  Vector isotropic = Vector::Ones(6);
  isotropic(4) = -1e-300;
  CHECK(plain.with(Isotropic(isotropic)) ==
        "covariance: sample 4 has variance -1e-300; variances must be >= 0 and finite");
  Matrix diagonal = Matrix::Zero(6, 4);
  CHECK(plain.with(Diagonal(diagonal)) == "no error");
  for (const double bad : {-0.3, kNaN, kInfinity}) {
    diagonal(5, 1) = bad;
    CHECK(plain.with(Diagonal(diagonal)).find("covariance: sample 5 has variance ") == 0);
    CHECK(plain.with(Diagonal(diagonal)).find(" at feature 1; variances must be >= 0") != std::string::npos);
  }
  Options options;
  options.check = false;
  diagonal(5, 1) = -0.3;
  CHECK(plain.with(Diagonal(diagonal), options) == "no error");
}

TEST_CASE("sparse rows stay inside their arrays") {
  const Plain plain;
  std::vector<double> value = {1, 2, 3};
  std::vector<std::int32_t> column = {0, 3, 1};
  std::vector<Index> start = {0, 1, 2, 2, 2, 2, 3};
  const Covariance kind = Diagonal({value.data(), column.data(), start.data(), 6, 4});
  CHECK(plain.with(kind) == "no error");
  value[1] = -2;
  CHECK(plain.with(kind) == "covariance: sample 1 has variance -2 at feature 3; variances must be >= 0 and finite");
  column[1] = 4;
  CHECK(plain.with(kind) == "covariance: sample 1 has an entry in column 4; there are 4");
  column[1] = -1;
  CHECK(plain.with(kind) == "covariance: sample 1 has an entry in column -1; there are 4");
  column[1] = 2;
  start[2] = 0;
  CHECK(plain.with(kind) == "covariance: sample 1 has entries 1 to 0");
}

TEST_CASE("full matrices have variances >= 0 and correlations up to 1") {
  const Plain plain;
  std::vector<Matrix> dense(6, Matrix::Identity(4, 4));
  const auto message = [&] {
    const Matrix packed = packed_upper(dense);
    return plain.with(Full(packed));
  };
  dense[1].diagonal() *= 1e-160;  // products that underflow
  dense[2].setOnes();             // of rank one
  dense[4] *= 1e200;
  CHECK(message() == "no error");
  dense[3](1, 3) = dense[3](3, 1) = 1 + 1e-6;  // rounded
  CHECK(message() == "no error");
  dense[3](1, 3) = dense[3](3, 1) = -1.9;
  CHECK(message() ==
        "covariance: sample 3 has covariance -1.9 of features 1 and 3, whose variances are 1 and 1: it is not "
        "positive semidefinite");
  dense[3](1, 3) = dense[3](3, 1) = kNaN;
  CHECK(message().find("covariance: sample 3 has covariance nan of features 1 and 3") == 0);
  dense[3](2, 2) = -1;
  CHECK(message() == "covariance: sample 3 has variance -1 at feature 2; variances must be >= 0 and finite");
}

TEST_CASE("factors must be finite; shared matrices and their groups are looked at too") {
  const Plain plain;
  Matrix factors = Matrix::Ones(12, 4);
  factors(7, 2) = kNaN;
  CHECK(plain.with(LowRank({factors.data(), 12, 4}, 2)) ==
        "covariance: sample 3 has nan at feature 2; all numbers must be finite");
  Matrix shared = Matrix::Ones(2, 4);
  std::vector<std::int32_t> group = {0, 1, 0, 1, 2, 1};
  CHECK(plain.with(Shared(Diagonal({shared.data(), 2, 4}), group.data(), 6)) ==
        "covariance: sample 4 has group 2; there are 2");
  group[4] = 0;
  shared(1, 3) = -1;
  CHECK(plain.with(Shared(Diagonal({shared.data(), 2, 4}), group.data(), 6)) ==
        "covariance: group 1 has variance -1 at feature 3; variances must be >= 0 and finite");
  const Vector variances = Vector::Ones(6);
  const CovarianceSum sum({{Isotropic(variances), -2.0}});
  CHECK(plain.with(sum) == "covariance: a factor must be >= 0 and finite, got -2");
}

TEST_CASE("weights must be >= 0 and finite") {
  const Plain plain;
  for (const double bad : {-1.0, kNaN, kInfinity}) {
    Vector weights = Vector::Ones(6);
    weights(2) = bad;
    const std::string message = message_of([&] { TrainingSet(plain.means, CovarianceSum(), plain.labels, weights); });
    CHECK(message.find("weights: sample 2 has ") == 0);
    CHECK(message.find("; weights must be >= 0 and finite") != std::string::npos);
  }
}

TEST_CASE("options that cannot be meant are refused") {
  const Plain plain;
  const auto message = [&](auto change) {
    Options options;
    change(options);
    return plain.with({}, options);
  };
  CHECK(message([](Options& o) { o.lambda = kNaN; }) == "lambda: must be positive and finite, got nan");
  CHECK(message([](Options& o) { o.tolerance = 0; }) == "tolerance: must be positive and finite, got 0");
  CHECK(message([](Options& o) { o.tolerance = kNaN; }) == "tolerance: must be positive and finite, got nan");
  CHECK(message([](Options& o) { o.max_iterations = -1; }) == "max_iterations: must be >= 0, got -1");
  CHECK(message([](Options& o) { o.max_seconds = kNaN; }) == "max_seconds: must be >= 0, got nan");
  CHECK(message([](Options& o) { o.batch = -5; }) == "batch: must be >= 0, got -5");
  CHECK(message([](Options& o) { o.steps = -5; }) == "steps: must be >= 0, got -5");
  CHECK(message([](Options& o) { o.average = 1.5; }) == "average: must be in [0, 1], got 1.5");
}
