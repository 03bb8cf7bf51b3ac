// Predictions of many objects: those of one by one, for every kind of covariance and number of threads.
#include <doctest/doctest.h>

#include <cmath>

#include "helpers.hpp"
#include "models/prediction.hpp"
#include "svmgsu/kinds/covariance.hpp"
#include "svmgsu/models/model.hpp"

using namespace svmgsu;

namespace {

Model sample(Index classes, MultiClass multi_class, bool calibrated, Index features) {
  Model model;
  model.multi_class = multi_class;
  model.labels.clear();
  for (Index k = 0; k < classes; ++k) model.labels.push_back(std::to_string(k));
  model.w = test::Random(11).normals(model.hyperplanes(), features);
  model.b = test::Random(12).normals(model.hyperplanes());
  model.lambda = 0.1;
  for (Index k = 0; calibrated && k < model.hyperplanes(); ++k)
    model.calibration.emplace_back(1.0 + 0.1 * static_cast<double>(k), 0.2, 0.3, -0.1 * static_cast<double>(k));
  return model;
}

void check_one_by_one(const Model& model, const Gaussians& data, const Matrix& means, const Matrix& variance) {
  const Matrix decisions = model.decisions(data, 3);
  const std::vector<Index> places = model.predict(data, 3);
  Matrix chances;
  if (!model.calibration.empty()) chances = model.probabilities(data, nullptr, 3);
  for (Index i = 0; i < means.rows(); ++i) {
    const Vector f = model.decision(means.row(i).transpose()), v = variance.row(i).transpose();
    CHECK(decisions.row(i) == f.transpose());
    CHECK(places[static_cast<std::size_t>(i)] == model.predict(f, &v));
    if (chances.size()) CHECK(chances.row(i) == model.probabilities(f, &v).transpose());
  }
}

}  // namespace

TEST_CASE("many objects are predicted as one by one, and as with one thread") {
  const Index count = 300, n = 7;
  const Matrix means = test::Random(21).normals(count, n);
  const Matrix spread = test::Random(22).normals(count, n).cwiseAbs2();
  for (const bool calibrated : {true, false})
    for (const Index classes : {2, 3, 5})
      for (const MultiClass multi_class : {MultiClass::ovo, MultiClass::ovr}) {
        const Model model = sample(classes, multi_class, calibrated, n);
        const Gaussians data(means, Diagonal(spread));
        const Matrix variance = margins(model.planes(), data, 1).variance;
        const Matrix wanted = spread * model.w.cwiseAbs2().transpose();
        CHECK((variance - wanted).cwiseAbs().maxCoeff() <= 1e-12 * wanted.maxCoeff());
        check_one_by_one(model, data, means, variance);
        CHECK(model.decisions(data, 1) == model.decisions(data, 4));
        CHECK(model.predict(data, 1) == model.predict(data, 4));
        if (calibrated) CHECK(model.probabilities(data, nullptr, 1) == model.probabilities(data, nullptr, 4));
      }
}

TEST_CASE("objects without covariances are known exactly") {
  const Matrix means = test::Random(23).normals(50, 4);
  const Model model = sample(4, MultiClass::ovo, true, 4);
  const Gaussians data(means, {});
  check_one_by_one(model, data, means, Matrix::Zero(50, 6));
  CHECK(margins(model.planes(), data).variance == Matrix::Zero(50, 6));
}

TEST_CASE("shares are those of all objects or of each") {
  const Matrix means = test::Random(24).normals(5, 4);
  const Model model = sample(3, MultiClass::ovr, true, 4);
  const Gaussians data(means, {});
  Matrix all(1, 3), each(5, 3);
  all << 0.2, 0.3, 0.5;
  each = all.replicate(5, 1);
  CHECK(model.probabilities(data, &all) == model.probabilities(data, &each));
  each(4, 0) = 20;
  CHECK(model.probabilities(data, &all).topRows(4) == model.probabilities(data, &each).topRows(4));
  CHECK(model.probabilities(data, &all)(4, 0) < model.probabilities(data, &each)(4, 0));
  const Matrix wrong = Matrix::Constant(1, 2, 0.5), none = Matrix::Zero(1, 3);
  CHECK_THROWS_AS(model.probabilities(data, &wrong), InvalidArgument);
  CHECK_THROWS_AS(model.probabilities(data, &none), InvalidArgument);
}

TEST_CASE("a regression estimates values and their deviations, and has no classes") {
  const Matrix means = test::Random(25).normals(40, 3), spread = test::Random(26).normals(40, 3).cwiseAbs2();
  const Model model = Model::regression(test::Random(27).normals(3), 0.5, 0.1);
  const Gaussians data(means, Diagonal(spread));
  const Estimates found = model.estimate(data);
  for (Index i = 0; i < 40; ++i) {
    CHECK(found.value(i) == model.decision(means.row(i).transpose())(0));
    CHECK(found.std(i) == doctest::Approx(std::sqrt(spread.row(i).dot(model.w.row(0).cwiseAbs2()))));
  }
  CHECK_THROWS_AS(model.predict(data), InvalidArgument);
  CHECK_THROWS_AS(sample(2, MultiClass::ovo, true, 3).estimate(data), InvalidArgument);
}

TEST_CASE("what does not fit the model is refused") {
  const Matrix means = test::Random(28).normals(5, 4);
  const Gaussians data(means, {});
  Model model = sample(3, MultiClass::ovo, true, 3);
  CHECK_THROWS_AS(model.decisions(data), InvalidArgument);
  model = sample(3, MultiClass::ovo, true, 4);
  model.calibration.pop_back();
  CHECK_THROWS_AS(model.predict(data), InvalidArgument);
  model = sample(3, MultiClass::ovo, false, 4);
  CHECK_THROWS_AS(model.probabilities(data), InvalidArgument);
  model.labels.push_back("more");
  CHECK_THROWS_AS(model.predict(data), InvalidArgument);
}
