#include "kinds/curvature.hpp"

#include "kinds/low_rank.hpp"
#include "support/parallel.hpp"

namespace svmgsu {

Curvature::Curvature(const Covariance& kind, const Vector& w, const Plan& plan, std::vector<double> sum,
                     const std::vector<Index>& active, int threads)
    : kind_(kind), w_(w), sum_(std::move(sum)) {
  if (kind_.by_factors()) {
    plan_.of_sample = plan.of_sample;
    image_.resize(plan_.of_sample.size());
  }
  if (!full()) return;
  const auto count = static_cast<Index>(active.size());
  place_.assign(static_cast<std::size_t>(kind_.samples()), 0);
  for (std::size_t k = 0; k < active.size(); ++k) place_[static_cast<std::size_t>(active[k])] = static_cast<Index>(k);
  products_ = Matrix::Zero(count, w.size());
  parallel_for(count, team_for(static_cast<double>(count * kind_.sum_size()), threads), [&](Index k) {
    kind_.add_product(active[static_cast<std::size_t>(k)], 1.0, w.data(), w.size(), products_.row(k).data());
  });
}

void Curvature::prepare(const double* v) {
  v_ = v;
  if (!remembers()) kind_.prepare(w_.data(), v, w_.size(), plan_);
}

Batch Curvature::places(Batch batch, Index* room) const {
  for (int i = 0; i < batch.count; ++i) room[i] = place_[static_cast<std::size_t>(batch.id[i])];
  return {room, batch.count};
}

void Curvature::cross(Batch batch, double scale, double* out) const {
  if (!remembers()) return kind_.bilinear(batch, plan_, scale, out);
  double product[kMaxBatch];
  if (full()) {
    Index room[kMaxBatch];
    Rows(products_).dots(places(batch, room), v_, product);
    for (int i = 0; i < batch.count; ++i) out[i] += scale * product[i];
    return;
  }
  for_factor_rows(kind_, batch, [&](const FactorRows& rows, int count) {
    kind_.rows().dots({rows.k, count}, v_, product);
    for (int j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(rows.k[j]);
      image_[k] = product[j];
      out[rows.sample[j]] += scale * plan_.of_sample[k] * product[j];
    }
  });
}

void Curvature::weigh(Batch batch, const double* tau, const double* kappa, double* sum) const {
  if (!remembers()) return kind_.weigh(batch, plan_, tau, sum);
  if (full()) {
    Index room[kMaxBatch];
    return Rows(products_).add(places(batch, room), tau, sum);
  }
  for_factor_rows(kind_, batch, [&](const FactorRows& rows, int count) {
    double coefficient[kMaxBatch];
    for (int j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(rows.k[j]);
      coefficient[j] = tau[rows.sample[j]] * plan_.of_sample[k] + kappa[rows.sample[j]] * image_[k];
    }
    kind_.rows().add({rows.k, count}, coefficient, sum);
  });
}

void Curvature::finish(const double* sum, double scale, double* out) const {
  const Index n = w_.size();
  if (remembers())
    add_scaled(n, scale, sum, out);
  else
    kind_.finish(sum, w_.data(), n, scale, out);
  if (!kind_.by_factors()) kind_.finish(sum_.data(), v_, n, scale, out);
}

}  // namespace svmgsu
