// E cos(w·X) and E sin(w·X) for X ~ N(x, Σ): cos(w·x) e^(−q/2) and sin(w·x) e^(−q/2) with q = wᵀΣw.
//
// Angles are reduced by multiples of π/2, of which three parts are known: right to about an ulp below kLargestAngle,
// above which the C library answers. Frequencies come in groups, so that vectors go over frequencies.
#include "kernels/waves.hpp"

#include <cmath>

#include "kernels/elementary.hpp"

namespace svmgsu::kernels {
namespace {

constexpr double kLargestAngle = 1e5;
// π/2 in parts of 33 bits and the rest: their products with integers below 2²⁰ are exact.
constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

typedef SixteenDoubles Several;
static_assert(kWaveGroup * sizeof(double) % sizeof(Several) == 0, "a group is a number of vectors");

// sin and cos of |x| < kLargestAngle.
template <class V>
SVMGSU_INLINE void sine_and_cosine(const V& x, V& sine, V& cosine) {
  const V shifted = x * 0.63661977236758134308 + kExpRound;
  const V k = shifted - kExpRound;
  const V t = ((x - k * kHalfPi[0]) - k * kHalfPi[1]) - k * kHalfPi[2];
  const V u = t * t;
  // Taylor's series, to 5e-17 where |t| ≤ π/4.
  V s = u * (-1 / 1307674368000.0) + 1 / 6227020800.0;
  s = s * u + -1 / 39916800.0;
  s = s * u + 1 / 362880.0;
  s = s * u + -1 / 5040.0;
  s = s * u + 1 / 120.0;
  s = s * u + -1 / 6.0;
  s = t + t * (u * s);
  V c = u * (1 / 20922789888000.0) + -1 / 87178291200.0;
  c = c * u + 1 / 479001600.0;
  c = c * u + -1 / 3628800.0;
  c = c * u + 1 / 40320.0;
  c = c * u + -1 / 720.0;
  c = c * u + 1 / 24.0;
  c = 1.0 - (u * 0.5 - u * u * c);
  // The quadrant is in the last two bits of k: the first says whether sine and cosine change places, which products
  // with 0 and 1 do exactly.
  const auto quadrant = bits_of(shifted);
  const V swapped = of_bits((quadrant & std::uint64_t{1}) << 62) * 0.5, kept = 1.0 - swapped;
  const auto one = std::uint64_t{0x3ff0000000000000};
  const V sine_sign = of_bits(((quadrant & std::uint64_t{2}) << 62) + one);
  const V cosine_sign = of_bits((((quadrant + std::uint64_t{1}) & std::uint64_t{2}) << 62) + one);
  sine = sine_sign * (kept * s + swapped * c);
  cosine = cosine_sign * (kept * c + swapped * s);
}

// Angles w·x and exponents −q/2 of one group, from x, `known` further inputs without variance, and Σ.
template <class V>
SVMGSU_INLINE void phases(const double* w, const WaveInput& g, Index at, double* angle, double* exponent) {
  V sum, row;
  read(w + at, sum);
  sum = sum * g.x[0];
  for (Index j = 1; j < g.features; ++j) {
    read(w + j * kWaveGroup + at, row);
    sum = sum + row * g.x[j];
  }
  for (Index j = 0; j < g.known; ++j) {
    read(w + (g.features + j) * kWaveGroup + at, row);
    sum = sum + row * g.further[j];
  }
  write(sum, angle + at);
  if (!g.cov) return;
  V zero;  // of finite frequencies, and not of angles or exponents that overflow
  read(w + at, zero);
  zero = zero * 0.0;
  V q = zero;
  for (Index i = 0; i < g.features; ++i) {
    V own;
    read(w + i * kWaveGroup + at, own);
    V inner = own * (g.diagonal ? g.cov[i] : 0.5 * g.cov[i * g.features + i]);
    if (!g.diagonal)
      for (Index j = 0; j < i; ++j) {
        read(w + j * kWaveGroup + at, row);
        inner = inner + row * g.cov[i * g.features + j];
      }
    q = q + own * inner;
  }
  q = g.diagonal ? q * -0.5 : q * -1.0;
  // e^(−708) is as good as 0; a sum that rounding makes negative is 0.
  const V least = zero + kLeastExponent;
  write(if_less(q, least, least, if_less(zero, q, zero, q)), exponent + at);
}

// The same for sparse frequencies.
SVMGSU_INLINE void sparse_phases(const SparseFrequency* w, const WaveInput& g, double* angle, double* exponent) {
  for (Index r = 0; r < kWaveGroup; ++r) {
    const SparseFrequency& f = w[r];
    const double* const first = f.input[0] < g.features ? g.x : g.further - g.features;
    const double* const second = f.input[1] < g.features ? g.x : g.further - g.features;
    angle[r] = f.w[0] * first[f.input[0]] + f.w[1] * second[f.input[1]];
    if (!g.cov) continue;
    const double q =
        f.product[0] * g.cov[f.place[0]] + f.product[1] * g.cov[f.place[1]] + f.product[2] * g.cov[f.place[2]];
    const double least = -0.5 * q < kLeastExponent ? kLeastExponent : -0.5 * q;
    exponent[r] = least < 0 ? least : 0.0;
  }
}

// Adds the waves of one group's angles and exponents.
SVMGSU_INLINE void add_phases(const double* angle, const double* exponent, bool decays, double scale, double* cosine,
                              double* sine) {
  constexpr Index step = sizeof(Several) / sizeof(double);
  double c[kWaveGroup], s[kWaveGroup];
  for (Index at = 0; at < kWaveGroup; at += step) {
    Several a, sine_of, cosine_of;
    read(angle + at, a);
    sine_and_cosine(a, sine_of, cosine_of);
    write(cosine_of, c + at);
    write(sine_of, s + at);
  }
  for (Index r = 0; r < kWaveGroup; ++r)
    if (!(angle[r] < kLargestAngle && angle[r] > -kLargestAngle)) {
      c[r] = std::cos(angle[r]);
      s[r] = std::sin(angle[r]);
    }
  for (Index at = 0; at < kWaveGroup; at += step) {
    Several decay, of_cosine, of_sine, sum;
    read(c + at, of_cosine);
    read(s + at, of_sine);
    if (decays) {
      read(exponent + at, decay);
      decay = exponential(decay) * scale;
    } else {
      decay = of_cosine * 0.0 + scale;
    }
    read(cosine + at, sum);
    write(sum + of_cosine * decay, cosine + at);
    read(sine + at, sum);
    write(sum + of_sine * decay, sine + at);
  }
}

SVMGSU_CLONES void add_group(const double* w, const WaveInput& g, double scale, double* cosine, double* sine) {
  double angle[kWaveGroup], exponent[kWaveGroup];
  for (Index at = 0; at < kWaveGroup; at += static_cast<Index>(sizeof(Several) / sizeof(double)))
    phases<Several>(w, g, at, angle, exponent);
  add_phases(angle, exponent, g.cov != nullptr, scale, cosine, sine);
}

SVMGSU_CLONES void add_sparse_group(const SparseFrequency* w, const WaveInput& g, double scale, double* cosine,
                                    double* sine) {
  double angle[kWaveGroup], exponent[kWaveGroup];
  sparse_phases(w, g, angle, exponent);
  add_phases(angle, exponent, g.cov != nullptr, scale, cosine, sine);
}

// e^(−h)(cosh g − 1) and e^(−h) sinh g for |g| ≤ h: with d = 1 − e^(−|g|) they are ½e^(|g| − h)d² and ½e^(|g| − h)d(2 −
// d), where nothing overflows, and nothing cancels but 1 − e^(−|g|), for which small |g| have a series.
SVMGSU_CLONES void decays_of(int count, const double* SVMGSU_RESTRICT g, const double* SVMGSU_RESTRICT h,
                             double* SVMGSU_RESTRICT even, double* SVMGSU_RESTRICT odd) {
  for (int i = 0; i < count; ++i) {
    const double size = g[i] < 0 ? -g[i] : g[i];
    const double top = size - h[i] < kLeastExponent ? kLeastExponent : size - h[i];
    const double down = -size < kLeastExponent ? kLeastExponent : -size;
    const double x = size < 0.25 ? size : 0.25;
    double series = 1.0 / 12;  // 1 − e^(−x) = x(1 − x/2(1 − x/3(1 − ...))), to 2e-17 of it
    for (int k = 11; k >= 2; --k) series = (1 - x * series) * (1.0 / k);
    const double lost = size < 0.25 ? x * (1 - x * series) : 1 - exponential(down);
    const double half = 0.5 * exponential(top < 0 ? top : 0.0) * lost;
    even[i] = half * lost;
    odd[i] = g[i] < 0 ? -(half * (2 - lost)) : half * (2 - lost);
  }
}

}  // namespace

void add_waves(const double* w, Index groups, const WaveInput& g, double scale, double* cosine, double* sine) {
  const Index inputs = g.features + g.known;
  for (Index k = 0; k < groups; ++k)
    add_group(w + k * inputs * kWaveGroup, g, scale, cosine + k * kWaveGroup, sine + k * kWaveGroup);
}

void add_sparse_waves(const SparseFrequency* w, Index groups, const WaveInput& g, double scale, double* cosine,
                      double* sine) {
  for (Index k = 0; k < groups; ++k)
    add_sparse_group(w + k * kWaveGroup, g, scale, cosine + k * kWaveGroup, sine + k * kWaveGroup);
}

void decays(int count, const double* g, const double* h, double* even, double* odd) {
  decays_of(count, g, h, even, odd);
}

}  // namespace svmgsu::kernels
