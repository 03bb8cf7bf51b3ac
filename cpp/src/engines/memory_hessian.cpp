// Hessian products.
#include "engines/memory_hessian.hpp"

namespace svmgsu {

MemoryHessian::MemoryHessian(const MemoryObjective& objective, const Evaluation& at, double negligible)
    : objective_(objective), w_(at.w), epsilon_(at.epsilon), sums_(kept(at).sums) {
  const Gaussians& data = objective.data();
  const Targets& targets = objective.targets();
  const MemoryKept& known = kept(at);
  double largest = 0;
  for (Index i = 0; i < data.examples(); ++i)
    largest = std::max(largest, targets.weight(i) * known.curvature[static_cast<std::size_t>(i)]);
  for (Index i = 0; i < data.examples(); ++i) {
    const double kappa = targets.weight(i) * known.curvature[static_cast<std::size_t>(i)];
    if (!(kappa > negligible * largest)) continue;
    positions_.push_back(i);
    ids_.push_back(data.ids()[static_cast<std::size_t>(i)]);
    sign_.push_back(targets.sign(i));
    kappa_.push_back(kappa);
  }
  rho_.resize(ids_.size());
  gamma_.resize(ids_.size());
  for (std::size_t first = 0; first < ids_.size(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<std::size_t>(kMaxBatch, ids_.size() - first));
    double target[kMaxBatch], mean[kMaxBatch], variance[kMaxBatch];
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(positions_[first + static_cast<std::size_t>(i)]);
      target[i] = targets.targets()[k];
      mean[i] = known.mean[k];
      variance[i] = known.variance[k];
    }
    Residuals r;
    Bends bends;
    r.set(count, &sign_[first], target, mean, variance, at.b, at.epsilon);
    bends.set(objective.loss(), count, r.d, r.s);
    std::copy_n(bends.rho, count, &rho_[first]);
    std::copy_n(bends.gamma, count, &gamma_[first]);
  }
  const auto& terms = data.covariance();
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms_.push_back(terms[t].kind->curvature(at.w, known.plans[t], known.sums[t], ids_, objective.threads()));
  last_.resize(ids_.size());
  along_.assign(ids_.size(), 0.0);
}

// The forms of a product with v: v·x_i and wᵀΣ_iv.
class MemoryHessian::Forms {
 public:
  Forms(const MemoryHessian& of, const Vector& v) : of_(of), v_(v) {
    for (const auto& term : of.terms_) term->prepare(v.data());
  }
  const double* direction() const { return v_.data(); }
  std::size_t terms() const { return of_.terms_.size(); }
  Index sum_size(std::size_t t) const { return of_.terms_[t]->sum_size(); }
  RowPair pair() const {
    const Gaussians& data = of_.objective_.data();
    if (!data.paired()) return {};
    const Curvature& first = *of_.terms_[0];
    return RowPair(data.means().rows(), first.like_means(), data.features(), v_.data(), first.weights());
  }
  void bilinear(std::size_t t, Batch part, double scale, double* out) const { of_.terms_[t]->cross(part, scale, out); }
  void weigh(std::size_t t, Batch part, Index place, const double* tau, double* sum) const {
    of_.terms_[t]->weigh(part, tau, &of_.kappa_[static_cast<std::size_t>(place)], sum);
  }

 private:
  const MemoryHessian& of_;
  const Vector& v_;
};

template <class Link>
void MemoryHessian::add_up(const Vector& v, Link link, Vector& out, double& out_b) {
  const Gaussians& data = objective_.data();
  const Vector& origin = objective_.origin();
  const double shift = origin.size() ? origin.dot(v) : 0.0;
  Local total;
  sweep<Adds::together>(
      Visit{data, ids_, nullptr, objective_.threads()}, Forms(*this, v),
      [&](Places places, int count, const double* xv, const double* uv, double* coefficient, double* tau, char*,
          Local& local) {
        const auto first = static_cast<std::size_t>(places.first);
        std::copy_n(uv, count, &last_[first]);
        for (int i = 0; i < count; ++i) {
          link(first + static_cast<std::size_t>(i), xv[i] - shift, uv[i], coefficient[i], tau[i]);
          local.of[0].mass += coefficient[i];
        }
      },
      &total);
  const double share = 1.0 / static_cast<double>(data.examples());
  out = share * total.of[0].x;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t]->finish(total.of[0].terms[t].data(), share * data.covariance()[t].scale, out.data());
  out_b = share * total.of[0].mass;
  if (origin.size()) out -= out_b * origin;
}

void MemoryHessian::times(const Vector& v, double vb, Vector& out, double& out_b) {
  add_up(
      v,
      [&](std::size_t j, double xv, double uv, double& coefficient, double& tau) {
        const double alpha = sign_[j] * (xv + vb) + rho_[j] * uv;
        coefficient = kappa_[j] * alpha * sign_[j];
        tau = kappa_[j] * (alpha * rho_[j] - uv * gamma_[j]);
      },
      out, out_b);
  out += objective_.lambda() * v;
}

// Example i adds ε[−σL‴(x; 1) + L⁗(u; 0)].
void MemoryHessian::smoothing_derivative(Vector& out, double& out_b) {
  const Vector none = Vector::Zero(w_.size());
  add_up(
      none,
      [&](std::size_t j, double, double, double& coefficient, double& tau) {
        coefficient = kappa_[j] * epsilon_ * rho_[j] * sign_[j];
        tau = kappa_[j] * epsilon_ * (rho_[j] * rho_[j] - gamma_[j]);
      },
      out, out_b);
}

void MemoryHessian::follow(double alpha) {
  for (std::size_t i = 0; i < last_.size(); ++i) along_[i] += alpha * last_[i];
}

// All from numbers that are known already, since only active examples have L″ > 0.
double MemoryHessian::slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                            double epsilon) const {
  const Targets& targets = objective_.targets();
  const MemoryKept &before = kept(from), &after = kept(there);
  double sum = 0;
  std::size_t next = 0;
  Residuals r;
  for (Index first = 0; first < objective_.examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, objective_.examples() - first));
    r.set(count, targets.signs() + first, targets.targets() + first, &before.mean[static_cast<std::size_t>(first)],
          &before.variance[static_cast<std::size_t>(first)], from.b, epsilon);
    r.evaluate(objective_.loss(), count);
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(first + i);
      double cross = 0;
      if (next < positions_.size() && positions_[next] == first + i) cross = along_[next++];
      const double mean = after.mean[k] - before.mean[k] + p_b;
      sum += targets.weight(first + i) * (r.curvature[i] * cross - targets.sign(first + i) * r.slope[i] * mean);
    }
  }
  return objective_.lambda() * from.w.dot(p) + sum / static_cast<double>(objective_.examples());
}

std::unique_ptr<Hessian> MemoryObjective::hessian(const Evaluation& at, double negligible) const {
  return std::make_unique<MemoryHessian>(*this, at, negligible);
}

}  // namespace svmgsu
