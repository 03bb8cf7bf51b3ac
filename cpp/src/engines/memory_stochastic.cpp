// Gradients of a few examples, for stochastic steps.
#include "engines/memory_kept.hpp"

namespace svmgsu {

double MemoryObjective::sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                                        double& gb) const {
  require_point(w);
  for (const Index i : sample)
    if (i < 0 || i >= examples()) require(false, "sample: " + std::to_string(i) + " is not an example");
  thread_local std::vector<Plan> plans;
  thread_local std::vector<Index> ids;
  if (!source_->whole())
    require(false, "solver sgd: it draws examples by chance, so all must be in memory; use newton");
  const Gaussians& data = *source_->whole();
  const auto& covariance = data.covariance();
  ids.resize(sample.size());
  const double origin = shift(w), numbers = source_->numbers();
  for (std::size_t i = 0; i < sample.size(); ++i) ids[i] = data.ids()[static_cast<std::size_t>(sample[i])];
  const auto count_of_all = static_cast<Index>(ids.size());
  const double sums = data.sum_size();
  const Cuts cuts(count_of_all, block_size(data, numbers, count_of_all, sums), sums);
  const Piece piece{data, ids, 0};
  Local total;
  sweep<Adds::together>(
      Visit{[&](const auto& use) { use(piece); }, cuts, numbers, nullptr, threads(), nullptr},
      [&](const Piece&) { return PointForms(data, w, plans); },
      [&](Places places, int count, const double* dot, const double* form, double* coefficient, double* kappa, char*,
          Local& local) {
        double mean[kMaxBatch], variance[kMaxBatch];
        Residuals r;
        const Targets::View of(targets(), &sample[static_cast<std::size_t>(places.first)], count);
        for (int i = 0; i < count; ++i) {
          mean[i] = dot[i] - origin;
          variance[i] = std::max(0.0, form[i]);
        }
        r.set(count, of, mean, variance, b, 0.0);
        r.evaluate(loss(), count);
        for (int i = 0; i < count; ++i) {
          const double weight = of.weight[i];
          coefficient[i] = weight * of.sign[i] * r.slope[i];
          kappa[i] = weight * r.curvature[i];
          local.of[0].mass += coefficient[i];
          local.loss += weight;
        }
      },
      &total);
  const double share = 1.0 / static_cast<double>(sample.size());
  gw = -share * total.of[0].x;
  for (std::size_t t = 0; t < covariance.size(); ++t)
    covariance[t].kind.finish(total.of[0].terms[t].data(), w.data(), features(), share * covariance[t].scale,
                              gw.data());
  gb = -share * total.of[0].mass;
  if (origin_.size()) gw -= gb * origin_;
  return total.loss;
}

}  // namespace svmgsu
