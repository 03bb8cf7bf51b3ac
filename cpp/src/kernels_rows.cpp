// Sums over rows: dot products, weighted sums, and products with packed symmetric matrices.
//
// The lanes are written out (eight partial sums a row), so that a vector unit of any width adds in the
// same order; together with -ffp-contract=off this makes results equal on all instruction sets.
#include <algorithm>

#include "dispatch.hpp"
#include "svmgsu/kernels.hpp"

namespace svmgsu::kernels {
namespace {

constexpr int kLanes = 8;

SVMGSU_INLINE double sum_lanes(const double* lane) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// The numbers after the last whole vector are read as the last eight of the row, against weights that
// are zero where a number has been counted already.
struct Tail {
  double weight[kLanes];
  SVMGSU_INLINE Tail(const double* w, Index length) {
    const Index counted = length / kLanes * kLanes, first = length - kLanes;
    for (int k = 0; k < kLanes; ++k) weight[k] = first + k >= counted ? w[first + k] : 0.0;
  }
};

// With kPrefetch, `next` are four rows to fetch meanwhile: hardware prefetching ends with a page, and
// so starts anew with every row of some hundred numbers.
template <bool kPrefetch, class T>
SVMGSU_INLINE void dots4(const T* a, const T* b, const T* c, const T* d, const T* const* next, Index length,
                         const double* w, const double* tail, double* out) {
  double sa[kLanes] = {}, sb[kLanes] = {}, sc[kLanes] = {}, sd[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    if (kPrefetch)
      for (int k = 0; k < 4; ++k) SVMGSU_PREFETCH(next[k] + j);
    for (int k = 0; k < kLanes; ++k) sa[k] += static_cast<double>(a[j + k]) * w[j + k];
    for (int k = 0; k < kLanes; ++k) sb[k] += static_cast<double>(b[j + k]) * w[j + k];
    for (int k = 0; k < kLanes; ++k) sc[k] += static_cast<double>(c[j + k]) * w[j + k];
    for (int k = 0; k < kLanes; ++k) sd[k] += static_cast<double>(d[j + k]) * w[j + k];
  }
  if (length >= kLanes) {
    const Index last = length - kLanes;
    for (int k = 0; k < kLanes; ++k) sa[k] += static_cast<double>(a[last + k]) * tail[k];
    for (int k = 0; k < kLanes; ++k) sb[k] += static_cast<double>(b[last + k]) * tail[k];
    for (int k = 0; k < kLanes; ++k) sc[k] += static_cast<double>(c[last + k]) * tail[k];
    for (int k = 0; k < kLanes; ++k) sd[k] += static_cast<double>(d[last + k]) * tail[k];
  } else {
    for (int k = 0; k < length; ++k) {
      sa[k] += static_cast<double>(a[k]) * w[k];
      sb[k] += static_cast<double>(b[k]) * w[k];
      sc[k] += static_cast<double>(c[k]) * w[k];
      sd[k] += static_cast<double>(d[k]) * w[k];
    }
  }
  out[0] = sum_lanes(sa);
  out[1] = sum_lanes(sb);
  out[2] = sum_lanes(sc);
  out[3] = sum_lanes(sd);
}

template <class T>
SVMGSU_INLINE double dot1(const T* a, Index length, const double* w, const double* tail) {
  double sum[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= length; j += kLanes)
    for (int k = 0; k < kLanes; ++k) sum[k] += static_cast<double>(a[j + k]) * w[j + k];
  if (length >= kLanes) {
    for (int k = 0; k < kLanes; ++k) sum[k] += static_cast<double>(a[length - kLanes + k]) * tail[k];
  } else {
    for (int k = 0; k < length; ++k) sum[k] += static_cast<double>(a[k]) * w[k];
  }
  return sum_lanes(sum);
}

template <class T>
SVMGSU_INLINE void all_dots(const T* const* rows, int count, Index length, const double* w, double* out) {
  const Tail tail(w, length);
  int i = 0;
  for (; i + 8 <= count; i += 4)
    dots4<true>(rows[i], rows[i + 1], rows[i + 2], rows[i + 3], rows + i + 4, length, w, tail.weight, out + i);
  for (; i + 4 <= count; i += 4)
    dots4<false>(rows[i], rows[i + 1], rows[i + 2], rows[i + 3], rows, length, w, tail.weight, out + i);
  for (; i < count; ++i) out[i] = dot1(rows[i], length, w, tail.weight);
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
  for (int i = 0; i < waiting; ++i) {
    const T* SVMGSU_RESTRICT row = kept[i];
    for (Index j = 0; j < length; ++j) sum[j] += factor[i] * static_cast<double>(row[j]);
  }
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
    out[i] +=
        factor * (static_cast<double>(packed[0]) * v[i] + dot1(right, rest, v + i + 1, Tail(v + i + 1, rest).weight));
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
