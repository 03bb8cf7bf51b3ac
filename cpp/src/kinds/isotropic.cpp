// Σ_i = v_i I.
#include "svmgsu/kinds/isotropic.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "kinds/support.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

template <class Scalar>
void Isotropic<Scalar>::prepare(const double* w, const double* v, Index n, Plan& plan) const {
  plan.of_w.assign(1, dot(w, v, n));
}
template <class Scalar>
void Isotropic<Scalar>::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  for (int i = 0; i < batch.count; ++i) out[i] += scale * static_cast<double>(variances_[batch.id[i]]) * plan.of_w[0];
}
template <class Scalar>
void Isotropic<Scalar>::weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
  for (int i = 0; i < batch.count; ++i) sum[0] += kappa[i] * static_cast<double>(variances_[batch.id[i]]);
}
template <class Scalar>
void Isotropic<Scalar>::finish(const double* sum, const double* w, Index n, double scale, double* out) const {
  add_scaled(n, scale * sum[0], w, out);
}
template <class Scalar>
void Isotropic<Scalar>::add_full(Index example, double scale, Matrix& out) const {
  out.diagonal().array() += scale * static_cast<double>(variances_[example]);
}
template <class Scalar>
void Isotropic<Scalar>::add_product(Index example, double factor, const double* w, Index n, double* out) const {
  add_scaled(n, factor * static_cast<double>(variances_[example]), w, out);
}
template <class Scalar>
void Isotropic<Scalar>::expand_diagonal(const double* sum, Index n, double scale, double* out) const {
  add_to_diagonal(sum, 0, n, scale, out, 0);
}
template <class Scalar>
bool Isotropic<Scalar>::expand(const double* sum, Index n, double scale, double* out, Index stride) const {
  add_to_diagonal(sum, 0, n, scale, out, stride);
  return true;
}

template class Isotropic<double>;
template class Isotropic<float>;

}  // namespace svmgsu
