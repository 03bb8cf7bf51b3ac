// What every loss promises: its derivatives are those of its value, and at s = 0 it is the plain loss.
#include <doctest/doctest.h>

#include <cmath>

#include "helpers.hpp"
#include "svmgsu/losses/loss.hpp"

using namespace svmgsu;

namespace {

struct Numbers {
  double L[5];
};

Numbers at(const Loss& loss, double d, double s) {
  Numbers out{};
  double second;
  loss.gradient(1, &d, &s, &out.L[0], &out.L[1], &out.L[2]);
  loss.curvature(1, &d, &s, &second, &out.L[3], &out.L[4]);
  CHECK((second == out.L[2] || second == doctest::Approx(out.L[2]).epsilon(1e-13)));
  return out;
}

}  // namespace

TEST_CASE("each derivative of every loss is the difference of the one before") {
  for (const LossInfo& info : known_losses()) {
    CAPTURE(info.name);
    const auto loss = make_loss(info.name);
    CHECK(std::string(loss->name()) == info.name);
    for (const double s : {0.3, 1.0, 4.0})
      for (const double d : {-3.0, -0.8, 0.0, 0.1, 1.0, 2.5}) {
        CAPTURE(d);
        CAPTURE(s);
        const double h = 1e-5 * s;
        const Numbers here = at(*loss, d, s), ahead = at(*loss, d + h, s), behind = at(*loss, d - h, s);
        for (int k = 0; k < 4; ++k) {
          CAPTURE(k);
          const double size = std::abs(here.L[k]) / s + std::abs(here.L[k + 1]) + 1e-3;
          CHECK(std::abs((ahead.L[k] - behind.L[k]) / (2 * h) - here.L[k + 1]) < 1e-7 * size);
        }
        const double wider = std::sqrt(s * s + h), narrower = std::sqrt(s * s - h);  // the heat equation
        CHECK((at(*loss, d, wider).L[0] - at(*loss, d, narrower).L[0]) / (2 * h) ==
              doctest::Approx(here.L[2] / 2).epsilon(1e-6));
      }
  }
}

TEST_CASE("without uncertainty every loss is finite, convex and not negative") {
  for (const LossInfo& info : known_losses()) {
    CAPTURE(info.name);
    const auto loss = make_loss(info.name);
    double last_slope = -std::numeric_limits<double>::infinity();
    for (double d = -5; d <= 5; d += 0.25) {
      const Numbers here = at(*loss, d, 0);
      for (const double x : here.L) CHECK(std::isfinite(x));
      CHECK(here.L[0] >= 0);
      CHECK(here.L[1] >= last_slope);
      CHECK(here.L[2] >= 0);
      last_slope = here.L[1];
    }
  }
}

TEST_CASE("no loss answers with NaN, however small or large its arguments") {
  for (const LossInfo& info : known_losses()) {
    CAPTURE(info.name);
    const auto loss = make_loss(info.name);
    for (const double s : {0.0, 1e-300, 1e-150, 1e-75, 1e-9, 0.03125, 0.9, 1.0, 1e9, 1e150})
      for (const double size : {0.0, 1e-300, 1.0, 1.35, 60.0, 1e150})
        for (const double d : {-size, size}) {
          CAPTURE(d);
          CAPTURE(s);
          const Numbers here = at(*loss, d, s);
          for (const double x : here.L) CHECK_FALSE(std::isnan(x));
          CHECK(here.L[0] >= 0);
          CHECK(here.L[2] >= 0);
        }
  }
}

TEST_CASE("a residual or deviation that is no number is not answered with one") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LossInfo& info : known_losses()) {
    CAPTURE(info.name);
    double d = nan, s = 1, L, L1, L2;
    make_loss(info.name)->gradient(1, &d, &s, &L, &L1, &L2);
    CHECK(std::isnan(L));
  }
}
