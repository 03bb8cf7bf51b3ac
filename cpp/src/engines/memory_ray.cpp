// J along a ray in w, with b free, from what is kept of three points: O(ℓ) for each value.
#include "engines/memory_kept.hpp"

namespace svmgsu {

class MemoryRay final : public Ray {
 public:
  MemoryRay(const MemoryObjective& objective, const Evaluation& from, const Vector& p, double p_b, double epsilon)
      : objective_(objective),
        from_(from),
        step_b_(p_b),
        epsilon_(epsilon),
        w2_(from.w.squaredNorm()),
        wp_(from.w.dot(p)),
        p2_(p.squaredNorm()) {}

  // x·p, wᵀΣp and pᵀΣp of every example from the margins at w, w + p and w − p.
  void set(const MemoryKept& there, const std::vector<double>& variance_back) {
    const MemoryKept& here = objective_.kept(from_);
    const auto size = here.mean.size();
    mean_.resize(size);
    cross_.resize(size);
    square_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      mean_[i] = there.mean[i] - here.mean[i];
      cross_[i] = (there.variance[i] - variance_back[i]) / 4;
      square_[i] = std::max(0.0, (there.variance[i] + variance_back[i]) / 2 - here.variance[i]);
    }
  }

  Point at(double t, double beta) const override {
    const Targets& targets = objective_.targets();
    const double lambda = objective_.lambda(), share = 1.0 / static_cast<double>(objective_.examples());
    Point out;
    out.value = lambda / 2 * (w2_ + 2 * t * wp_ + t * t * p2_);
    out.t = lambda * (wp_ + t * p2_);
    out.t_t = lambda * p2_;
    out.beta_beta = 1e-12 * objective_.mean_weight();
    Residuals r;
    Bends bends;
    Targets::Room room;
    for (Index first = 0; first < objective_.examples(); first += kMaxBatch) {
      const int count = static_cast<int>(std::min<Index>(kMaxBatch, objective_.examples() - first));
      const Targets::Span of = targets.span(first, count, room);
      residuals(first, count, of, t, beta, r);
      r.evaluate(objective_.loss(), count);
      bends.set(objective_.loss(), count, r.d, r.s);
      for (int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(first + i);
        const double sign = of.sign[i], weight = share * of.weight[i];
        const double slope = -sign * (mean_[k] + step_b_), u = cross_[k] + t * square_[k];
        out.value += weight * r.loss[i];
        out.t += weight * (r.slope[i] * slope + r.curvature[i] * u);
        out.beta += weight * (-r.slope[i] * sign);
        if (r.curvature[i] == 0) continue;
        const double z = slope - bends.rho[i] * u, curve = weight * r.curvature[i];
        out.t_t += curve * (z * z + square_[k] - bends.gamma[i] * u * u);
        out.t_beta -= curve * sign * z;
        out.beta_beta += curve;
      }
    }
    return out;
  }

 private:
  void residuals(Index first, int count, const Targets::Span& of, double t, double beta, Residuals& r) const {
    const MemoryKept& here = objective_.kept(from_);
    const double extra = epsilon_ * epsilon_;
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(first + i);
      const double q = here.variance[k] + t * (2 * cross_[k] + t * square_[k]);
      r.d[i] = of.target[i] - of.sign[i] * (here.mean[k] + from_.b + t * (mean_[k] + step_b_) + beta);
      r.s[i] = std::sqrt(std::max(0.0, q) + extra);
    }
  }

  const MemoryObjective& objective_;
  const Evaluation& from_;
  double step_b_, epsilon_, w2_, wp_, p2_;
  std::vector<double> mean_, cross_, square_;
};

std::unique_ptr<Ray> MemoryObjective::ray(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                                          double epsilon) const {
  auto result = std::make_unique<MemoryRay>(*this, from, p, p_b, epsilon);
  const bool mirrored = from.w.squaredNorm() == 0;  // the variances at −p are those at p
  result->set(kept(there), mirrored ? kept(there).variance : margins(from.w - p).variance);
  return result;
}

}  // namespace svmgsu
