// How each kind of covariance takes part in a pass. The formulas are those of covariance.hpp.
#include "svmgsu/kinds/covariance.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

double dot(const double* a, const double* b, Index n) {
  double result;
  kernels::row_dots(&a, 1, n, b, &result);
  return result;
}

void add_scaled(Index n, double factor, const double* a, double* out) { kernels::add_rows(&a, 1, n, &factor, out); }

// out += scale · (t ∘ w + m ∘ v): the product of the diagonal kinds.
void add_diagonal_product(Index n, double scale, const double* t, const double* w, const double* m, const double* v,
                          double* out) {
  for (Index j = 0; j < n; ++j) out[j] += scale * (t[j] * w[j] + m[j] * v[j]);
}

// Isotropic: Σ_i v = v_i · v.
template <class Scalar>
class IsotropicCurvature final : public Curvature {
 public:
  IsotropicCurvature(const Scalar* variances, Vector w, double m) : variances_(variances), w_(std::move(w)), m_(m) {}
  Index sum_size() const override { return 1; }
  void prepare(const double* v) override {
    v_ = v;
    wv_ = dot(w_.data(), v, w_.size());
  }
  void cross(Batch batch, double scale, double* out) const override {
    for (int i = 0; i < batch.count; ++i) out[i] += scale * static_cast<double>(variances_[batch.id[i]]) * wv_;
  }
  void weigh(Batch batch, const double* tau, const double*, double* sum) const override {
    for (int i = 0; i < batch.count; ++i) sum[0] += tau[i] * static_cast<double>(variances_[batch.id[i]]);
  }
  void finish(const double* sum, double scale, double* out) const override {
    add_scaled(w_.size(), scale * sum[0], w_.data(), out);
    add_scaled(w_.size(), scale * m_, v_, out);
  }

 private:
  const Scalar* variances_;
  Vector w_;
  double m_, wv_ = 0;
  const double* v_ = nullptr;
};

template <class Rows>
class DiagonalCurvature final : public Curvature {
 public:
  DiagonalCurvature(Rows rows, Vector w, std::vector<double> m)
      : rows_(rows), w_(std::move(w)), m_(std::move(m)), wv_(w_.size()) {}
  Index sum_size() const override { return w_.size(); }
  RowsView like_means() const override { return rows_.view(); }
  const double* weights() const override { return wv_.data(); }
  void prepare(const double* v) override {
    v_ = v;
    wv_ = w_.cwiseProduct(Eigen::Map<const EigenVector>(v, w_.size()));
  }
  void cross(Batch batch, double scale, double* out) const override {
    double product[kMaxBatch];
    rows_.dots(batch, wv_.data(), product);
    for (int i = 0; i < batch.count; ++i) out[i] += scale * product[i];
  }
  void weigh(Batch batch, const double* tau, const double*, double* sum) const override { rows_.add(batch, tau, sum); }
  void finish(const double* sum, double scale, double* out) const override {
    add_diagonal_product(w_.size(), scale, sum, w_.data(), m_.data(), v_, out);
  }

 private:
  Rows rows_;
  Vector w_;
  std::vector<double> m_;
  Vector wv_;
  const double* v_ = nullptr;
};

// q += scale · (rows · what the plan knows of w): the quadratic form of the kinds that are rows.
template <class Rows>
void add_dots(const Rows& rows, Batch batch, const Plan& plan, double scale, double* q) {
  double product[kMaxBatch];
  rows.dots(batch, plan.of_w.data(), product);
  for (int i = 0; i < batch.count; ++i) q[i] += scale * product[i];
}

