// Sums over rows: dot products, weighted sums, and products with packed symmetric matrices.
//
// Each row has eight partial sums, so that a vector unit of any width adds in the same order; together with
// -ffp-contract=off this makes results equal on all instruction sets.
#include <algorithm>

#include "kernels/dispatch.hpp"
#include "kernels/kernels.hpp"
#include "kernels/simd.hpp"

namespace svmgsu::kernels {
namespace {

constexpr int kLanes = 8;
constexpr Index kLongRow = 2048;  // numbers; four such rows of means and variances fill half of a second-level cache
constexpr int kSomeLines = 16;    // of a row, fetched before it is its turn: hardware goes on from there

// Eight partial sums of a dot product.
struct Lanes {
  Four low = {}, high = {};

  SVMGSU_INLINE Four four() const { return low + high; }
};

// What w contributes at a row's last, incomplete vector.
struct Tail {
  Four w = {};
  Index at;    // where its four numbers begin
  bool whole;  // or whether there is none

  // A row of four numbers and more is read once more from its fourth last on, with zeros where w has been used.
  Tail(const double* weights, Index length) : at(length - 4), whole(length % 4 == 0 || length < 4) {
    if (whole) return;
    double last[4];
    for (int k = 0; k < 4; ++k) last[k] = at + k < length / 4 * 4 ? 0.0 : weights[at + k];
    read(last, w);
  }
};

// The rows of a batch in an array of rows that follow one another.
template <class T>
struct RowsOf {
  const T* data;
  const Index* id;
  Index length;

  SVMGSU_INLINE const T* operator[](Index i) const { return data + id[i] * length; }
};

template <class T>
SVMGSU_INLINE void fetch_start(const T* row) {
  for (int line = 0; line < kSomeLines; ++line) SVMGSU_PREFETCH(reinterpret_cast<const char*>(row) + 64 * line);
}

// The numbers from `first` to `last`, eight at a time.
template <int kRows, class T>
SVMGSU_INLINE void add_eights(const T* const* rows, Index first, Index last, const double* w, Lanes* total) {
  Lanes sum[kRows + (kRows == 0)];
  for (int r = 0; r < kRows; ++r) sum[r] = total[r];
  for (Index j = first; j < last; j += kLanes) {
    Four w_low, w_high, x;
    read(w + j, w_low);
    read(w + j + 4, w_high);
    for (int r = 0; r < kRows; ++r) {
      read(rows[r] + j, x);
      sum[r].low += x * w_low;
      read(rows[r] + j + 4, x);
      sum[r].high += x * w_high;
    }
  }
  for (int r = 0; r < kRows; ++r) total[r] = sum[r];
}

// The numbers after the last eight, from j on, and the sums.
template <int kRows, class T>
SVMGSU_INLINE void finish(const T* const* rows, Index j, Index length, const double* w, Lanes* sum, double* out) {
  Four weights, x;
  if (j + 4 <= length) {
    read(w + j, weights);
    for (int r = 0; r < kRows; ++r) {
      read(rows[r] + j, x);
      sum[r].low += x * weights;
    }
  }
  const Tail tail(w, length);
  if (!tail.whole) {
    for (int r = 0; r < kRows; ++r) {
      read(rows[r] + tail.at, x);
      sum[r].high += x * tail.w;
    }
  }
  if (kRows == 4) {
    write(sums_of(sum[0].four(), sum[1 % kRows].four(), sum[2 % kRows].four(), sum[3 % kRows].four()), out);
  } else {
    for (int r = 0; r < kRows; ++r) out[r] = sum_of(sum[r].four());
  }
  if (length < 4) {
    for (int r = 0; r < kRows; ++r)
      for (Index k = 0; k < length; ++k) out[r] += static_cast<double>(rows[r][k]) * w[k];
  }
}

// Dot products of kA rows of one array and kB of another, a piece of each in turn: memory is busiest with
// about eight streams, but registers suffice for four rows.
template <int kA, int kB, class T>
SVMGSU_INLINE void dots(const T* const* a, const T* const* b, Index length, const double* wa, const double* wb,
                        double* out_a, double* out_b) {
  constexpr Index kPiece = kB > 0 ? 64 : 1 << 30;
  Lanes sum_a[kA], sum_b[kB + (kB == 0)];
  const Index eights = length / kLanes * kLanes;
  for (Index j = 0; j < eights; j += kPiece) {
    const Index last = std::min(eights, j + kPiece);
    add_eights<kA>(a, j, last, wa, sum_a);
    add_eights<kB>(b, j, last, wb, sum_b);
  }
  finish<kA>(a, eights, length, wa, sum_a, out_a);
  finish<kB>(b, eights, length, wb, sum_b, out_b);
}

// Rows i, i + step, i + 2 step and i + 3 step. Where rows follow one another in memory, each of the four is a
// stream that goes on from row to row; neighbours would be four streams that stop at the end of the row.
template <class T>
struct Spread {
  const T* row[4];
  double product[4];
  int first, step;

