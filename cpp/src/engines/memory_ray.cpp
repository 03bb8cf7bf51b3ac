#include "engines/memory_ray.hpp"

#include "engines/group_sums.hpp"

namespace svmgsu {

LineSums::LineSums(const MemoryObjective& objective, const Evaluation& from, const Vector& p)
    : objective_(objective), from_(from), w2_(from.w.squaredNorm()), wp_(from.w.dot(p)), p2_(p.squaredNorm()) {}

Ray::Point LineSums::sum_up(const std::vector<double>& groups, double t) const {
  const std::array<double, 6> total = total_of<6>(groups);
  const double lambda = objective_.lambda(), share = 1.0 / static_cast<double>(objective_.examples());
  Point out;
  out.value = lambda / 2 * (w2_ + 2 * t * wp_ + t * t * p2_) + share * total[0];
  out.t = lambda * (wp_ + t * p2_) + share * total[1];
  out.beta = share * total[2];
  out.t_t = lambda * p2_ + share * total[3];
  out.t_beta = share * total[4];
  out.beta_beta = 1e-12 * objective_.mean_weight() + share * total[5];
  return out;
}

// From the margins at w, w + p and w − p. The last are another pass over the data, unless they are known: where w = 0
// they are those at p, and where no example has a variance at w and at w + p, none has one on the line through both.
MemoryRay::MemoryRay(const MemoryObjective& objective, const Evaluation& from, const Evaluation& there, const Vector& p,
                     double p_b, double epsilon)
    : LineSums(objective, from, p), step_b_(p_b), epsilon_(epsilon) {
  const auto certain = [](const std::vector<double>& variance) {
    return std::all_of(variance.begin(), variance.end(), [](double v) { return v == 0; });
  };
  const std::vector<double>&after = objective.kept(there).variance, &before = objective.kept(from).variance;
  const bool known = from.w.squaredNorm() == 0 || (certain(after) && certain(before));
  const std::vector<double> read = known ? std::vector<double>() : objective.margins(from.w - p).variance;
  const std::vector<double>& back = known ? after : read;
  const MemoryKept &here = objective.kept(from), &other = objective.kept(there);
  const auto size = here.mean.size();
  mean_.resize(size);
  cross_.resize(size);
  square_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    mean_[i] = other.mean[i] - here.mean[i];
    cross_[i] = (other.variance[i] - back[i]) / 4;
    square_[i] = std::max(0.0, (other.variance[i] + back[i]) / 2 - here.variance[i]);
  }
}

std::vector<double> MemoryRay::sums(double t, double beta) const {
  return group_sums<6>(objective_.cuts(), objective_.threads(),
                       [&](Index first, int count, std::array<double, 6>& part) {
                         Residuals r;
                         Bends bends;
                         const Targets::View of(objective_.targets(), first, count);
                         residuals(first, count, of, t, beta, r);
                         r.evaluate(objective_.loss(), count);
                         bends.set(objective_.loss(), count, r.d, r.s);
                         for (int i = 0; i < count; ++i) {
                           const auto k = static_cast<std::size_t>(first + i);
                           const double sign = of.sign[i], weight = of.weight[i];
                           const double slope = -sign * (mean_[k] + step_b_), u = cross_[k] + t * square_[k];
                           part[0] += weight * r.loss[i];
                           part[1] += weight * (r.slope[i] * slope + r.curvature[i] * u);
                           part[2] += weight * (-r.slope[i] * sign);
                           if (r.curvature[i] == 0) continue;
                           const double z = slope - bends.rho[i] * u, curve = weight * r.curvature[i];
                           part[3] += curve * (z * z + square_[k] - bends.gamma[i] * u * u);
                           part[4] -= curve * sign * z;
                           part[5] += curve;
                         }
                       });
}

void MemoryRay::residuals(Index first, int count, const Targets::View& of, double t, double beta, Residuals& r) const {
  const MemoryKept& here = objective_.kept(from_);
  const double extra = epsilon_ * epsilon_;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(first + i);
    const double q = here.variance[k] + t * (2 * cross_[k] + t * square_[k]);
    r.d[i] = of.target[i] - of.sign[i] * (here.mean[k] + from_.b + t * (mean_[k] + step_b_) + beta);
    r.s[i] = std::sqrt(std::max(0.0, q) + extra);
  }
}

namespace {

// The same of examples whose numbers stay where they are.
class FarRay final : public LineSums {
 public:
  FarRay(const MemoryObjective& objective, const Remote& far, const Evaluation& from, const Evaluation& there,
         const Vector& p, double p_b, double epsilon)
      : LineSums(objective, from, p), far_(far), there_(there), p_(p), step_b_(p_b), epsilon_(epsilon) {}
  Point at(double t, double beta) const override {
    const Remote::Line line{
        {from_.w, from_.b, from_.epsilon}, {there_.w, there_.b, there_.epsilon}, p_, step_b_, epsilon_};
    return sum_up(far_.along(objective_, line, t, beta), t);
  }

 private:
  const Remote& far_;
  const Evaluation& there_;
  Vector p_;
  double step_b_, epsilon_;
};

}  // namespace

std::unique_ptr<Ray> MemoryObjective::ray(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                                          double epsilon) const {
  require_known(from, "from");
  require_known(there, "there");
  require(p.size() == features(),
          "p: " + std::to_string(p.size()) + " numbers for " + std::to_string(features()) + " features");
  if (const Remote* const far = keeper()) return std::make_unique<FarRay>(*this, *far, from, there, p, p_b, epsilon);
  return std::make_unique<MemoryRay>(*this, from, there, p, p_b, epsilon);
}

}  // namespace svmgsu
