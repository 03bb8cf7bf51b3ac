#include "svmgsu/solvers/solve.hpp"

#include "svmgsu/solvers/newton.hpp"
#include "svmgsu/solvers/sgd.hpp"

namespace svmgsu {

Result solve(const Objective& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
             double start_b) {
  if (options.solver == Solver::sgd) return solve_sgd(objective, options, monitor);
  return solve_newton(objective, options, monitor, start_w, start_b);
}

Result train(const Gaussians& data, const Options& options, const Monitor& monitor) {
  bool seen[2] = {false, false};
  for (Index i = 0; i < data.examples(); ++i) seen[data.label(i) > 0] = true;
  require(seen[0] && seen[1], "labels: one class only; training needs examples of both");
  return solve(Objective(data, options.lambda, options.threads, options.intercept), options, monitor);
}

}  // namespace svmgsu
