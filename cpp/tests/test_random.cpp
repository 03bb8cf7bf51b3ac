// The random numbers that the pure-Python twin repeats.
#include <doctest/doctest.h>

#include <vector>

#include "support/random.hpp"

using svmgsu::SplitMix64;

TEST_CASE("SplitMix64 gives the published numbers for seed 1234567") {
  SplitMix64 random(1234567);
  CHECK(random() == 6457827717110365317u);
  CHECK(random() == 3203168211198807973u);
  CHECK(random() == 9817491932198370423u);
  CHECK(random() == 4593380528125082431u);
  CHECK(random() == 16408922859458223821u);
}

TEST_CASE("bounded integers stay below their bound") {
  SplitMix64 random(1);
  for (const std::uint32_t bound : {1u, 2u, 3u, 1000u, 0x80000001u, 0xFFFFFFFFu})
    for (int k = 0; k < 1000; ++k) CHECK(random.below(bound) < bound);
}

TEST_CASE("bounded integers are uniform: chi-square of ten bins is below its 1e-6 quantile") {
  SplitMix64 random(2);
  std::vector<double> seen(10, 0.0);
  constexpr int kDraws = 100000;
  for (int k = 0; k < kDraws; ++k) seen[random.below(10)] += 1;
  double chi_square = 0;
  for (const double count : seen) chi_square += (count - kDraws / 10.0) * (count - kDraws / 10.0) / (kDraws / 10.0);
  CHECK(chi_square < 45.1);
}

TEST_CASE("a bound of three quarters of the range is not biased") {
  SplitMix64 random(3);
  constexpr std::uint32_t kBound = 0xC0000000u;  // without rejection, the multiples of 3 would come twice as often
  constexpr int kDraws = 100000;
  int multiples = 0;
  for (int k = 0; k < kDraws; ++k) multiples += random.below(kBound) % 3 == 0 ? 1 : 0;
  CHECK(multiples / double{kDraws} == doctest::Approx(1.0 / 3).epsilon(0.02));
}
