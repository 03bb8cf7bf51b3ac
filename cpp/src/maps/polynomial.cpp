#include "svmgsu/maps/maps.hpp"

namespace svmgsu {
namespace {

// The factors x_j x_k of each output, k = −1 where there is one alone: use(output, j, k).
template <class Use>
void for_outputs(Index n, Use use) {
  for (Index j = 0; j < n; ++j) use(j, j, Index{-1});
  Index at = n;
  for (Index j = 0; j < n; ++j)
    for (Index k = j; k < n; ++k) use(at++, j, k);
}

// Isserlis' theorem: the covariance of two products of at most two normal variables each.
double product_covariance(const Vector& x, const Matrix& s, Index a, Index b, Index c, Index d) {
  if (b < 0 && d < 0) return s(a, c);
  if (b < 0) return x[c] * s(a, d) + x[d] * s(a, c);
  if (d < 0) return x[a] * s(b, c) + x[b] * s(a, c);
  return s(a, c) * s(b, d) + s(a, d) * s(b, c) + x[a] * x[c] * s(b, d) + x[a] * x[d] * s(b, c) + x[b] * x[c] * s(a, d) +
         x[b] * x[d] * s(a, c);
}

}  // namespace

Polynomial::Polynomial(Index inputs) : n_(inputs) { require(n_ > 0, "inputs: must be > 0"); }

void Polynomial::mean(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  Matrix s;
  g.full(s);
  for_outputs(n_, [&](Index at, Index j, Index k) { out[at] = k < 0 ? g.x[j] : g.x[j] * g.x[k] + s(j, k); });
}

void Polynomial::variances(const OneGaussian& g, double* out) const {
  require_inputs(g, out);
  Matrix s;
  g.full(s);
  for_outputs(n_, [&](Index at, Index j, Index k) { out[at] = std::max(0.0, product_covariance(g.x, s, j, k, j, k)); });
}

void Polynomial::covariance(const OneGaussian& g, Matrix& out) const {
  require_inputs(g);
  Matrix s;
  g.full(s);
  out.setZero(outputs(), outputs());
  for_outputs(n_, [&](Index row, Index a, Index b) {
    for_outputs(n_, [&](Index column, Index c, Index d) {
      if (column < row) return;
      out(row, column) = out(column, row) = product_covariance(g.x, s, a, b, c, d);
    });
  });
}

}  // namespace svmgsu
