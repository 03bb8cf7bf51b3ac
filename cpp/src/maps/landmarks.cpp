#include <cmath>

#include "support/linalg.hpp"
#include "svmgsu/maps/maps.hpp"

namespace svmgsu {
namespace {

// L⁻¹T(x − c) of every landmark, one per column, and log |LLᵀ|^½, for LLᵀ = I + factor · TΣTᵀ.
struct Whitened {
  EigenMatrix a;
  EigenVector squares;
  double log_root = 0;

  Whitened(const Matrix& t, const Matrix& c, const OneGaussian& g, double factor, EigenMatrix* lower = nullptr) {
    const EigenVector y = t * g.x;
    a = (-c.transpose()).colwise() + y;
    if (!g.certain()) {
      Matrix u;
      g.times(t, u);
      const EigenMatrix s = EigenMatrix::Identity(t.rows(), t.rows()) + factor * linalg::product_transposed(u, t);
      const EigenMatrix l = linalg::cholesky(s);
      linalg::solve_lower(l, a);
      log_root = l.diagonal().array().log().sum();
      if (lower) *lower = l;
    } else if (lower) {
      *lower = EigenMatrix::Identity(t.rows(), t.rows());
    }
    squares = a.colwise().squaredNorm();
  }
};

}  // namespace

Landmarks::Landmarks(const Matrix& landmarks, Matrix transform) : t_(std::move(transform)) {
  require(landmarks.rows() > 0, "landmarks: expected at least one");
  require(landmarks.cols() == t_.cols(), "landmarks: " + std::to_string(landmarks.cols()) +
                                             " features, but the transform has " + std::to_string(t_.cols()));
  require(t_.rows() > 0 && t_.cols() > 0, "transform: it has no rows or no columns");
  require(landmarks.allFinite(), "landmarks: all numbers must be finite");
  require(t_.allFinite(), "transform: all numbers must be finite");
  c_ = linalg::product_transposed(landmarks, t_);
}

void Landmarks::mean(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  const Whitened at(t_, c_, g, 1);
  for (Index k = 0; k < outputs(); ++k) out[k] = std::exp(-at.log_root - 0.5 * at.squares[k]);
}

void Landmarks::variances(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  std::fill_n(out, outputs(), 0.0);
  if (g.certain()) return;
  const Whitened one(t_, c_, g, 1), two(t_, c_, g, 2);
  for (Index k = 0; k < outputs(); ++k) {
    // E k² − (E k)² = (E k)²(E k²/(E k)² − 1)
    const double first = -one.log_root - 0.5 * one.squares[k], second = -two.log_root - two.squares[k];
    const double excess = second - 2 * first;
    out[k] = excess > 1 ? std::max(0.0, std::exp(second) - std::exp(2 * first))
                        : std::exp(2 * first) * std::max(0.0, std::expm1(excess));
  }
}

void Landmarks::covariance(const OneGaussian& g, Matrix& out) const {
  require_inputs(g);
  const Index count = outputs();
  out.setZero(count, count);
  if (g.certain()) return;
  Vector first(count);
  mean(g, first.data());
  const Whitened two(t_, c_, g, 2);
  const EigenMatrix gram = linalg::transposed_product(two.a, two.a), inner = linalg::product_transposed(c_, c_);
  for (Index j = 0; j < count; ++j)
    for (Index k = j; k < count; ++k) {
      const double apart = inner(j, j) + inner(k, k) - 2 * inner(j, k);
      const double about = gram(j, j) + gram(k, k) + 2 * gram(j, k);
      out(j, k) = std::exp(-0.25 * apart - two.log_root - 0.25 * about) - first[j] * first[k];
      out(k, j) = out(j, k);
    }
  Vector diagonal(count);
  variances(g, diagonal.data());
  out.diagonal() = diagonal;
}

void Landmarks::jacobian(const OneGaussian& g, Matrix& out) const {
  require_inputs(g);
  EigenMatrix lower;
  Whitened at(t_, c_, g, 1, &lower);
  linalg::solve_lower_transposed(lower, at.a);
  for (Index k = 0; k < outputs(); ++k) at.a.col(k) *= -std::exp(-at.log_root - 0.5 * at.squares[k]);
  out = linalg::transposed_product(at.a, t_);
}

}  // namespace svmgsu
