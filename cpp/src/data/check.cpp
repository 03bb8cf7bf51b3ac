#include "svmgsu/data/check.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/dispatch.hpp"
#include "svmgsu/kinds/kinds.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

// By how much a correlation may exceed 1: full matrices are often written with six digits.
constexpr double kCorrelationSlack = 1e-4;

// Whose numbers are looked at. Texts are made where there is a fault, and not for every example.
struct Whose {
  const char* what;
  Index number;
  std::string text() const { return std::string(what) + " " + std::to_string(number); }
};
Whose example(Index id) { return {"example", id}; }
std::string at(Index feature) { return " at feature " + std::to_string(feature); }

enum class Wanted { finite, variance };

// [least, most], and 0 besides where `zero` says so.
template <class Scalar>
struct Range {
  Scalar least, most;
  bool zero;
  SVMGSU_INLINE bool holds(Scalar value) const { return ((value >= least) & (value <= most)) | ((value == 0) & zero); }
};

template <class Scalar>
Range<Scalar> wanted_range(Wanted wanted) {
  using Limits = std::numeric_limits<Scalar>;
  return {wanted == Wanted::variance ? 0 : Limits::lowest(), Limits::max(), false};
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

template <class Scalar>
Index first_bad(const Scalar* values, Index count, Wanted wanted) {
  return first_bad(values, count, wanted_range<Scalar>(wanted));
}

std::string number_fault(Whose whose, double value, const std::string& where, Wanted wanted) {
  if (wanted == Wanted::finite) return whose.text() + " has " + to_text(value) + where + "; all numbers must be finite";
  return whose.text() + " has variance " + to_text(value) + where + "; variances must be >= 0 and finite";
}

// Of what fault(id) says of the examples, the first that is not empty.
template <class Fault>
std::string first_fault(const std::vector<Index>& ids, int threads, Fault fault) {
  constexpr Index kBlock = 128;
  const auto count = static_cast<Index>(ids.size());
  std::atomic<Index> first{count};
  parallel_for((count + kBlock - 1) / kBlock, threads, [&](Index block) {
    for (Index i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      if (fault(ids[static_cast<std::size_t>(i)]).empty()) continue;
      Index seen = first;
      while (i < seen && !first.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  return first == count ? std::string() : fault(ids[static_cast<std::size_t>(first.load())]);
}

template <class Scalar>
std::string dense_fault(const Scalar* row, Whose whose, Index n, Wanted wanted) {
  const Index bad = first_bad(row, n, wanted);
  return bad == n ? std::string() : number_fault(whose, static_cast<double>(row[bad]), at(bad), wanted);
}

template <class Scalar>
std::string sparse_fault(const Scalar* values, const RowsView& rows, Index id, Index n, Wanted wanted) {
  const Index begin = rows.start[id], count = rows.start[id + 1] - begin;
  if (begin < 0 || count < 0)
    return example(id).text() + " has entries " + std::to_string(begin) + " to " + std::to_string(begin + count);
  for (Index k = begin; k < begin + count; ++k)
    if (rows.column[k] < 0 || rows.column[k] >= n)
      return example(id).text() + " has an entry in column " + std::to_string(rows.column[k]) + "; there are " +
             std::to_string(n);
  const Index bad = first_bad(values + begin, count, wanted);
  if (bad == count) return {};
  return number_fault(example(id), static_cast<double>(values[begin + bad]), at(rows.column[begin + bad]), wanted);
}

std::string rows_fault(const RowsView& rows, const std::vector<Index>& ids, Index n, Wanted wanted, int threads) {
  return first_fault(ids, threads, [&](Index i) {
    if (rows.start)
      return rows.wide ? sparse_fault(rows.wide, rows, i, n, wanted) : sparse_fault(rows.narrow, rows, i, n, wanted);
    return rows.wide ? dense_fault(rows.wide + i * n, example(i), n, wanted)
                     : dense_fault(rows.narrow + i * n, example(i), n, wanted);
  });
}

// A packed symmetric matrix: variances, and |Σ_ab| ≤ √(Σ_aa Σ_bb).
template <class Scalar>
std::string matrix_fault(const Scalar* packed, Whose whose, Index n) {
  std::vector<double> variance(static_cast<std::size_t>(n));
  const Scalar* row = packed;
  for (Index a = 0; a < n; row += n - a, ++a) {
    if (!wanted_range<Scalar>(Wanted::variance).holds(*row))
      return number_fault(whose, static_cast<double>(*row), at(a), Wanted::variance);
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

template <class Scalar>
std::string Isotropic<Scalar>::fault(const std::vector<Index>& ids, Index, int threads) const {
  return first_fault(ids, threads, [&](Index i) {
    const Scalar v = variances_[i];
    return wanted_range<Scalar>(Wanted::variance).holds(v)
               ? std::string()
               : number_fault(example(i), static_cast<double>(v), "", Wanted::variance);
  });
}

template <class Rows>
std::string RowDiagonal<Rows>::fault(const std::vector<Index>& ids, Index n, int threads) const {
  return rows_fault(rows_.view(), ids, n, Wanted::variance, threads);
}

template <class Scalar>
std::string Full<Scalar>::fault(const std::vector<Index>& ids, Index n, int threads) const {
  return first_fault(ids, threads, [&](Index i) { return matrix_fault(packed_ + i * sum_size(), example(i), n); });
}

template <class Scalar>
std::string LowRank<Scalar>::fault(const std::vector<Index>& ids, Index n, int threads) const {
  return first_fault(ids, threads, [&](Index i) -> std::string {
    if (begin(i) < 0 || end(i) < begin(i))
      return example(i).text() + " has factors " + std::to_string(begin(i)) + " to " + std::to_string(end(i));
    for (Index k = begin(i); k < end(i); ++k)
      if (std::string fault = dense_fault(row(k), example(i), n, Wanted::finite); !fault.empty()) return fault;
    return {};
  });
}

std::string Shared::fault(const std::vector<Index>& ids, Index n, int threads) const {
  for (Index k = 0; k < count_; ++k) {
    const Whose whose{"group", k};
    std::string fault = diagonal_ ? dense_fault(packed_ + k * n, whose, n, Wanted::variance)
                                  : matrix_fault(packed_ + k * (n * (n + 1) / 2), whose, n);
    if (!fault.empty()) return fault;
  }
  return first_fault(ids, threads, [&](Index i) {
    return group(i) >= 0 && group(i) < count_
               ? std::string()
               : example(i).text() + " has group " + std::to_string(group(i)) + "; there are " + std::to_string(count_);
  });
}

void check(const Gaussians& data, int threads) {
  const Index n = data.features();
  double numbers = data.means().numbers_per_example();
  for (const auto& term : data.covariance()) numbers += term.kind->numbers_per_example();
  threads = team_for(static_cast<double>(data.examples()) * numbers, threads);
  std::string fault = rows_fault(data.means().rows(), data.ids(), n, Wanted::finite, threads);
  require(fault.empty(), "means: " + fault);
  for (const auto& term : data.covariance()) {
    if (!(term.scale >= 0 && std::isfinite(term.scale)))  // the message only where it is needed
      require(false, "covariance: a factor must be >= 0 and finite, got " + to_text(term.scale));
    fault = term.kind->fault(data.ids(), n, threads);
    require(fault.empty(), "covariance: " + fault);
  }
}

std::string fault_of(const Gaussians& data, const std::vector<Index>& ids) {
  const Index n = data.features();
  std::string fault = rows_fault(data.means().rows(), ids, n, Wanted::finite, 1);
  if (!fault.empty()) return "means: " + fault;
  for (const auto& term : data.covariance()) {
    if (dynamic_cast<const Shared*>(term.kind.get())) continue;
    fault = term.kind->fault(ids, n, 1);
    if (!fault.empty()) return "covariance: " + fault;
  }
  return {};
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

#define SVMGSU_FAULT(Kind) template std::string Kind::fault(const std::vector<Index>&, Index, int) const
SVMGSU_FAULT(Isotropic<double>);
SVMGSU_FAULT(Isotropic<float>);
SVMGSU_FAULT(RowDiagonal<DenseRows<double>>);
SVMGSU_FAULT(RowDiagonal<DenseRows<float>>);
SVMGSU_FAULT(RowDiagonal<SparseRows<double>>);
SVMGSU_FAULT(RowDiagonal<SparseRows<float>>);
SVMGSU_FAULT(Full<double>);
SVMGSU_FAULT(Full<float>);
SVMGSU_FAULT(LowRank<double>);
SVMGSU_FAULT(LowRank<float>);
#undef SVMGSU_FAULT

}  // namespace svmgsu
