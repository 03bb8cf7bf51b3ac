// One matrix for many examples.
#include "svmgsu/kinds/shared.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "kinds/support.hpp"
#include "svmgsu/kinds/full.hpp"

namespace svmgsu {

void Shared::times(Index k, double factor, const double* v, double* out) const {
  if (diagonal_) {
    for (Index j = 0; j < features_; ++j) out[j] += factor * packed_[k * features_ + j] * v[j];
  } else {
    kernels::packed_times(packed_ + k * features_ * (features_ + 1) / 2, features_, factor, v, out);
  }
}
double Shared::bilinear(Index k, const double* a, const double* b) const {
  Vector product = Vector::Zero(features_);
  times(k, 1.0, a, product.data());
  return dot(product.data(), b, features_);
}
void Shared::prepare(const double* w, const double* v, Index, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(count_));
  for (Index k = 0; k < count_; ++k) plan.of_w[static_cast<std::size_t>(k)] = bilinear(k, w, v);
}
void Shared::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  for (int i = 0; i < batch.count; ++i) out[i] += scale * plan.of_w[static_cast<std::size_t>(group(batch.id[i]))];
}
void Shared::weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
  for (int i = 0; i < batch.count; ++i) sum[group(batch.id[i])] += kappa[i];
}
void Shared::finish(const double* sum, const double* w, Index, double scale, double* out) const {
  for (Index k = 0; k < count_; ++k) times(k, scale * sum[k], w, out);
}
void Shared::add_full(Index example, double scale, Matrix& out) const {
  const Index k = group(example);
  if (diagonal_) {
    for (Index j = 0; j < features_; ++j) out(j, j) += scale * packed_[k * features_ + j];
  } else {
    Full<double>(packed_, count_, features_).add_full(k, scale, out);
  }
}
void Shared::add_product(Index example, double factor, const double* w, Index, double* out) const {
  times(group(example), factor, w, out);
}
void Shared::expand_diagonal(const double* sum, Index n, double scale, double* out) const {
  for (Index k = 0; k < count_; ++k) {
    if (diagonal_) {
      add_to_diagonal(packed_ + k * n, 1, n, scale * sum[k], out, 0);
    } else {
      add_packed_diagonal(packed_ + k * n * (n + 1) / 2, n, scale * sum[k], out);
    }
  }
}
bool Shared::expand(const double* sum, Index n, double scale, double* out, Index stride) const {
  for (Index k = 0; k < count_; ++k) {
    if (diagonal_) {
      add_to_diagonal(packed_ + k * n, 1, n, scale * sum[k], out, stride);
    } else {
      add_unpacked(packed_ + k * n * (n + 1) / 2, n, scale * sum[k], out, stride);
    }
  }
  return true;
}

}  // namespace svmgsu
