// Platt scaling: the fitted sigmoid is the optimum of its likelihood and behaves at the edges.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "helpers.hpp"
#include "svmgsu/models/calibration.hpp"

using svmgsu::fit_platt;
using svmgsu::Platt;

namespace {

struct Scores {
  std::vector<double> score, label;
};

// Labels drawn from a sigmoid of slope 2 through 0.5.
Scores drawn(int count) {
  svmgsu::test::Random random(27);
  Scores out;
  for (int k = 0; k < count; ++k) {
    const double f = 2 * random.normal();
    out.score.push_back(f);
    out.label.push_back(random.uniform() < 1 / (1 + std::exp(-2 * f + 1)) ? 1 : -1);
  }
  return out;
}

}  // namespace

TEST_CASE("the fit finds the sigmoid that labels were drawn from") {
  const Scores data = drawn(20000);
  const Platt platt = fit_platt(data.score, data.label);
  CHECK(platt.a == doctest::Approx(-2).epsilon(0.05));
  CHECK(platt.b == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("the derivative of the regularised likelihood is zero at the fit") {
  const Scores data = drawn(300);
  const Platt platt = fit_platt(data.score, data.label);
  double positives = 0;
  for (const double label : data.label) positives += label > 0;
  const double high = (positives + 1) / (positives + 2), low = 1 / (300 - positives + 2);
  double by_a = 0, by_b = 0;
  for (std::size_t i = 0; i < data.score.size(); ++i) {
    const double residual = platt.probability(data.score[i]) - (data.label[i] > 0 ? high : low);
    by_a += residual * data.score[i];
    by_b += residual;
  }
  CHECK(std::abs(by_a) < 1e-8);
  CHECK(std::abs(by_b) < 1e-8);
}

TEST_CASE("probabilities do not change when scores are scaled and shifted") {
  const Scores data = drawn(300);
  const Platt platt = fit_platt(data.score, data.label);
  for (const double scale : {1e-6, 1.0, 1e6})
    for (const double shift : {0.0, 1e3}) {
      std::vector<double> moved;
      for (const double f : data.score) moved.push_back(scale * (f + shift));
      const Platt other = fit_platt(moved, data.label);
      for (std::size_t i = 0; i < moved.size(); i += 17)
        CHECK(other.probability(moved[i]) == doctest::Approx(platt.probability(data.score[i])).epsilon(1e-8));
    }
}

TEST_CASE("swapping the classes mirrors the probabilities") {
  const Scores data = drawn(300);
  std::vector<double> score, label;
  for (std::size_t i = 0; i < data.score.size(); ++i) {
    score.push_back(-data.score[i]);
    label.push_back(-data.label[i]);
  }
  const Platt platt = fit_platt(data.score, data.label), mirror = fit_platt(score, label);
  CHECK(mirror.a == doctest::Approx(platt.a).epsilon(1e-8));
  CHECK(mirror.b == doctest::Approx(-platt.b).epsilon(1e-8));
}

TEST_CASE("separable scores give a finite sigmoid with the regularised targets") {
  const std::vector<double> score = {-3, -2, -1, 1, 2, 3}, label = {-1, -1, -1, 1, 1, 1};
  const Platt platt = fit_platt(score, label);
  CHECK(std::isfinite(platt.a));
  CHECK(platt.a < 0);
  CHECK(std::abs(platt.b) < 1e-8);
  CHECK(platt.probability(3) > 0.8);
  CHECK(platt.probability(3) < 1);
}

TEST_CASE("equal scores give the smoothed share of positives") {
  const Platt platt = fit_platt({2, 2, 2, 2}, {1, 1, 1, -1});
  const double high = 4.0 / 5, low = 1.0 / 3;
  CHECK(platt.probability(2) == doctest::Approx((3 * high + low) / 4).epsilon(1e-9));
}

TEST_CASE("one class alone gives its smoothed target") {
  const Platt platt = fit_platt({-1, 0, 2}, {1, 1, 1});
  for (const double f : {-1.0, 0.0, 2.0}) CHECK(platt.probability(f) == doctest::Approx(4.0 / 5).epsilon(1e-6));
}

TEST_CASE("probabilities of huge scores are 0 and 1, not NaN") {
  const Platt platt{-2, 0.5};
  CHECK(platt.probability(1e6) == 1);
  CHECK(platt.probability(-1e6) == 0);
  CHECK(platt.probability(1e308) == 1);
  CHECK(platt.probability(-1e308) == 0);
}

TEST_CASE("scores that cannot be fitted are refused") {
  CHECK_THROWS_AS(fit_platt({}, {}), svmgsu::InvalidArgument);
  CHECK_THROWS_AS(fit_platt({1, 2}, {1}), svmgsu::InvalidArgument);
  CHECK_THROWS_AS(fit_platt({1, std::nan("")}, {1, -1}), svmgsu::InvalidArgument);
  CHECK_THROWS_AS(fit_platt({1, std::numeric_limits<double>::infinity()}, {1, -1}), svmgsu::InvalidArgument);
}
