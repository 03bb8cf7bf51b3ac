// log(1 + e^X) expected under X ~ N(x, s²), and its derivatives: the three rules of docs/theory.md, "The logistic
// loss", where their errors are proven. Small s: the heat equation's series. s ≤ 0.9: the trapezoidal rule in standard
// deviations, whose nodes are in geometric progression, e^(x + kσh) = e^x (e^(sh))^k. Beyond: a closed form plus the
// trapezoidal rule on a grid of X that is the same for all samples, whose function values are in a table.
//
// By log(1 + e^X) = X + log(1 + e^−X) the first two rules see −|x| alone, where nothing cancels.
#include <cmath>
#include <limits>

#include "kernels/dispatch.hpp"
#include "kernels/elementary.hpp"
#include "kernels/kernels.hpp"
#include "kernels/logistic_table.hpp"

namespace svmgsu::kernels {
namespace {

using namespace detail;

constexpr double kSmallNoise = 1.0 / 32, kModerateNoise = 0.9;  // where one rule ends and the next begins
constexpr double kFarDeviations = 37;                           // beyond, the table has no part: e^−36 or less
constexpr std::uint64_t kNoSign = ~0ull >> 1;

enum class Wanted { gradient, curvature };  // L, L′, L″ or L″, L‴, L⁗

template <class V>
struct Three {
  V a, b, c;
};

template <class V>
SVMGSU_INLINE V minus_magnitude(const V& x, V& sign) {
  const V zero = {}, size = of_bits(bits_of(x) & kNoSign);
  sign = if_less(zero, x, zero - 1.0, zero + 1.0);
  const V least = zero + kLeastExponent;
  return if_less(zero - size, least, least, zero - size);
}

// From the rule's answer at −|x| to that at x: even derivatives stay, L = x + L(−x), L′ = 1 − L′(−x), L‴ = −L‴(−x).
template <Wanted kWhat, class V>
SVMGSU_INLINE Three<V> reflected(const V& x, const V& sign, Three<V> r) {
  const V zero = {}, vanishes = zero + kLeastExponent, size = of_bits(bits_of(x) & kNoSign);
  r.a = if_less(zero - size, vanishes, zero, r.a);
  r.b = if_less(zero - size, vanishes, zero, r.b);
  r.c = if_less(zero - size, vanishes, zero, r.c);
  if constexpr (kWhat == Wanted::gradient) {
    r.a = r.a + if_less(zero, x, x, zero);
    r.b = if_less(zero, x, 1.0 - r.b, r.b);
  } else {
    r.b = r.b * sign;
  }
  return r;
}

// Derivative 2j of log(1 + e^x) over v, and the derivative of that polynomial times v, in v.
template <int kOrder, class V>
SVMGSU_INLINE V even(const V& v) {
  constexpr int kLast = kOrder / 2 - 1;
  V sum = V{} + kEven[kLast][kLast];
  for (int j = kLast - 1; j >= 0; --j) sum = sum * v + kEven[kLast][j];
  return sum * v;
}
template <int kOrder, class V>
SVMGSU_INLINE V odd(const V& v, const V& asymmetry) {
  constexpr int kLast = kOrder / 2 - 1;
  V sum = V{} + (kLast + 1) * kEven[kLast][kLast];
  for (int j = kLast - 1; j >= 0; --j) sum = sum * v + (j + 1) * kEven[kLast][j];
  return sum * v * asymmetry;
}

struct Series {  // Σ_j (s²/2)^j/j! f^(2j)(x), five terms
  template <Wanted kWhat, class V>
  SVMGSU_INLINE static Three<V> of(const V& x, const V& s) {
    V sign;
    const V e = exponential(minus_magnitude(x, sign)), y = 1.0 + e, inverse = 1.0 / y;
    const V p = e * inverse, v = p * inverse, asymmetry = (1.0 - e) * inverse;
    const V q = 0.5 * (s * s), q2 = q * (1.0 / 2), q3 = q * (1.0 / 3), q4 = q * (1.0 / 4);
    const V f4 = even<4>(v), f6 = even<6>(v), f8 = even<8>(v), f10 = even<10>(v);
    const V second = v + q * (f4 + q2 * (f6 + q3 * (f8 + q4 * f10)));
    if constexpr (kWhat == Wanted::gradient) {
      const V value = log_of_sum(e, y, inverse) + q * (v + q2 * (f4 + q3 * (f6 + q4 * f8)));
      const V f3 = odd<3>(v, asymmetry), f5 = odd<5>(v, asymmetry), f7 = odd<7>(v, asymmetry);
      const V slope = p + q * (f3 + q2 * (f5 + q3 * (f7 + q4 * odd<9>(v, asymmetry))));
      return reflected<kWhat, V>(x, sign, {value, slope, second});
    } else {
      const V f3 = odd<3>(v, asymmetry), f5 = odd<5>(v, asymmetry), f7 = odd<7>(v, asymmetry);
      const V third = f3 + q * (f5 + q2 * (f7 + q3 * (odd<9>(v, asymmetry) + q4 * odd<11>(v, asymmetry))));
      const V fourth = f4 + q * (f6 + q2 * (f8 + q3 * (f10 + q4 * even<12>(v))));
      return reflected<kWhat, V>(x, sign, {second, third, fourth});
    }
  }
};

struct Deviations {  // h Σ_k φ(kh) f(x + skh), the nodes k and −k at once
  template <Wanted kWhat, class V>
  SVMGSU_INLINE static Three<V> of(const V& x, const V& s) {
    V sign;
    const V middle = exponential(minus_magnitude(x, sign)), square = middle * middle;
    const V ratio = exponential(s * kStep), back = 1.0 / ratio;
    const V y = 1.0 + middle, inverse = 1.0 / y, p = middle * inverse, v = p * inverse;
    Three<V> sum;
    if constexpr (kWhat == Wanted::gradient) {
      sum = {kWeight[0] * log_of_sum(middle, y, inverse), kWeight[0] * p, kWeight[0] * v};
    } else {
      sum = {kWeight[0] * v, (kWeight[0] * v) * (inverse - p), (kWeight[0] * v) * (1.0 - 6.0 * v)};
    }
    const V one_more = 1.0 + square, four_squares = 4.0 * square;
    V up = middle, down = middle;
    for (int k = 1; k <= kPairs; ++k) {
      up = up * ratio;
      down = down * back;
      if constexpr (kWhat == Wanted::gradient) {
        // (1 + up)(1 + down) = 1 + t, since up·down = square; one division and one logarithm serve both nodes.
        const V both = up + down, t = both + square, product = 1.0 + t, over = 1.0 / product;
        sum.a = sum.a + kWeight[k] * log_of_sum(t, product, over);
        sum.b = sum.b + kWeight[k] * ((t + square) * over);
        sum.c = sum.c + kWeight[k] * ((both * one_more + four_squares) * (over * over));
      } else {
        const V q1 = 1.0 / (1.0 + up), p1 = up * q1, v1 = p1 * q1;
        const V q2 = 1.0 / (1.0 + down), p2 = down * q2, v2 = p2 * q2;
        sum.a = sum.a + kWeight[k] * (v1 + v2);
        sum.b = sum.b + kWeight[k] * (v1 * (q1 - p1) + v2 * (q2 - p2));
        sum.c = sum.c + kWeight[k] * (v1 * (1.0 - 6.0 * v1) + v2 * (1.0 - 6.0 * v2));
      }
    }
    return reflected<kWhat>(x, sign, sum);
  }
};

// δ Σ_k f(kδ) N(kδ; x, s²), the nodes k and −k at once; of L and L′ the part beside the closed form. L‴ and L⁗ are
// the rule's own derivatives in x: their scales 1/s² and 1/s³ hold however large s is.
struct Table {
  template <Wanted kWhat, class V>
  SVMGSU_INLINE static Three<V> of(const V& x, const V& s) {
    const V zero = {}, inverse = 1.0 / s, most = zero + kFarDeviations;
    V r = x * inverse;
    r = if_less(most, r, most, r);
    r = if_less(r, zero - most, zero - most, r);
    const V centre = exponential((r * r) * -0.5) * inverse;
    const V spacing = kSpacing * inverse;
    const V first = exponential((spacing * spacing) * -0.5), tilt = exponential(spacing * r);
    const V fall = first * first;
    V up_ratio = first * tilt, down_ratio = first / tilt, up = centre, down = centre;
    Three<V> sum;
    if constexpr (kWhat == Wanted::gradient) {
      sum = {kDifference[0] * centre, zero, kSecond[0] * centre};
    } else {
      sum = {kSecond[0] * centre, zero, zero};
    }
    for (int k = 1; k <= kNodes; ++k) {
      up = up * up_ratio;
      down = down * down_ratio;
      up_ratio = up_ratio * fall;
      down_ratio = down_ratio * fall;
      const V both = up + down, apart = up - down;
      if constexpr (kWhat == Wanted::gradient) {
        sum.a = sum.a + kDifference[k] * both;
        sum.b = sum.b + kSlope[k] * apart;
        sum.c = sum.c + kSecond[k] * both;
      } else {
        sum.a = sum.a + kSecond[k] * both;
        sum.b = sum.b + kSecondTimesK[k] * apart;
        sum.c = sum.c + kSecondTimesK2[k] * both;
      }
    }
    if constexpr (kWhat == Wanted::curvature) {
      const V linear = spacing * sum.b, square = (spacing * spacing) * sum.c;
      sum.b = (linear - r * sum.a) * inverse;
      sum.c = ((square - (2.0 * r) * linear) + (r * r - 1.0) * sum.a) * inverse * inverse;
    }
    return sum;
  }
};

// The samples of a batch that one rule serves, side by side.
struct Group {
  int count = 0;
  int place[kMaxBatch];
  alignas(64) double x[kMaxBatch], s[kMaxBatch], a[kMaxBatch], b[kMaxBatch], c[kMaxBatch];

