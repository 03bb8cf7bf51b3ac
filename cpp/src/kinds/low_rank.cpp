// Σ_i = F_iᵀF_i.
#include "svmgsu/kinds/low_rank.hpp"

#include <cmath>

#include "data/rows.hpp"
#include "kinds/support.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

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

}  // namespace

template <class Scalar>
void LowRank<Scalar>::prepare(const double* w, const double* v, Index n, Plan& plan) const {
  plan.of_w.assign(w, w + n);
  if (v != w) plan.of_w.insert(plan.of_w.end(), v, v + n);
  plan.of_example.resize(static_cast<std::size_t>(rows()));
}
template <class Scalar>
void LowRank<Scalar>::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  for_factor_rows(*this, batch, [&](const FactorRows<Scalar>& rows, int count) {
    double t[kMaxBatch], other[kMaxBatch];
    kernels::row_dots(rows.at, count, features_, plan.of_w.data(), t);
    const bool same = plan.of_w.size() == static_cast<std::size_t>(features_);
    if (!same) kernels::row_dots(rows.at, count, features_, plan.of_w.data() + features_, other);
    for (int j = 0; j < count; ++j) {
      plan.of_example[static_cast<std::size_t>(rows.k[j])] = t[j];
      out[rows.example[j]] += scale * t[j] * (same ? t[j] : other[j]);
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

template class LowRank<double>;
template class LowRank<float>;

}  // namespace svmgsu
