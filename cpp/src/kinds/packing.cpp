// Packing and checking of full covariance matrices.
#include "svmgsu/kinds/packing.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <atomic>
#include <cmath>

#include "svmgsu/kinds/full.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

template <class Scalar>
Index pack(const Scalar* full, Index examples, Index n, double tolerance, int threads, Scalar* packed) {
  std::atomic<Index> asymmetric{examples};
  parallel_for(examples, threads, [&](Index i) {
    const Eigen::Map<const EigenOf<Scalar, -1>> s(full + i * n * n, n, n);
    Scalar* out = packed + i * (n * (n + 1) / 2);
    Scalar difference = 0;
    for (Index a = 0; a < n; ++a)
      for (Index b = a; b < n; ++b) {
        difference = std::max(difference, std::abs(s(a, b) - s(b, a)));
        *out++ = a == b ? s(a, a) : s(a, b) / 2 + s(b, a) / 2;
      }
    if (static_cast<double>(difference) > tolerance * static_cast<double>(s.cwiseAbs().maxCoeff())) {
      Index seen = asymmetric;
      while (i < seen && !asymmetric.compare_exchange_weak(seen, i)) {
      }
    }
  });
  return asymmetric == examples ? -1 : asymmetric.load();
}

template <class Scalar>
Indefinite find_indefinite(const Scalar* packed, Index examples, Index n, double tolerance, int threads) {
  const Full<Scalar> kind(packed, examples, n);
  std::vector<double> smallest(static_cast<std::size_t>(examples), 0.0);
  parallel_for(examples, threads, [&](Index i) {
    Matrix s = Matrix::Zero(n, n);
    kind.add_full(i, 1.0, s);
    const double allowed = tolerance * s.diagonal().cwiseAbs().sum();
    // A Cholesky factor of Σ + allowed·I proves what we ask; only a failure is looked at closer.
    Matrix shifted = s;
    shifted.diagonal().array() += allowed;
    if (Eigen::LLT<EigenMatrix>(shifted).info() == Eigen::Success || s.cwiseAbs().maxCoeff() == 0) return;
    const double low = Eigen::SelfAdjointEigenSolver<EigenMatrix>(s, Eigen::EigenvaluesOnly).eigenvalues()(0);
    if (low < -allowed) smallest[static_cast<std::size_t>(i)] = low;
  });
  for (Index i = 0; i < examples; ++i)
    if (smallest[static_cast<std::size_t>(i)] < 0) return {i, smallest[static_cast<std::size_t>(i)]};
  return {-1, 0.0};
}

template Index pack(const double*, Index, Index, double, int, double*);
template Index pack(const float*, Index, Index, double, int, float*);
template Indefinite find_indefinite(const double*, Index, Index, double, int);
template Indefinite find_indefinite(const float*, Index, Index, double, int);

}  // namespace svmgsu
