#include "solvers/line_search.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

namespace svmgsu {
namespace {

// Damped Newton in both: t is scarce where b is far off.
RayStep refine(const Ray& ray, RayStep x) {
  Ray::Point now = ray.at(x.t, x.beta);
  for (int k = 0; k < 20; ++k) {
    Eigen::Matrix2d hessian;
    hessian << now.t_t, now.t_beta, now.t_beta, now.beta_beta;
    const Eigen::Vector2d gradient(now.t, now.beta), step = -hessian.ldlt().solve(gradient);
    const double gain = -gradient.dot(step);
    if (!(gain > 1e-12 * std::abs(now.value))) break;
    double scale = 1;
    Ray::Point next = ray.at(x.t + step(0), x.beta + step(1));
    while (!(next.value <= now.value - 1e-4 * scale * gain) && scale > 1e-6) {
      scale *= 0.3;
      next = ray.at(x.t + scale * step(0), x.beta + scale * step(1));
    }
    if (scale <= 1e-6) break;
    x.t += scale * step(0);
    x.beta += scale * step(1);
    now = next;
  }
  return x;
}

}  // namespace

RayStep line_search(const Ray& ray, bool intercept) {
  const Ray::Point here = ray.at(0, 0);
  // First t alone: Newton on the slope inside a bracket that grows until the slope has turned.
  double low = 0, high = std::numeric_limits<double>::infinity(), t = 1;
  for (int k = 0; k < 60; ++k) {
    const Ray::Point point = ray.at(t, 0);
    if (std::abs(point.t) <= 1e-2 * std::abs(here.t) && point.value <= here.value) break;
    (point.t > 0 ? high : low) = t;
    const double newton = t - point.t / point.t_t;
    if (high == std::numeric_limits<double>::infinity()) {
      t = newton > t ? std::min(newton, 4 * t) : 2 * t;
    } else {
      t = newton > low && newton < high ? newton : (low + high) / 2;
    }
  }
  return intercept ? refine(ray, {t, 0}) : RayStep{t, 0};
}

}  // namespace svmgsu
