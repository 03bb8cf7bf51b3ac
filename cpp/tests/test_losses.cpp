// What every loss promises: its derivatives are those of its value, at s = 0 it is the plain loss, and an unknown name
// is answered with the known ones.
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
  CHECK(second == doctest::Approx(out.L[2]).epsilon(1e-14));
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

TEST_CASE("an unknown loss is refused with the names of the known ones") {
  CHECK_THROWS_WITH_AS(make_loss("hing"), doctest::Contains("loss: 'hing' is not known; it must be one of hinge"),
                       InvalidArgument);
}