  template <class Rows>
  SVMGSU_INLINE Spread(const Rows& rows, int i, int distance) : first(i), step(distance) {
    for (int k = 0; k < 4; ++k) row[k] = rows[first + k * step];
  }
  SVMGSU_INLINE void store(double* out) const {
    for (int k = 0; k < 4; ++k) out[first + k * step] = product[k];
  }
};

template <class T>
SVMGSU_INLINE void all_dots(const T* const* rows, int count, Index length, const double* w, double* out) {
  const int eighth = count / 8;
  for (int i = 0; i < eighth; ++i) {
    Spread<T> a(rows, i, eighth), b(rows, i + 4 * eighth, eighth);
    dots<4, 4>(a.row, b.row, length, w, w, a.product, b.product);
    a.store(out);
    b.store(out);
  }
  int i = 8 * eighth;
  for (; i + 4 <= count; i += 4) dots<4, 0>(rows + i, rows, length, w, w, out + i, out);
  for (; i < count; ++i) dots<1, 0>(rows + i, rows, length, w, w, out + i, out);
}

template <class T>
SVMGSU_INLINE void all_pairs(const T* data_a, const T* data_b, Batch batch, Index length, const double* wa,
                             const double* wb, double* out_a, double* out_b) {
  const RowsOf<T> rows_a{data_a, batch.id, length}, rows_b{data_b, batch.id, length};
  const int quarter = batch.count / 4;
  for (int i = 0; i < quarter; ++i) {
    Spread<T> a(rows_a, i, quarter), b(rows_b, i, quarter);
    dots<4, 4>(a.row, b.row, length, wa, wb, a.product, b.product);
    a.store(out_a);
    b.store(out_b);
  }
  for (int i = 4 * quarter; i < batch.count; ++i) {
    const T *a = rows_a[i], *b = rows_b[i];
    dots<1, 1>(&a, &b, length, wa, wb, out_a + i, out_b + i);
  }
  if (batch.ahead < 4) return;
  for (int k = 0; k < 4; ++k) {  // where the streams of the next batch begin
    const Index next = batch.count + k * (batch.ahead / 4);
    fetch_start(rows_a[next]);
    fetch_start(rows_b[next]);
  }
}

template <class T>
SVMGSU_INLINE void add4(const T* const* rows, Index length, const double* coefficient, double* SVMGSU_RESTRICT sum) {
  const T *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  const Four ca = four_times(coefficient[0]), cb = four_times(coefficient[1]);
  const Four cc = four_times(coefficient[2]), cd = four_times(coefficient[3]);
  Index j = 0;
  for (; j + 4 <= length; j += 4) {
    Four xa, xb, xc, xd, x;
    read(a + j, xa);
    read(b + j, xb);
    read(c + j, xc);
    read(d + j, xd);
    read(sum + j, x);
    write(x + ((ca * xa + cb * xb) + (cc * xc + cd * xd)), sum + j);
  }
  for (; j < length; ++j)
    sum[j] += (coefficient[0] * static_cast<double>(a[j]) + coefficient[1] * static_cast<double>(b[j])) +
              (coefficient[2] * static_cast<double>(c[j]) + coefficient[3] * static_cast<double>(d[j]));
}

// The same for rows that fill the second-level cache: from their ends, which it saw last, and while it is read, memory
// is busy with the beginnings of the rows that come next. (More of them, or all, would be in each other's way.)
template <class T>
SVMGSU_INLINE void add4_and_fetch(const T* const* rows, const T* const* next, Index length, const double* coefficient,
                                  double* SVMGSU_RESTRICT sum) {
  constexpr Index kLine = 64 / sizeof(T), kPiece = 4 * kLine;
  const Index pieces = length / kPiece;
  const T* last[4];
  for (int k = 0; k < 4; ++k) last[k] = rows[k] + pieces * kPiece;
  add4(last, length - pieces * kPiece, coefficient, sum + pieces * kPiece);
  const Four ca = four_times(coefficient[0]), cb = four_times(coefficient[1]);
  const Four cc = four_times(coefficient[2]), cd = four_times(coefficient[3]);
  for (Index piece = 0; piece < pieces; ++piece) {
    for (int k = 0; k < 4; ++k) SVMGSU_PREFETCH_SECOND(next[k] + piece * kLine);
    const Index first = (pieces - 1 - piece) * kPiece;
    for (Index j = first + kPiece - 4; j >= first; j -= 4) {
      Four xa, xb, xc, xd, x;
      read(rows[0] + j, xa);
      read(rows[1] + j, xb);
      read(rows[2] + j, xc);
      read(rows[3] + j, xd);
      read(sum + j, x);
      write(x + ((ca * xa + cb * xb) + (cc * xc + cd * xd)), sum + j);
    }
  }
}

template <class T, class Rows>
SVMGSU_INLINE void add_all(const Rows& rows, int count, Index length, const double* coefficient,
                           double* SVMGSU_RESTRICT sum) {
  const T* kept[4];
  double factor[4];
  int waiting = 0;
  for (int i = 0; i < count; ++i) {
    if (coefficient[i] == 0) continue;
    kept[waiting] = rows[i];
    factor[waiting] = coefficient[i];
    if (++waiting == 4) {
      add4(kept, length, factor, sum);
      waiting = 0;
    }
  }
  if (waiting == 0) return;
  for (int i = waiting; i < 4; ++i) {  // one loop over `sum` for the last rows, too
    kept[i] = kept[0];
    factor[i] = 0;
  }
  add4(kept, length, factor, sum);
}

template <class T>
SVMGSU_INLINE void add_batch(const T* data, Batch batch, Index length, const double* coefficient, double* sum) {
  const RowsOf<T> rows{data, batch.id, length};
  const bool all = batch.count == 4 && coefficient[0] != 0 && coefficient[1] != 0 && coefficient[2] != 0;
  if (length < kLongRow || !all || coefficient[3] == 0 || batch.ahead < 4)
    return add_all<T>(rows, batch.count, length, coefficient, sum);
  const T *now[4], *next[4];
  for (int k = 0; k < 4; ++k) {
    now[k] = rows[k];
    next[k] = rows[batch.count + k];
  }
  add4_and_fetch(now, next, length, coefficient, sum);
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
    dots<1, 0>(&right, &right, rest, v + i + 1, v, &dot, &dot);
    out[i] += factor * (static_cast<double>(packed[0]) * v[i] + dot);
    for (Index j = 0; j < rest; ++j) below[j] += scaled * static_cast<double>(right[j]);
    packed += rest + 1;
  }
}

// sum += Σ coefficient[i] row_i∘row_i, four rows at a time.
template <class T>
SVMGSU_INLINE void add_all_squares(const T* data, Batch batch, Index length, const double* coefficient,
                                   double* SVMGSU_RESTRICT sum) {
  const RowsOf<T> rows{data, batch.id, length};
  int i = 0;
  for (; i + 4 <= batch.count; i += 4) {
    const T *a = rows[i], *b = rows[i + 1], *c = rows[i + 2], *d = rows[i + 3];
    for (Index j = 0; j < length; ++j) {
      const auto xa = static_cast<double>(a[j]), xb = static_cast<double>(b[j]);
      const auto xc = static_cast<double>(c[j]), xd = static_cast<double>(d[j]);
      sum[j] += (coefficient[i] * (xa * xa) + coefficient[i + 1] * (xb * xb)) +
                (coefficient[i + 2] * (xc * xc) + coefficient[i + 3] * (xd * xd));
    }
  }
  for (; i < batch.count; ++i) {
    const T* row = rows[i];
    for (Index j = 0; j < length; ++j)
      sum[j] += coefficient[i] * (static_cast<double>(row[j]) * static_cast<double>(row[j]));
  }
}

#define SVMGSU_ROW_KERNELS(Scalar)                                                                               \
  SVMGSU_CLONES void dots_of(const Scalar* const* rows, int count, Index length, const double* w, double* out) { \
    all_dots(rows, count, length, w, out);                                                                       \
  }                                                                                                              \
  SVMGSU_CLONES void pairs_of(const Scalar* a, const Scalar* b, Batch batch, Index length, const double* wa,     \
                              const double* wb, double* out_a, double* out_b) {                                  \
    all_pairs(a, b, batch, length, wa, wb, out_a, out_b);                                                        \
  }                                                                                                              \
  SVMGSU_CLONES void add_of(const Scalar* const* rows, int count, Index length, const double* coefficient,       \
                            double* sum) {                                                                       \
    add_all<Scalar>(rows, count, length, coefficient, sum);                                                      \
  }                                                                                                              \
  SVMGSU_CLONES void add_batch_of(const Scalar* data, Batch batch, Index length, const double* coefficient,      \
                                  double* sum) {                                                                 \
    add_batch(data, batch, length, coefficient, sum);                                                            \
  }                                                                                                              \
  SVMGSU_CLONES void squares_of(const Scalar* data, Batch batch, Index length, const double* coefficient,        \
                                double* sum) {                                                                   \
    add_all_squares(data, batch, length, coefficient, sum);                                                      \
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
void paired_dots(const double* a, const double* b, Batch batch, Index length, const double* wa, const double* wb,
                 double* out_a, double* out_b) {
  pairs_of(a, b, batch, length, wa, wb, out_a, out_b);
}
void paired_dots(const float* a, const float* b, Batch batch, Index length, const double* wa, const double* wb,
                 double* out_a, double* out_b) {
  pairs_of(a, b, batch, length, wa, wb, out_a, out_b);
}
void add_rows(const double* const* rows, int count, Index length, const double* coefficient, double* sum) {
  add_of(rows, count, length, coefficient, sum);
}
void add_rows(const float* const* rows, int count, Index length, const double* coefficient, double* sum) {
  add_of(rows, count, length, coefficient, sum);
}
void add_rows(const double* data, Batch batch, Index length, const double* coefficient, double* sum) {
  add_batch_of(data, batch, length, coefficient, sum);
}
void add_rows(const float* data, Batch batch, Index length, const double* coefficient, double* sum) {
  add_batch_of(data, batch, length, coefficient, sum);
}
void add_squares(const double* data, Batch batch, Index length, const double* coefficient, double* sum) {
  squares_of(data, batch, length, coefficient, sum);
}
void add_squares(const float* data, Batch batch, Index length, const double* coefficient, double* sum) {
  squares_of(data, batch, length, coefficient, sum);
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
