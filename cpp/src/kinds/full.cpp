// Whole matrices, packed.
#include "svmgsu/kinds/full.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "kinds/support.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

// Full: u_i = Σ_i w of the active examples and M = Σ κ_i Σ_i are remembered, so that a product reads
// 2n numbers per example instead of n²/2.
class FullCurvature final : public Curvature {
 public:
  template <class Scalar>
  FullCurvature(const Scalar* packed, Index examples, const Vector& w, std::vector<double> m,
                const std::vector<Index>& active, int threads)
      : n_(w.size()), m_(std::move(m)), place_(static_cast<std::size_t>(examples), 0) {
    const Index size = n_ * (n_ + 1) / 2;
    u_ = Matrix::Zero(static_cast<Index>(active.size()), n_);
    for (std::size_t k = 0; k < active.size(); ++k) place_[static_cast<std::size_t>(active[k])] = static_cast<Index>(k);
    parallel_for(u_.rows(), team_for(static_cast<double>(u_.rows() * size), threads), [&](Index k) {
      kernels::packed_times(packed + active[static_cast<std::size_t>(k)] * size, n_, 1.0, w.data(), u_.row(k).data());
    });
  }
  Index sum_size() const override { return n_; }
  void prepare(const double* v) override { v_ = v; }
  void cross(Batch batch, double scale, double* out) const override {
    double product[kMaxBatch];
    kernels::row_dots(places(batch).at, batch.count, n_, v_, product);
    for (int i = 0; i < batch.count; ++i) out[i] += scale * product[i];
  }
  void weigh(Batch batch, const double* tau, const double*, double* sum) const override {
    kernels::add_rows(places(batch).at, batch.count, n_, tau, sum);
  }
  void finish(const double* sum, double scale, double* out) const override {
    add_scaled(n_, scale, sum, out);
    kernels::packed_times(m_.data(), n_, scale, v_, out);
  }

 private:
  RowPointers<double> places(Batch batch) const {
    Index id[kMaxBatch];
    for (int i = 0; i < batch.count; ++i) id[i] = place_[static_cast<std::size_t>(batch.id[i])];
    return RowPointers<double>(u_.data(), n_, Batch{id, batch.count});
  }
  Index n_;
  std::vector<double> m_;
  std::vector<Index> place_;
  Matrix u_;
  const double* v_ = nullptr;
};

}  // namespace

template <class Scalar>
Full<Scalar>::Full(const MatrixOf<Scalar>& packed) : packed_(packed.data()), examples_(packed.rows()) {
  features_ = static_cast<Index>(std::floor(std::sqrt(2.0 * static_cast<double>(packed.cols()))));
  require(features_ * (features_ + 1) / 2 == packed.cols(),
          "Full: a packed row must have n(n+1)/2 numbers, got " + std::to_string(packed.cols()));
}
template <class Scalar>
void Full<Scalar>::prepare(const double* w, const double* v, Index n, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(sum_size()));
  double* out = plan.of_w.data();
  for (Index i = 0; i < n; ++i) {
    *out++ = w[i] * v[i];
    for (Index j = i + 1; j < n; ++j) *out++ = w[i] * v[j] + w[j] * v[i];
  }
}
template <class Scalar>
void Full<Scalar>::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  add_dots(DenseRows<Scalar>{packed_, examples_, sum_size()}, batch, plan, scale, out);
}
template <class Scalar>
void Full<Scalar>::weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
  DenseRows<Scalar>{packed_, examples_, sum_size()}.add(batch, kappa, sum);
}
template <class Scalar>
void Full<Scalar>::finish(const double* sum, const double* w, Index n, double scale, double* out) const {
  kernels::packed_times(sum, n, scale, w, out);
}
template <class Scalar>
std::unique_ptr<Curvature> Full<Scalar>::curvature(const Vector& w, const Plan&, const std::vector<double>& sum,
                                                   const std::vector<Index>& active, int threads) const {
  return std::make_unique<FullCurvature>(packed_, examples_, w, sum, active, threads);
}
template <class Scalar>
void Full<Scalar>::add_full(Index example, double scale, Matrix& out) const {
  const Scalar* at = packed_ + example * sum_size();
  for (Index i = 0; i < features_; ++i)
    for (Index j = i; j < features_; ++j) {
      const double value = scale * static_cast<double>(*at++);
      out(i, j) += value;
      if (i != j) out(j, i) += value;
    }
}
template <class Scalar>
void Full<Scalar>::add_product(Index example, double factor, const double* w, Index n, double* out) const {
  kernels::packed_times(packed_ + example * sum_size(), n, factor, w, out);
}
template <class Scalar>
void Full<Scalar>::expand_diagonal(const double* sum, Index n, double scale, double* out) const {
  add_packed_diagonal(sum, n, scale, out);
}
template <class Scalar>
bool Full<Scalar>::expand(const double* sum, Index n, double scale, double* out, Index stride) const {
  add_unpacked(sum, n, scale, out, stride);
  return true;
}

template class Full<double>;
template class Full<float>;

}  // namespace svmgsu