// Full: u_i = Σ_i w of the active examples and M = Σ κ_i Σ_i are remembered, so that a product reads
// 2n numbers an example instead of n²/2.
class FullCurvature final : public Curvature {
 public:
  template <class Scalar>
  FullCurvature(const Scalar* packed, Index examples, const Vector& w, std::vector<double> m,
                const std::vector<Index>& active, int threads)
      : n_(w.size()), m_(std::move(m)), place_(static_cast<std::size_t>(examples), 0) {
    const Index size = n_ * (n_ + 1) / 2;
    u_ = Matrix::Zero(static_cast<Index>(active.size()), n_);
    for (std::size_t k = 0; k < active.size(); ++k) place_[static_cast<std::size_t>(active[k])] = static_cast<Index>(k);
    parallel_for(u_.rows(), threads, [&](Index k) {
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

// All rows of F of a batch's examples, kMaxBatch at a time whatever example they belong to: use(rows, count)
// with, for each, its number k in F, its example's place in the batch and where it lies.
template <class Scalar>
struct FactorRows {
  Index k[kMaxBatch];
  int example[kMaxBatch];
  const Scalar* at[kMaxBatch];
};
template <class Scalar, class Use>
void for_factor_rows(const LowRank<Scalar>& kind, Batch batch, Use use) {
  FactorRows<Scalar> rows;
  int count = 0;
  for (int i = 0; i < batch.count; ++i)
    for (Index k = kind.begin(batch.id[i]); k < kind.end(batch.id[i]); ++k) {
      rows.k[count] = k;
      rows.example[count] = i;
      rows.at[count] = kind.row(k);
      if (++count < kMaxBatch) continue;
      use(rows, count);
      count = 0;
    }
  if (count > 0) use(rows, count);
}

// LowRank: t_i = F_i w is remembered; a product needs F_i v once and then Fᵀ(τ t + κ F v).
template <class Scalar>
class LowRankCurvature final : public Curvature {
 public:
  LowRankCurvature(const LowRank<Scalar>& kind, const std::vector<double>& t) : kind_(kind), t_(t), fv_(t.size()) {}
  Index sum_size() const override { return kind_.features(); }
  void prepare(const double* v) override { v_ = v; }
  void cross(Batch batch, double scale, double* out) const override {
    for_factor_rows(kind_, batch, [&](const FactorRows<Scalar>& rows, int count) {
      double product[kMaxBatch];
      kernels::row_dots(rows.at, count, kind_.features(), v_, product);
      for (int j = 0; j < count; ++j) {
        const auto k = static_cast<std::size_t>(rows.k[j]);
        fv_[k] = product[j];
        out[rows.example[j]] += scale * t_[k] * product[j];
      }
    });
  }
  void weigh(Batch batch, const double* tau, const double* kappa, double* sum) const override {
    for_factor_rows(kind_, batch, [&](const FactorRows<Scalar>& rows, int count) {
      double coefficient[kMaxBatch];
      for (int j = 0; j < count; ++j) {
        const auto k = static_cast<std::size_t>(rows.k[j]);
        coefficient[j] = tau[rows.example[j]] * t_[k] + kappa[rows.example[j]] * fv_[k];
      }
      kernels::add_rows(rows.at, count, kind_.features(), coefficient, sum);
    });
  }
  void finish(const double* sum, double scale, double* out) const override {
    add_scaled(kind_.features(), scale, sum, out);
  }

 private:
  LowRank<Scalar> kind_;
  std::vector<double> t_;
  mutable std::vector<double> fv_;  // each example writes its own rows
  const double* v_ = nullptr;
};

// Shared: everything but one number a group is known before the pass.
class SharedCurvature final : public Curvature {
 public:
  SharedCurvature(const Shared& kind, Vector w, std::vector<double> m)
      : kind_(kind), w_(std::move(w)), m_(std::move(m)), wv_(m_.size()) {}
  Index sum_size() const override { return static_cast<Index>(m_.size()); }
  void prepare(const double* v) override {
    v_ = v;
    for (std::size_t k = 0; k < m_.size(); ++k) wv_[k] = kind_.bilinear(static_cast<Index>(k), w_.data(), v);
  }
  void cross(Batch batch, double scale, double* out) const override {
    for (int i = 0; i < batch.count; ++i) out[i] += scale * wv_[static_cast<std::size_t>(kind_.group(batch.id[i]))];
  }
  void weigh(Batch batch, const double* tau, const double*, double* sum) const override {
    for (int i = 0; i < batch.count; ++i) sum[kind_.group(batch.id[i])] += tau[i];
  }
  void finish(const double* sum, double scale, double* out) const override {
    for (std::size_t k = 0; k < m_.size(); ++k) {
      kind_.times(static_cast<Index>(k), scale * sum[k], w_.data(), out);
      kind_.times(static_cast<Index>(k), scale * m_[k], v_, out);
    }
  }

 private:
  Shared kind_;
  Vector w_;
  std::vector<double> m_, wv_;
  const double* v_ = nullptr;
};

}  // namespace

namespace {

void add_to_diagonal(const double* values, Index step, Index n, double scale, double* out, Index stride) {
  for (Index j = 0; j < n; ++j) out[j * (stride + 1)] += scale * values[j * step];
}

void add_unpacked(const double* packed, Index n, double scale, double* out, Index stride) {
  for (Index i = 0; i < n; ++i)
    for (Index j = i; j < n; ++j) {
      const double value = scale * *packed++;
      out[i * stride + j] += value;
      if (i != j) out[j * stride + i] += value;
    }
}

void add_packed_diagonal(const double* packed, Index n, double scale, double* out) {
  for (Index j = 0; j < n; ++j) {
    out[j] += scale * *packed;
    packed += n - j;
  }
}

}  // namespace

// --- Isotropic

template <class Scalar>
void Isotropic<Scalar>::prepare(const double* w, Index n, Plan& plan) const {
  plan.of_w.assign(1, dot(w, w, n));
}
template <class Scalar>
void Isotropic<Scalar>::quadratic(Batch batch, Plan& plan, double scale, double* q) const {
  for (int i = 0; i < batch.count; ++i) q[i] += scale * static_cast<double>(variances_[batch.id[i]]) * plan.of_w[0];
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
std::unique_ptr<Curvature> Isotropic<Scalar>::curvature(const Vector& w, const Plan&, const std::vector<double>& sum,
                                                        const std::vector<Index>&, int) const {
  return std::make_unique<IsotropicCurvature<Scalar>>(variances_, w, sum[0]);
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

// --- Diagonal, dense and sparse

template <class Rows>
void RowDiagonal<Rows>::prepare(const double* w, Index n, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) plan.of_w[static_cast<std::size_t>(j)] = w[j] * w[j];
}
template <class Rows>
void RowDiagonal<Rows>::quadratic(Batch batch, Plan& plan, double scale, double* q) const {
  add_dots(rows_, batch, plan, scale, q);
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
std::unique_ptr<Curvature> RowDiagonal<Rows>::curvature(const Vector& w, const Plan&, const std::vector<double>& sum,
                                                        const std::vector<Index>&, int) const {
  return std::make_unique<DiagonalCurvature<Rows>>(rows_, w, sum);
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

// --- Full

template <class Scalar>
Full<Scalar>::Full(const MatrixOf<Scalar>& packed) : packed_(packed.data()), examples_(packed.rows()) {
  features_ = static_cast<Index>(std::floor(std::sqrt(2.0 * static_cast<double>(packed.cols()))));
  require(features_ * (features_ + 1) / 2 == packed.cols(),
          "Full: a packed row must have n(n+1)/2 numbers, got " + std::to_string(packed.cols()));
}
template <class Scalar>
void Full<Scalar>::prepare(const double* w, Index n, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(sum_size()));
  double* out = plan.of_w.data();
  for (Index i = 0; i < n; ++i) {
    *out++ = w[i] * w[i];
    for (Index j = i + 1; j < n; ++j) *out++ = 2 * w[i] * w[j];
  }
}
template <class Scalar>
void Full<Scalar>::quadratic(Batch batch, Plan& plan, double scale, double* q) const {
  add_dots(DenseRows<Scalar>{packed_, examples_, sum_size()}, batch, plan, scale, q);
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

// --- LowRank

template <class Scalar>
void LowRank<Scalar>::prepare(const double* w, Index n, Plan& plan) const {
  plan.of_w.assign(w, w + n);
  plan.of_example.resize(static_cast<std::size_t>(rows()));
}
template <class Scalar>
void LowRank<Scalar>::quadratic(Batch batch, Plan& plan, double scale, double* q) const {
  for_factor_rows(*this, batch, [&](const FactorRows<Scalar>& rows, int count) {
    double t[kMaxBatch];
    kernels::row_dots(rows.at, count, features_, plan.of_w.data(), t);
    for (int j = 0; j < count; ++j) {
      plan.of_example[static_cast<std::size_t>(rows.k[j])] = t[j];
      q[rows.example[j]] += scale * t[j] * t[j];
    }
  });
}
template <class Scalar>
void LowRank<Scalar>::weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const {
  for_factor_rows(*this, batch, [&](const FactorRows<Scalar>& rows, int count) {
    double coefficient[kMaxBatch];
    for (int j = 0; j < count; ++j)
      coefficient[j] = kappa[rows.example[j]] * plan.of_example[static_cast<std::size_t>(rows.k[j])];
    kernels::add_rows(rows.at, count, features_, coefficient, sum);
  });
}
template <class Scalar>
void LowRank<Scalar>::finish(const double* sum, const double*, Index n, double scale, double* out) const {
  add_scaled(n, scale, sum, out);
}
template <class Scalar>
std::unique_ptr<Curvature> LowRank<Scalar>::curvature(const Vector&, const Plan& plan, const std::vector<double>&,
                                                      const std::vector<Index>&, int) const {
  return std::make_unique<LowRankCurvature<Scalar>>(*this, plan.of_example);
}
template <class Scalar>
void LowRank<Scalar>::add_full(Index example, double scale, Matrix& out) const {
  for (Index k = begin(example); k < end(example); ++k) {
    const Vector f = Eigen::Map<const EigenOf<Scalar, 1>>(row(k), features_).template cast<double>();
    out.noalias() += scale * f * f.transpose();
  }
}
template <class Scalar>
void LowRank<Scalar>::add_product(Index example, double factor, const double* w, Index n, double* out) const {
  for (Index k = begin(example); k < end(example); ++k) {
    const Scalar* f = row(k);
    double t;
    kernels::row_dots(&f, 1, n, w, &t);
    t *= factor;
    kernels::add_rows(&f, 1, n, &t, out);
  }
}
template <class Scalar>
void LowRank<Scalar>::expand_diagonal(const double*, Index, double, double*) const {}
template <class Scalar>
bool LowRank<Scalar>::expand(const double*, Index, double, double*, Index) const {
  return false;
}
template <class Scalar>
void LowRank<Scalar>::factors(Index example, double scale, double* out) const {
  const double root = std::sqrt(scale);
  const Scalar* in = row(begin(example));
  const Index size = rank(example) * features_;
  for (Index k = 0; k < size; ++k) out[k] = root * static_cast<double>(in[k]);
}

// --- Shared

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
void Shared::prepare(const double* w, Index, Plan& plan) const {
  plan.of_w.resize(static_cast<std::size_t>(count_));
  for (Index k = 0; k < count_; ++k) plan.of_w[static_cast<std::size_t>(k)] = bilinear(k, w, w);
}
void Shared::quadratic(Batch batch, Plan& plan, double scale, double* q) const {
  for (int i = 0; i < batch.count; ++i) q[i] += scale * plan.of_w[static_cast<std::size_t>(group(batch.id[i]))];
}
void Shared::weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
  for (int i = 0; i < batch.count; ++i) sum[group(batch.id[i])] += kappa[i];
}
void Shared::finish(const double* sum, const double* w, Index, double scale, double* out) const {
  for (Index k = 0; k < count_; ++k) times(k, scale * sum[k], w, out);
}
std::unique_ptr<Curvature> Shared::curvature(const Vector& w, const Plan&, const std::vector<double>& sum,
                                             const std::vector<Index>&, int) const {
  return std::make_unique<SharedCurvature>(*this, w, sum);
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

#define SVMGSU_KINDS(Scalar)                      \
  template class Isotropic<Scalar>;               \
  template class RowDiagonal<DenseRows<Scalar>>;  \
  template class RowDiagonal<SparseRows<Scalar>>; \
  template class Full<Scalar>;                    \
  template class LowRank<Scalar>;
SVMGSU_KINDS(double)
SVMGSU_KINDS(float)
#undef SVMGSU_KINDS

}  // namespace svmgsu
