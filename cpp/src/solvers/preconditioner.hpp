// Solves with an estimate of the Hessian: dense and factored up to some features, a sketch of few rows beyond.
#pragma once

#include <cmath>
#include <memory>

#include "engines/hessian.hpp"

namespace svmgsu {

// A direction in (w, b).
struct Step {
  Vector w;
  double b = 0;
  double dot(const Step& other) const { return w.dot(other.w) + b * other.b; }
  double norm() const { return std::sqrt(dot(*this)); }
  void add(double factor, const Step& other) {
    w += factor * other.w;
    b += factor * other.b;
  }
};

// gram += RRᵀ, over a few columns of R at a time, which stay in the cache; polls between them.
void add_products(const Matrix& rows, int threads, Matrix& gram);

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  virtual Vector solve(const Vector& r) const = 0;
  virtual Vector times(const Vector& v) const = 0;
  Step solve(const Step& r) const;
  Step times(const Step& v) const;
};

// First come quasi-Newton steps, which make do with a poor estimate, at the beginning with its diagonal alone; then
// Newton's, which want many products without a good one.
enum class Phase { diagonal, first, newton };

// Whether there are too many features for a dense estimate of the Hessian.
bool sketches(const Engine& objective, Phase phase);

// Whether passes cost so much less than a factor that a method without one is the first to try.
bool suits_descent(const Engine& objective);

// What making the first one costs, in passes over the data, where so many samples are active.
double passes_of_factor(const Engine& objective, double active);

// Samples for a dense estimate: as many as cost about two passes, but 1.5 n to 6 n, or up to 80 n where there
// are many.
Index rows_for_dense(const Engine& objective);

// The estimate of the Hessian over (w, b), with a small penalty of b, which has none of its own; without an intercept,
// b is cut off.
std::unique_ptr<Preconditioner> make_preconditioner(const Engine& objective, const Hessian& hessian, double ridge_of_b,
                                                    std::uint64_t seed, Phase phase);

}  // namespace svmgsu
