// The loss of one sample against long double formulas.
#include <doctest/doctest.h>

#include <vector>

#include "helpers.hpp"
#include "kernels/kernels.hpp"
#include "svmgsu/losses/loss.hpp"

using svmgsu::expected_hinge;
using svmgsu::ExpectedHinge;
using svmgsu::test::relative_error;

namespace {

struct Exact {
  long double loss, cdf, kappa;
};

// The definitions in long double. In the lower tail, where d Φ and s φ cancel, by the continued fraction
// Q(x)/φ(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))) = 1/(x + t), which makes L = s φ(x) t/(x + t).
Exact definition(long double d, long double s) {
  const long double r = d / s;
  const long double density = std::exp(-r * r / 2) * 0.398942280401432677939946059934381868L;
  if (r > -2) {
    const long double cdf = std::erfc(-r / std::sqrt(2.0L)) / 2;
    return {d * cdf + s * density, cdf, density / s};
  }
  long double t = 0;
  for (int k = 400; k >= 1; --k) t = k / (-r + t);
  return {s * density * t / (t - r), density / (t - r), density / s};
}

}  // namespace

TEST_CASE("loss, cdf and kappa have full relative accuracy over the whole range of r") {
  for (const double s : {1.0, 0.37, 1e-8, 1e5})
    for (int k = -3700; k <= 3700; ++k) {
      const double d = 0.01 * k * s;
      const ExpectedHinge got = expected_hinge(d, s);
      const Exact want = definition(d, s);
      CAPTURE(d);
      CAPTURE(s);
      CHECK(relative_error(got.loss, want.loss) < 4e-15);
      CHECK(relative_error(got.cdf, want.cdf) < 4e-15);
      CHECK(relative_error(got.kappa, want.kappa) < 4e-15);
    }
}

TEST_CASE("a large s keeps a loss normal where the density itself has underflowed") {
  const ExpectedHinge got = expected_hinge(-38 * 0x1p900, 0x1p900);
  CHECK(relative_error(got.loss, 7.5827518145492083173e-318L * 0x1p900L) < 4e-15);
}

TEST_CASE("without uncertainty the loss is the hinge") {
  for (const double d : {-1e300, -2.0, -1e-300, 0.0, 1e-300, 0.5, 7.0, 1e300}) {
    CAPTURE(d);
    const ExpectedHinge got = expected_hinge(d, 0);
    CHECK(got.loss == (d > 0 ? d : 0.0));
    CHECK(got.cdf == (d > 0 ? 1.0 : 0.0));
    CHECK(got.kappa == 0);
  }
}

TEST_CASE("far outside the margin all is zero, far inside the loss is linear") {
  for (const double d : {60.0, 1e3, 1e100, 1e300}) {
    CAPTURE(d);
    const ExpectedHinge outside = expected_hinge(-d, 1), inside = expected_hinge(d, 1);
    CHECK(outside.loss == 0);
    CHECK(outside.cdf == 0);
    CHECK(outside.kappa == 0);
    CHECK(inside.loss == d);
    CHECK(inside.cdf == 1);
    CHECK(inside.kappa == 0);
  }
}

TEST_CASE("the loss is never below the hinge and grows with s") {
  for (int k = -80; k <= 80; ++k) {
    const double d = 0.1 * k;
    double before = 0;
    for (const double s : {0.0, 1e-3, 0.1, 1.0, 10.0}) {
      const double loss = expected_hinge(d, s).loss;
      CHECK(loss >= std::max(0.0, d));
      CHECK(loss >= before);
      before = loss;
    }
  }
}

TEST_CASE("many samples at once give the same bits as one at a time") {
  constexpr int kCount = 61;
  std::vector<double> d(kCount), s(kCount), loss(kCount), cdf(kCount), kappa(kCount);
  svmgsu::test::Random random(4);
  for (std::size_t i = 0; i < kCount; ++i) {
    d[i] = 5 * random.normal();
    s[i] = i % 7 == 0 ? 0.0 : random.uniform();
  }
  svmgsu::kernels::expected_hinge(kCount, d.data(), s.data(), loss.data(), cdf.data(), kappa.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    const ExpectedHinge one = expected_hinge(d[i], s[i]);
    CHECK(one.loss == loss[i]);
    CHECK(one.cdf == cdf[i]);
    CHECK(one.kappa == kappa[i]);
  }
}

TEST_CASE("the probability of the right side is 0, 1/2 or 1 without uncertainty") {
  CHECK(svmgsu::probability_right(-0.1, 0) == 0);
  CHECK(svmgsu::probability_right(0, 0) == 0.5);
  CHECK(svmgsu::probability_right(0.1, 0) == 1);
  CHECK(svmgsu::probability_right(1, 2) == doctest::Approx(0.69146246127401312).epsilon(1e-15));
  CHECK(svmgsu::probability_right(-1, 2) == doctest::Approx(1 - 0.69146246127401312).epsilon(1e-15));
}
