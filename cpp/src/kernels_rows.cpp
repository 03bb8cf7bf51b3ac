// Sums over rows: dot products, weighted sums, and products with packed symmetric matrices.
//
// Each row has eight partial sums, so that a vector unit of any width adds in the same order; together with
// -ffp-contract=off this makes results equal on all instruction sets.
#include <algorithm>

#include "dispatch.hpp"
#include "four.hpp"
#include "svmgsu/kernels.hpp"

namespace svmgsu::kernels {
namespace {

constexpr int kLanes = 8;

// Eight partial sums of a dot product.
struct Lanes {
  Four low = {}, high = {};

  template <class T>
  SVMGSU_INLINE void add(const T* a, const Four& w_low, const Four& w_high) {
    Four x, y;
    read(a, x);
    read(a + 4, y);
    low += x * w_low;
    high += y * w_high;
  }
  // The numbers after the last whole vector, one by one.
  template <class T>
  SVMGSU_INLINE double sum(const T* rest, const double* w, Index length) {
    double lane[kLanes];
    write(low, lane);
    write(high, lane + 4);
    for (int k = 0; k < length; ++k) lane[k] += static_cast<double>(rest[k]) * w[k];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

// With kAhead, the rows that far on are fetched meanwhile: hardware prefetching ends with a page, and so
// starts anew with every row of some hundred numbers.
template <int kRows, int kAhead, class T>
SVMGSU_INLINE void dots(const T* const* rows, Index length, const double* w, double* out) {
  Lanes sum[kRows];
  Index j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    Four w_low, w_high;
    read(w + j, w_low);
    read(w + j + 4, w_high);
    for (int r = 0; r < kRows; ++r) {
      if (kAhead) SVMGSU_PREFETCH(rows[r + kAhead] + j);
      sum[r].add(rows[r] + j, w_low, w_high);
    }
  }
  for (int r = 0; r < kRows; ++r) out[r] = sum[r].sum(rows[r] + j, w + j, length - j);
}

template <class T>
SVMGSU_INLINE void all_dots(const T* const* rows, int count, Index length, const double* w, double* out) {
  int i = 0;
  for (; i + 8 <= count; i += 4) dots<4, 4>(rows + i, length, w, out + i);
  for (; i + 4 <= count; i += 4) dots<4, 0>(rows + i, length, w, out + i);
  for (; i < count; ++i) dots<1, 0>(rows + i, length, w, out + i);
}

template <class T>
SVMGSU_INLINE void add4(const T* SVMGSU_RESTRICT a, const T* SVMGSU_RESTRICT b, const T* SVMGSU_RESTRICT c,
                        const T* SVMGSU_RESTRICT d, Index length, const double* coefficient,
                        double* SVMGSU_RESTRICT sum) {
  const double ca = coefficient[0], cb = coefficient[1], cc = coefficient[2], cd = coefficient[3];
  for (Index j = 0; j < length; ++j)
    sum[j] += (ca * static_cast<double>(a[j]) + cb * static_cast<double>(b[j])) +
              (cc * static_cast<double>(c[j]) + cd * static_cast<double>(d[j]));
}

template <class T>
SVMGSU_INLINE void add_all(const T* const* rows, int count, Index length, const double* coefficient,
                           double* SVMGSU_RESTRICT sum) {
  const T* kept[4];
  double factor[4];
  int waiting = 0;
  for (int i = 0; i < count; ++i) {
    if (coefficient[i] == 0) continue;
    kept[waiting] = rows[i];
    factor[waiting] = coefficient[i];
    if (++waiting == 4) {
      add4(kept[0], kept[1], kept[2], kept[3], length, factor, sum);
      waiting = 0;
    }
  }
  if (waiting == 0) return;
  for (int i = waiting; i < 4; ++i) {  // one loop over `sum` for the last rows, too
    kept[i] = kept[0];
    factor[i] = 0;
  }
  add4(kept[0], kept[1], kept[2], kept[3], length, factor, sum);
}

// One row of the triangle at a time: it is a row of S to the right of the diagonal (a dot product),
// and by symmetry a column below it (an update of `out`).
template <class T>
SVMGSU_INLINE void packed_product(const T* SVMGSU_RESTRICT packed, Index n, double factor,
                                  const double* SVMGSU_RESTRICT v, double* SVMGSU_RESTRICT out) {
  for (Index i = 0; i < n; ++i) {
    const Index rest = n - i - 1;
    const T* right = packed + 1;
    const double scaled = factor * v[i];
    double* below = out + i + 1;
    double dot;
    dots<1, 0>(&right, rest, v + i + 1, &dot);
    out[i] += factor * (static_cast<double>(packed[0]) * v[i] + dot);
    for (Index j = 0; j < rest; ++j) below[j] += scaled * static_cast<double>(right[j]);
    packed += rest + 1;
  }
}

#define SVMGSU_ROW_KERNELS(Scalar)                                                                               \
  SVMGSU_CLONES void dots_of(const Scalar* const* rows, int count, Index length, const double* w, double* out) { \
    all_dots(rows, count, length, w, out);                                                                       \
  }                                                                                                              \
  SVMGSU_CLONES void add_of(const Scalar* const* rows, int count, Index length, const double* coefficient,       \
                            double* sum) {                                                                       \
    add_all(rows, count, length, coefficient, sum);                                                              \
  }                                                                                                              \
  SVMGSU_CLONES void packed_of(const Scalar* packed, Index n, double factor, const double* v, double* out) {     \
    packed_product(packed, n, factor, v, out);                                                                   \
  }
SVMGSU_ROW_KERNELS(double)
SVMGSU_ROW_KERNELS(float)
#undef SVMGSU_ROW_KERNELS

}  // namespace

// The public names wrap the clones: clang 14 does not clone a function that a header has declared.
void row_dots(const double* const* rows, int count, Index length, const double* w, double* out) {
  dots_of(rows, count, length, w, out);
}
void row_dots(const float* const* rows, int count, Index length, const double* w, double* out) {
  dots_of(rows, count, length, w, out);
}
void add_rows(const double* const* rows, int count, Index length, const double* coefficient, double* sum) {
  add_of(rows, count, length, coefficient, sum);
}
void add_rows(const float* const* rows, int count, Index length, const double* coefficient, double* sum) {
  add_of(rows, count, length, coefficient, sum);
}
void packed_times(const double* packed, Index n, double factor, const double* v, double* out) {
  packed_of(packed, n, factor, v, out);
}
void packed_times(const float* packed, Index n, double factor, const double* v, double* out) {
  packed_of(packed, n, factor, v, out);
}

const char* instruction_set() {
#if defined(SVMGSU_CLONE_LEVELS) || defined(SVMGSU_CLONE_CPUS)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (v4) return "x86-64-v4 (AVX-512)";
  if (v3) return "x86-64-v3 (AVX2)";
  return "x86-64 (SSE2)";
#else
  return "the compiler's default (no run-time dispatch)";
#endif
}

}  // namespace svmgsu::kernels
