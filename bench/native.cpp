// What the library is measured against in C++: the machine's own limit, the C++ library's normal
// distribution, and the stochastic solver as one would write it with Eigen. Compiled by bench/native.py.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

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
double read_streams(const T* means, const T* variances, Index examples, Index features, int threads) {
  using Vector = typename Piece<T>::Type;
  double total = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : total)
  for (Index four = 0; four < examples / 4; ++four) {
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

double phi(double r) { return 0.39894228040143267794 * std::exp(-0.5 * r * r); }
double cdf(double r) { return 0.5 * std::erfc(-0.70710678118654752440 * r); }

}  // namespace

extern "C" {

double read_streams_double(const double* a, const double* b, Index examples, Index features, int threads) {
  return read_streams(a, b, examples, features, threads);
}

double read_streams_float(const float* a, const float* b, Index examples, Index features, int threads) {
  return read_streams(a, b, examples, features, threads);
}

// The expected hinge by the textbook: loss, Φ and φ/s of d and s.
void normal_by_library(const double* d, const double* s, Index count, double* loss, double* Phi, double* kappa) {
  for (Index i = 0; i < count; ++i) {
    const double r = d[i] / s[i], density = phi(r);
    Phi[i] = cdf(r);
    loss[i] = d[i] * Phi[i] + s[i] * density;
    kappa[i] = density / s[i];
  }
}

// `steps` steps of Algorithm 1 (corrected) as a plain loop: every step shuffles all ℓ indices and takes the
// first k; diagonal covariances.
void sgd_with_eigen(const double* means, const double* variances, const double* y, Index examples, Index features,
                    double lambda, Index k, Index steps, double* w_out) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> X(means, examples, features), V(variances, examples, features);
  Eigen::VectorXd w = Eigen::VectorXd::Zero(features);
  double b = 0;
  std::vector<Index> order(static_cast<std::size_t>(examples));
  std::iota(order.begin(), order.end(), Index{0});
  std::mt19937_64 random(0);
  const double radius = 1 / std::sqrt(lambda);
  for (Index t = 1; t <= steps; ++t) {
    std::shuffle(order.begin(), order.end(), random);
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(features);
    double gradient_b = 0;
    for (Index j = 0; j < k; ++j) {
      const Index i = order[static_cast<std::size_t>(j)];
      const double d = 1 - y[i] * (X.row(i).dot(w) + b);
      const double s = std::sqrt(V.row(i).dot(w.cwiseAbs2()));
      if (s > 0) {
        gradient += phi(d / s) / s * V.row(i).transpose().cwiseProduct(w);
        gradient -= y[i] * cdf(d / s) * X.row(i).transpose();
        gradient_b -= y[i] * cdf(d / s);
      } else if (d > 0) {
        gradient -= y[i] * X.row(i).transpose();
        gradient_b -= y[i];
      }
    }
    const double rate = 1 / (lambda * static_cast<double>(t)), share = 1 / static_cast<double>(k);
    w = (1 - 1 / static_cast<double>(t)) * w - rate * share * gradient;
    if (w.norm() > radius) w *= radius / w.norm();
    b -= std::min(rate, 1 / std::sqrt(static_cast<double>(t))) * share * gradient_b;
  }
  Eigen::Map<Eigen::VectorXd>(w_out, features) = w;
}

}  // extern "C"
