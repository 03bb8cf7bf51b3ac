// From decision values to classes: coupling, probabilities, priors; many samples as one by one.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "helpers.hpp"
#include "models/prediction.hpp"
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

// A model whose decision values are the features, asked about one sample.
struct Asked {
  Model model;
  Matrix f, v = Matrix(0, 0);

  Asked(const Model& like, const std::vector<double>& values) : model(like), f(1, like.hyperplanes()) {
    model.w = Matrix::Identity(model.hyperplanes(), model.hyperplanes());
    model.b = Vector::Zero(model.hyperplanes());
    std::copy(values.begin(), values.end(), f.data());
  }
  Asked& noisy(double variance) {
    v = Matrix::Constant(1, f.cols(), variance);
    return *this;
  }
  Gaussians data() const { return Gaussians(f, v.size() ? CovarianceSum(Diagonal(v)) : CovarianceSum()); }
  Index place() const { return model.predict(data())[0]; }
  Vector probabilities(const Matrix* prior = nullptr) const {
    return model.probabilities(data(), prior).row(0).transpose();
  }
};

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

TEST_CASE("two classes are told apart by the sign, with probabilities by those, which are the sigmoid's") {
  Model model = sample(2, MultiClass::ovo, false, 1);
  CHECK(Asked(model, {1}).place() == 1);
  CHECK(Asked(model, {-1}).place() == 0);
  model.calibration = {Calibration(Platt{-3, 0.5})};
  const Vector p = Asked(model, {0.4}).probabilities();
  CHECK(p(1) == doctest::Approx(1 / (1 + std::exp(-3 * 0.4 + 0.5))));
  CHECK(p.sum() == doctest::Approx(1));
  CHECK(Asked(model, {0.1}).place() == 0);  // on the positive side, and less probable
  model.class_weight = (Vector(2) << 1, 3).finished();
  CHECK(Asked(model, {0.1}).place() == 1);
}

TEST_CASE("log-odds are those of Bayes' rule for normal margins with noise") {
  const double tau2 = 0.64, away = 1.1, share = 0.05;
  const double base = std::log(share / (1 - share));
  const Calibration c(2 * away / tau2, base, 1 / tau2, base);
  for (const double f : {-2.0, 0.1, 1.5})
    for (const double v : {0.0, 0.5, 9.0}) {
      const auto density = [&](double mean) { return std::exp(-(f - mean) * (f - mean) / (2 * (tau2 + v))); };
      const double odds = share * density(away) / ((1 - share) * density(-away));
      CHECK(c.log_odds(f, v) == doctest::Approx(std::log(odds)));
      CHECK(c.log_odds(f, v, 0.0) == doctest::Approx(std::log(odds) - base));
    }
  CHECK(c.log_odds(1.5, std::numeric_limits<double>::infinity()) == base);
}

TEST_CASE("a sample of unlimited noise has the class priors of training, or those stated") {
  Model model = sample(3, MultiClass::ovr, true, 3);
  const double shares[] = {0.9, 0.08, 0.02};
  for (std::size_t k = 0; k < 3; ++k)
    model.calibration[k] = Calibration(1, 0.5, 1, std::log(shares[k] / (1 - shares[k])));
  const Vector p = Asked(model, {-2, 1.5, 5}).noisy(1e12).probabilities();
  for (Index k = 0; k < 3; ++k) CHECK(p(k) == doctest::Approx(shares[k]).epsilon(1e-6));
  const Matrix stated = (Matrix(1, 3) << 0.2, 0.3, 0.5).finished();
  const Vector wanted = stated.row(0).transpose();
  CHECK((Asked(model, {-2, 1.5, 5}).noisy(1e12).probabilities(&stated) - wanted).cwiseAbs().maxCoeff() < 1e-6);
  model.prior = wanted;
  CHECK((Asked(model, {-2, 1.5, 5}).noisy(1e12).probabilities() - wanted).cwiseAbs().maxCoeff() < 1e-6);
}

TEST_CASE("of several classes the most probable is taken, and probabilities sum to one even where all are tiny") {
  Model model = sample(3, MultiClass::ovr, true, 3);
  for (int k = 0; k < 3; ++k) model.calibration[static_cast<std::size_t>(k)] = Calibration(Platt{-1.0 - k, 0.1 * k});
  const std::vector<double> f = {0.5, 0.4, -0.2};
  Vector wanted(3);
  for (std::size_t k = 0; k < 3; ++k) wanted(static_cast<Index>(k)) = model.calibration[k].platt().probability(f[k]);
  CHECK((Asked(model, f).probabilities() - wanted / wanted.sum()).norm() < 1e-15);
  CHECK(Asked(model, f).place() == 1);  // the steeper sigmoid
  CHECK(Asked(model, {-1e4, -1e4, -1e4}).probabilities().sum() == doctest::Approx(1));
  model.calibration.clear();
  CHECK(Asked(model, f).place() == 0);
  // Class 0 wins its three pairs.
  CHECK(Asked(sample(4, MultiClass::ovo, false, 6), {-1, -1, -1, 5, 5, 5}).place() == 0);
}

TEST_CASE("many samples are predicted as one by one, and as with one thread") {
  const Index count = 300, n = 7;
  const Matrix means = test::Random(21).normals(count, n);
  const Matrix spread = test::Random(22).normals(count, n).cwiseAbs2();
  for (const bool calibrated : {true, false})
    for (const Index classes : {2, 3, 5})
      for (const MultiClass multi_class : {MultiClass::ovo, MultiClass::ovr})
        for (const bool noisy : {true, false}) {
          const Model model = sample(classes, multi_class, calibrated, n);
          const Gaussians data(means, noisy ? CovarianceSum(Diagonal(spread)) : CovarianceSum());
          const Margins found = margins(model.planes(), data, 3);
          const Matrix wanted = (noisy ? 1.0 : 0.0) * spread * model.w.cwiseAbs2().transpose();
          CHECK((found.variance - wanted).cwiseAbs().maxCoeff() <= 1e-12 * wanted.maxCoeff());
          CHECK(model.decisions(data, 1) == found.mean);
          const std::vector<Index> places = model.predict(data, 4);
          CHECK(places == model.predict(data, 1));
          Matrix probabilities;
          if (calibrated) probabilities = model.probabilities(data, nullptr, 4);
          if (calibrated) CHECK(probabilities == model.probabilities(data, nullptr, 1));
          for (Index i = 0; i < count; i += 7) {
            const Gaussians one = data.some({i});
            CHECK(model.decisions(one).row(0) == found.mean.row(i));
            CHECK(model.predict(one)[0] == places[static_cast<std::size_t>(i)]);
            if (calibrated) CHECK(model.probabilities(one).row(0) == probabilities.row(i));
          }
        }
}

TEST_CASE("class priors are those of all samples or of each") {
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
  CHECK(found.value == model.decisions(data).col(0));
  for (Index i = 0; i < 40; ++i) {
    CHECK(found.value(i) == doctest::Approx(means.row(i).dot(model.w.row(0)) + 0.5));
    CHECK(found.std(i) == doctest::Approx(std::sqrt(spread.row(i).dot(model.w.row(0).cwiseAbs2()))));
  }
  CHECK_THROWS_AS(model.predict(data), InvalidArgument);
  CHECK_THROWS_AS(model.probabilities(data), InvalidArgument);
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
