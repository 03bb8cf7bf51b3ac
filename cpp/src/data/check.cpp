#include <cmath>
#include <limits>

#include "data/faults.hpp"
#include "kernels/dispatch.hpp"

namespace svmgsu {
namespace {

// By how much a correlation may exceed 1: full matrices are often written with six digits.
constexpr double kCorrelationSlack = 1e-4;

// [least, most], and 0 besides where `zero` says so.
template <class Scalar>
struct Range {
  Scalar least, most;
  bool zero;
  SVMGSU_INLINE bool holds(Scalar value) const { return ((value >= least) & (value <= most)) | ((value == 0) & zero); }
};

template <class Scalar>
Range<Scalar> wanted_range(faults::Wanted wanted) {
  using Limits = std::numeric_limits<Scalar>;
  return {wanted == faults::Wanted::variance ? 0 : Limits::lowest(), Limits::max(), false};
}

// Without a branch, and in integers as wide as the numbers: it runs at the speed of memory.
template <class Mask, class Scalar>
SVMGSU_INLINE bool any_bad(const Scalar* values, Index count, Range<Scalar> range) {
  static_assert(sizeof(Mask) == sizeof(Scalar));
  const Mask zero = range.zero ? 1 : 0;
  Mask bad = 0;
  for (Index k = 0; k < count; ++k) {
    const Mask inside = (values[k] >= range.least) & (values[k] <= range.most), nothing = values[k] == 0;
    bad |= static_cast<Mask>(1 ^ (inside | (nothing & zero)));
  }
  return bad != 0;
}
SVMGSU_CLONES bool bad_among(const double* values, Index count, Range<double> range) {
  return any_bad<std::int64_t>(values, count, range);
}
SVMGSU_CLONES bool bad_among(const float* values, Index count, Range<float> range) {
  return any_bad<std::int32_t>(values, count, range);
}

// The first number that is not in the range, or `count`.
template <class Scalar>
Index first_bad(const Scalar* values, Index count, Range<Scalar> range) {
  Index k = bad_among(values, count, range) ? 0 : count;
  while (k < count && range.holds(values[k])) ++k;
  return k;
}

std::string number_fault(faults::Whose whose, double value, const std::string& where, faults::Wanted wanted) {
  if (wanted == faults::Wanted::finite)
    return whose.text() + " has " + to_text(value) + where + "; all numbers must be finite";
  return whose.text() + " has variance " + to_text(value) + where + "; variances must be >= 0 and finite";
}

std::string at(Index feature) { return " at feature " + std::to_string(feature); }

template <class Scalar>
std::string row_fault_of(const Scalar* values, const Rows& rows, Index row, faults::Whose whose,
                         faults::Wanted wanted) {
  const Index n = rows.columns(), begin = rows.sparse() ? rows.start()[row] : row * n,
              count = rows.sparse() ? rows.start()[row + 1] - begin : n;
  if (begin < 0 || count < 0)
    return whose.text() + " has entries " + std::to_string(begin) + " to " + std::to_string(begin + count);
  for (Index k = begin; rows.sparse() && k < begin + count; ++k)
    if (rows.column()[k] < 0 || rows.column()[k] >= n)
      return whose.text() + " has an entry in column " + std::to_string(rows.column()[k]) + "; there are " +
             std::to_string(n);
  const Index bad = first_bad(values + begin, count, wanted_range<Scalar>(wanted));
  if (bad == count) return {};
  return number_fault(whose, static_cast<double>(values[begin + bad]),
                      at(rows.sparse() ? Index{rows.column()[begin + bad]} : bad), wanted);
}

template <class Scalar>
std::string matrix_fault_of(const Scalar* packed, faults::Whose whose, Index n) {
  std::vector<double> variance(static_cast<std::size_t>(n));
  const Scalar* row = packed;
  for (Index a = 0; a < n; row += n - a, ++a) {
    if (!wanted_range<Scalar>(faults::Wanted::variance).holds(*row))
      return number_fault(whose, static_cast<double>(*row), at(a), faults::Wanted::variance);
    variance[static_cast<std::size_t>(a)] = static_cast<double>(*row);
  }
  row = packed;
  for (Index a = 0; a < n; row += n - a, ++a) {
    const double most = (1 + 2 * kCorrelationSlack) * variance[static_cast<std::size_t>(a)];
    const double* other = variance.data() + a;
    const auto fits = [&](Index b) {
      const auto value = static_cast<double>(row[b]);
      return value * value <= most * other[b] + std::numeric_limits<double>::min();
    };
    int bad = 0;
    for (Index b = 1; b < n - a; ++b) bad |= !fits(b);
    for (Index b = 1; bad && b < n - a; ++b)
      if (!fits(b))
        return whose.text() + " has covariance " + to_text(static_cast<double>(row[b])) + " of features " +
               std::to_string(a) + " and " + std::to_string(a + b) + ", whose variances are " +
               to_text(variance[static_cast<std::size_t>(a)]) + " and " + to_text(other[b]) +
               ": it is not positive semidefinite";
  }
  return {};
}

}  // namespace

std::string faults::variance_fault(double variance, Whose whose) {
  if (wanted_range<double>(Wanted::variance).holds(variance)) return {};
  return number_fault(whose, variance, "", Wanted::variance);
}

std::string faults::row_fault(const Rows& rows, Index row, Whose whose, Wanted wanted) {
  return rows.wide() ? row_fault_of(rows.wide(), rows, row, whose, wanted)
                     : row_fault_of(rows.narrow(), rows, row, whose, wanted);
}

std::string faults::matrix_fault(const Rows& rows, Index row, Whose whose, Index n) {
  return rows.wide() ? matrix_fault_of(rows.wide() + row * rows.columns(), whose, n)
                     : matrix_fault_of(rows.narrow() + row * rows.columns(), whose, n);
}

void check(const Gaussians& data, int threads) {
  const Index n = data.features();
  threads = team_for(static_cast<double>(data.samples()) * data.numbers_per_sample(), threads);
  std::string fault = faults::first_fault(data.ids(), threads, [&](Index i) {
    return faults::row_fault(data.means(), i, faults::sample(i), faults::Wanted::finite);
  });
  require(fault.empty(), "means: " + fault);
  for (const auto& term : data.covariance()) {
    if (!(term.scale >= 0 && std::isfinite(term.scale)))  // the message only where it is needed
      require(false, "covariance: a factor must be >= 0 and finite, got " + to_text(term.scale));
    fault = term.kind.fault(data.ids(), n, threads);
    require(fault.empty(), "covariance: " + fault);
  }
}

template <class Scalar>
Index first_outside(const Scalar* values, Index count, double least, double most, bool zero) {
  constexpr Index kBlock = 1 << 16;
  constexpr double kLargest = std::numeric_limits<Scalar>::max();
  const Range<Scalar> range{static_cast<Scalar>(std::max(least, -kLargest)),
                            static_cast<Scalar>(std::min(most, kLargest)), zero};
  const Index blocks = (count + kBlock - 1) / kBlock;
  std::atomic<Index> first{count};
  parallel_for(blocks, blocks < 64 ? 1 : 0, [&](Index k) {
    const Index begin = k * kBlock, size = std::min(kBlock, count - begin),
                bad = first_bad(values + begin, size, range);
    Index seen = first;
    while (bad < size && begin + bad < seen && !first.compare_exchange_weak(seen, begin + bad)) {
    }
  });
  return first == count ? -1 : first.load();
}
template Index first_outside(const double*, Index, double, double, bool);
template Index first_outside(const float*, Index, double, double, bool);

}  // namespace svmgsu
