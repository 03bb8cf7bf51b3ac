#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "helpers.hpp"
#include "svmgsu/models/classification.hpp"
#include "svmgsu/models/model.hpp"

using namespace svmgsu;

namespace {

// Four classes and their six pairs.
Model of_pairs() {
  Model model;
  model.w = test::Random(5).normals(6, 3);
  model.b = test::Random(6).normals(6);
  model.lambda = 0.1;
  model.labels = {"0", "1", "2", "3"};
  for (int k = 0; k < 6; ++k) model.calibration.emplace_back(Platt{-1.0 - 0.2 * k, 0.1 * k});
  return model;
}

}  // namespace

TEST_CASE("log-odds of pairs that agree give back the probabilities") {
  const double p[] = {0.5, 0.3, 0.15, 0.05};
  double z[6], d[4];
  for (int i = 0, k = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j, ++k) z[k] = std::log(p[j] / p[i]);
  couple(z, 4, d);
  for (int i = 0; i < 4; ++i) CHECK(d[i] == doctest::Approx(std::log(p[i] / (1 - p[i]))));
}

TEST_CASE("log-odds of any size are coupled without overflow") {
  const double most = std::numeric_limits<double>::infinity();
  const double cases[][3] = {{most, -most, most}, {1e308, 1e308, 1e308}, {-800, 900, 1000}, {0, 0, 0}};
  for (const auto& z : cases) {
    double d[3];
    couple(z, 3, d);
    for (const double value : d) CHECK(std::isfinite(value));
  }
}

TEST_CASE("a class that wins more pairs has more votes, and margins decide among equals") {
  const double z[] = {-1, 2, 0.5};  // 0 beats 1, 2 beats 0 and 1
  double votes[3];
  vote(z, 3, votes);
  CHECK(votes[0] == doctest::Approx(1 - 1.0 / (3 * 2)));
  CHECK(votes[1] == doctest::Approx(0 - 1.5 / (3 * 2.5)));
  CHECK(votes[2] == doctest::Approx(2 + 2.5 / (3 * 3.5)));
  const double circle[] = {1, -3, 1};  // 1 beats 0, 0 beats 2, 2 beats 1: one vote each
  vote(circle, 3, votes);
  CHECK((votes[0] > votes[1] && votes[0] > votes[2]));
}

TEST_CASE("a model of pairs says the most probable class, without probabilities the one with most votes") {
  Model model = of_pairs();
  CHECK(model.hyperplanes() == 6);
  for (int i = 0; i < 50; ++i) {
    const Vector decision = model.decision(test::Random(100 + static_cast<std::uint64_t>(i)).normals(3));
    const Vector variance = Vector::Constant(6, 0.3), p = model.probabilities(decision, &variance);
    CHECK(p.sum() == doctest::Approx(1));
    CHECK(p(model.predict(decision, &variance)) == p.maxCoeff());
  }
  CHECK_THROWS_AS(model.predict(Vector::Zero(4)), InvalidArgument);
  CHECK_THROWS_AS(model.probabilities(Vector::Zero(4)), InvalidArgument);
  model.calibration.clear();
  const Vector decision = (Vector(6) << -1, -1, -1, 5, 5, 5).finished();  // 0 wins its three pairs
  CHECK(model.predict(decision) == 0);
  CHECK_THROWS_AS(model.probabilities(decision), InvalidArgument);
}

TEST_CASE("a model of pairs comes back from a file, and a file that does not say so is of one class against the rest") {
  const Model model = of_pairs();
  std::stringstream file;
  model.write(file);
  const std::string text = file.str();
  CHECK(text.find("\nmulti_class ovo\n") != std::string::npos);
  const Model again = Model::read(file, "m");
  CHECK(again.w == model.w);
  CHECK(again.multi_class == MultiClass::ovo);
  std::istringstream silent(
      "svmgsu-model 3\nlabels int 1 2 3\nlambda 1\nfeatures 1\nintercept 1 2 3\nweights\n1 2 3\nend\n");
  CHECK(Model::read(silent, "m").multi_class == MultiClass::ovr);
}