  void add(int i, double at, double deviation) {
    place[count] = i;
    x[count] = at;
    s[count] = deviation;
    ++count;
  }
};

template <class Rule, Wanted kWhat, class V>
SVMGSU_INLINE void step(Group& group, int i) {
  V x, s;
  read(group.x + i, x);
  read(group.s + i, s);
  const Three<V> out = Rule::template of<kWhat>(x, s);
  write(out.a, group.a + i);
  write(out.b, group.b + i);
  write(out.c, group.c + i);
}

template <class Rule, Wanted kWhat>
SVMGSU_INLINE void all(Group& group) {
  int i = 0;
#if defined(SVMGSU_CLONE_LEVELS) || defined(SVMGSU_CLONE_CPUS)  // elsewhere the compiler's own vectors do as well
  for (; i + 4 <= group.count; i += 4) step<Rule, kWhat, Four>(group, i);
#endif
  for (; i < group.count; ++i) step<Rule, kWhat, double>(group, i);
}

SVMGSU_CLONES void series_gradient(Group& group) { all<Series, Wanted::gradient>(group); }
SVMGSU_CLONES void series_curvature(Group& group) { all<Series, Wanted::curvature>(group); }
SVMGSU_CLONES void deviations_gradient(Group& group) { all<Deviations, Wanted::gradient>(group); }
SVMGSU_CLONES void deviations_curvature(Group& group) { all<Deviations, Wanted::curvature>(group); }
SVMGSU_CLONES void table_gradient(Group& group) { all<Table, Wanted::gradient>(group); }
SVMGSU_CLONES void table_curvature(Group& group) { all<Table, Wanted::curvature>(group); }

// The part that has a closed form: the hinge expected under N(x, s² + kWidth²).
void add_closed_form(Group& group) {
  double loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
  for (int i = 0; i < group.count; ++i) {
    const double share = kWidth / group.s[i];
    group.s[i] *= std::sqrt(1 + share * share);
  }
  expected_hinge(group.count, group.x, group.s, loss, cdf, kappa);
  for (int i = 0; i < group.count; ++i) {
    const double value = loss[i] + group.a[i], slope = cdf[i] + group.b[i];
    group.a[i] = value > 0 ? value : 0.0;
    group.b[i] = slope < 0 ? 0.0 : (slope > 1 ? 1.0 : slope);
  }
}

template <Wanted kWhat>
void batch(int count, const double* x, const double* s, double* a, double* b, double* c) {
  Group series, deviations, table;
  for (int i = 0; i < count; ++i) {
    if (!(std::isfinite(x[i]) && s[i] >= 0 && s[i] <= std::numeric_limits<double>::max())) {
      a[i] = b[i] = c[i] = std::numeric_limits<double>::quiet_NaN();
    } else {
      (s[i] <= kSmallNoise ? series : s[i] <= kModerateNoise ? deviations : table).add(i, x[i], s[i]);
    }
  }
  if constexpr (kWhat == Wanted::gradient) {
    series_gradient(series);
    deviations_gradient(deviations);
    table_gradient(table);
    add_closed_form(table);
  } else {
    series_curvature(series);
    deviations_curvature(deviations);
    table_curvature(table);
  }
  for (const Group* group : {&series, &deviations, &table})
    for (int k = 0; k < group->count; ++k) {
      a[group->place[k]] = group->a[k];
      b[group->place[k]] = group->b[k];
      c[group->place[k]] = group->c[k];
    }
}

template <Wanted kWhat>
void in_batches(int count, const double* x, const double* s, double* a, double* b, double* c) {
  for (int i = 0; i < count; i += kMaxBatch)
    batch<kWhat>(count - i < kMaxBatch ? count - i : kMaxBatch, x + i, s + i, a + i, b + i, c + i);
}

}  // namespace

void expected_logistic(int count, const double* x, const double* s, double* value, double* slope, double* second) {
  in_batches<Wanted::gradient>(count, x, s, value, slope, second);
}

void logistic_curvature(int count, const double* x, const double* s, double* second, double* third, double* fourth) {
  in_batches<Wanted::curvature>(count, x, s, second, third, fourth);
}

}  // namespace svmgsu::kernels
