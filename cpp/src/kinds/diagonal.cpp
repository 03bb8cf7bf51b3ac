// Σ_i = diag(V_i).
#include "svmgsu/kinds/diagonal.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "kinds/support.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

template <class Rows>
void RowDiagonal<Rows>::prepare(const double* w, const double* v, Index n, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) plan.of_w[static_cast<std::size_t>(j)] = w[j] * v[j];
}
template <class Rows>
void RowDiagonal<Rows>::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  add_dots(rows_, batch, plan, scale, out);
}
template <class Rows>
void RowDiagonal<Rows>::weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
  rows_.add(batch, kappa, sum);
}
template <class Rows>
void RowDiagonal<Rows>::finish(const double* sum, const double* w, Index n, double scale, double* out) const {
  for (Index j = 0; j < n; ++j) out[j] += scale * sum[j] * w[j];
}
template <class Rows>
void RowDiagonal<Rows>::add_full(Index example, double scale, Matrix& out) const {
  const Vector ones = Vector::Ones(rows_.features);
  Vector variances = Vector::Zero(rows_.features);
  rows_.add_product(example, scale, ones.data(), variances.data());
  out.diagonal() += variances;
}
template <class Rows>
void RowDiagonal<Rows>::add_product(Index example, double factor, const double* w, Index, double* out) const {
  rows_.add_product(example, factor, w, out);
}
template <class Rows>
bool RowDiagonal<Rows>::expand(const double* sum, Index n, double scale, double* out, Index stride) const {
  add_to_diagonal(sum, 1, n, scale, out, stride);
  return true;
}
template <class Rows>
void RowDiagonal<Rows>::expand_diagonal(const double* sum, Index n, double scale, double* out) const {
  add_to_diagonal(sum, 1, n, scale, out, 0);
}

template class RowDiagonal<DenseRows<double>>;
template class RowDiagonal<DenseRows<float>>;
template class RowDiagonal<SparseRows<double>>;
template class RowDiagonal<SparseRows<float>>;

}  // namespace svmgsu
