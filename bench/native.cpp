// What a pass over the data is measured against: the machine's own limit. Compiled by bench/native.py.
#include <cstdint>

namespace {

using Index = std::int64_t;

// A 32-byte piece of memory as a vector: eight floats or four doubles.
template <class T>
struct Piece {
  static constexpr Index kSize = 32 / sizeof(T);
  typedef T Type __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
};

// Sums all numbers of two ℓ × n arrays, read once, as eight interleaved sequential streams: four rows of
// the one and four of the other at a time.
template <class T>
double read_streams(const T* means, const T* variances, Index samples, Index features, int threads) {
  using Vector = typename Piece<T>::Type;
  double total = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : total)
  for (Index four = 0; four < samples / 4; ++four) {
    const T* a = means + 4 * four * features;
    const T* b = variances + 4 * four * features;
    Vector sum[8] = {};
    Index j = 0;
    for (; j + Piece<T>::kSize <= features; j += Piece<T>::kSize)
      for (int r = 0; r < 4; ++r) {
        sum[r] += *reinterpret_cast<const Vector*>(a + r * features + j);
        sum[r + 4] += *reinterpret_cast<const Vector*>(b + r * features + j);
      }
    for (; j < features; ++j)
      for (int r = 0; r < 4; ++r) total += a[r * features + j] + b[r * features + j];
    for (const Vector& v : sum)
      for (Index k = 0; k < Piece<T>::kSize; ++k) total += v[k];
  }
  return total;
}

}  // namespace

extern "C" {

double read_streams_double(const double* a, const double* b, Index samples, Index features, int threads) {
  return read_streams(a, b, samples, features, threads);
}

double read_streams_float(const float* a, const float* b, Index samples, Index features, int threads) {
  return read_streams(a, b, samples, features, threads);
}

}  // extern "C"
