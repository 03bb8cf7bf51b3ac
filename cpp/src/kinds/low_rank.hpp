// Σ_i = F_iᵀF_i. A pass remembers F_i w of each sample; the sum Σ κ_i Σ_i w is a row of n numbers, and no matrix.
#pragma once

#include "kinds/loops.hpp"

namespace svmgsu {

// All rows of F of a batch's samples, kMaxBatch at a time whatever sample they belong to: use(rows, count) with, for
// each, its number k in F and its sample's place in the batch.
struct FactorRows {
  Index k[kMaxBatch];
  int sample[kMaxBatch];
};
template <class Use>
void for_factor_rows(const Covariance& of, Batch batch, Use use) {
  FactorRows rows;
  int count = 0;
  for (int i = 0; i < batch.count; ++i)
    for (Index k = of.begin(batch.id[i]); k < of.end(batch.id[i]); ++k) {
      rows.k[count] = k;
      rows.sample[count] = i;
      if (++count < kMaxBatch) continue;
      use(rows, count);
      count = 0;
    }
  if (count > 0) use(rows, count);
}

struct LowRankLoops {
  const Covariance& of;

  Index sum_size() const { return of.features(); }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const {
    plan.of_w.assign(w, w + n);
    if (v != w) plan.of_w.insert(plan.of_w.end(), v, v + n);
    plan.of_sample.resize(static_cast<std::size_t>(of.rows().count()));
  }
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const {
    for_factor_rows(of, batch, [&](const FactorRows& rows, int count) {
      double t[kMaxBatch], other[kMaxBatch];
      of.rows().dots({rows.k, count}, plan.of_w.data(), t);
      const bool same = plan.of_w.size() == static_cast<std::size_t>(of.features());
      if (!same) of.rows().dots({rows.k, count}, plan.of_w.data() + of.features(), other);
      for (int j = 0; j < count; ++j) {
        plan.of_sample[static_cast<std::size_t>(rows.k[j])] = t[j];
        out[rows.sample[j]] += scale * t[j] * (same ? t[j] : other[j]);
      }
    });
  }
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const {
    for_factor_rows(of, batch, [&](const FactorRows& rows, int count) {
      double coefficient[kMaxBatch];
      for (int j = 0; j < count; ++j)
        coefficient[j] = kappa[rows.sample[j]] * plan.of_sample[static_cast<std::size_t>(rows.k[j])];
      of.rows().add({rows.k, count}, coefficient, sum);
    });
  }
  void finish(const double* sum, const double*, Index n, double scale, double* out) const {
    add_scaled(n, scale, sum, out);
  }
  bool expand(const double*, Index, double, double*, Index) const { return false; }
  void expand_diagonal(const double*, Index, double, double*) const {}
  void add_full(Index i, double scale, Index n, double* out, Index stride) const {
    for (Index k = of.begin(i); k < of.end(i); ++k)
      for (Index a = 0; a < n; ++a)
        for (Index b = 0; b < n; ++b) out[a * stride + b] += scale * number(k, a) * number(k, b);
  }
  void add_diagonal(Index i, double scale, Index n, double* out) const {
    for (Index k = of.begin(i); k < of.end(i); ++k)
      for (Index j = 0; j < n; ++j) out[j] += scale * number(k, j) * number(k, j);
  }
  void add_product(Index i, double factor, const double* w, Index, double* out) const {
    for (Index k = of.begin(i); k < of.end(i); ++k) {
      double t;
      of.rows().dots({&k, 1}, w, &t);
      t *= factor;
      of.rows().add({&k, 1}, &t, out);
    }
  }
  std::string fault(Index i, faults::Whose whose, Index) const {
    if (of.begin(i) < 0 || of.end(i) < of.begin(i))
      return whose.text() + " has factors " + std::to_string(of.begin(i)) + " to " + std::to_string(of.end(i));
    for (Index k = of.begin(i); k < of.end(i); ++k)
      if (std::string fault = faults::row_fault(of.rows(), k, whose, faults::Wanted::finite); !fault.empty())
        return fault;
    return {};
  }

 private:
  double number(Index k, Index j) const { return of.rows().number(k * of.features() + j); }
};

}  // namespace svmgsu
