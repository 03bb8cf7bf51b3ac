#include "svmgsu/engines/objective.hpp"

#include <cmath>

namespace svmgsu {

Objective::Objective(std::shared_ptr<const Loss> loss, double lambda, int threads, bool intercept)
    : loss_(std::move(loss)), lambda_(lambda), threads_(threads), intercept_(intercept) {
  require(loss_ != nullptr, "loss: there is none");
  require(lambda > 0 && std::isfinite(lambda), "lambda: must be positive and finite, got " + std::to_string(lambda));
}

void Objective::require_point(const Vector& w) const {
  if (w.size() != features())
    require(false, "w: " + std::to_string(w.size()) + " numbers for " + std::to_string(features()) + " features");
}

Evaluation Objective::evaluate(const Vector& w, double b, double epsilon) const {
  Evaluation e;
  evaluate(w, b, epsilon, e);
  return e;
}

}  // namespace svmgsu
