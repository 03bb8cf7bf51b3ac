// Data with fewer means and covariance factors than features: the same problem in an orthonormal basis of their span.
#pragma once

#include <optional>

#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

// Solves in the span, and says how good the point is for the objective itself, of which one pass is made. Nothing where
// the data are not in memory, have a covariance that the basis would change, are sparse, have few features or too many
// rows, and for the hinge, whose dual is solved by coordinate descent (dual_descent.cpp, span_descent.cpp).
std::optional<Result> solve_in_span(const Objective& objective, const Options& options, const Monitor& monitor,
                                    const Vector* start_w, double start_b);

}  // namespace svmgsu
