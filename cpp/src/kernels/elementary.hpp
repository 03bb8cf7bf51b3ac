// exp and log(1 + t) for a double or a vector of them, right to about an ulp, with the same bits on every processor.
#pragma once

#include <cstdint>

#include "kernels/dispatch.hpp"
#include "kernels/logistic_table.hpp"
#include "kernels/simd.hpp"

namespace svmgsu::kernels {

constexpr double kExpRound = 6755399441055744.0;  // 1.5·2⁵²: adding it rounds to an integer, kept in the last bits
constexpr double kTwo52 = 4503599627370496.0;
constexpr double kLn2Upper = 6.93147180369123816490e-01;  // few enough bits for k·ln2 to be exact
constexpr double kLn2Rest = 1.90821492927058770002e-10;
constexpr double kLeastExponent = -708.0;  // e to this is still a normal number

// e^x for kLeastExponent ≤ x ≤ 709.
template <class V>
SVMGSU_INLINE V exponential(const V& x) {
  using detail::kExponential;
  const V shifted = x * 1.4426950408889634074 + kExpRound;
  const V k = shifted - kExpRound;
  const V t = (x - k * kLn2Upper) - k * kLn2Rest;
  const V t2 = t * t, t4 = t2 * t2;
  const V low = (kExponential[2] + kExponential[3] * t) + (kExponential[4] + kExponential[5] * t) * t2;
  const V high = (kExponential[6] + kExponential[7] * t) + (kExponential[8] + kExponential[9] * t) * t2;
  const V last = kExponential[10] + kExponential[11] * t;
  const V value = 1.0 + (t + t2 * (low + (high + last * t4) * t4));
  return of_bits(bits_of(value) + (bits_of(shifted) << 52));
}

// log(1 + t) for t ≥ 0, given y = 1 + t and its inverse: log y, and what the sum has rounded away.
template <class V>
SVMGSU_INLINE V log_of_sum(const V& t, const V& y, const V& inverse) {
  using detail::kLogarithm;
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdull;  // √½: y = 2^k f with f from there to √2
  const auto exponent = (bits_of(y) - kRootHalf) >> 52;
  const V f = of_bits(bits_of(y) - (exponent << 52));
  const V k = of_bits(exponent + 0x4330000000000000ull) - kTwo52;
  const V z = (f - 1.0) / (f + 1.0), u = z * z, u2 = u * u;
  const V low = kLogarithm[1] + kLogarithm[2] * u, middle = kLogarithm[3] + kLogarithm[4] * u;
  const V high = (kLogarithm[5] + kLogarithm[6] * u) + kLogarithm[7] * u2;
  const V lost = (t - (y - 1.0)) * inverse;
  return k * kLn2Upper + ((2.0 * z) + ((z * u) * (low + (middle + high * u2) * u2) + (k * kLn2Rest + lost)));
}

}  // namespace svmgsu::kernels
