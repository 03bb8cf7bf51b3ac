// Data with fewer means and covariance factors than features.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engines/engine.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

struct Descent;

// Rows of means and factors together; −1 where a covariance has no factors. Isotropic ones have none, and do not count
// where they are `allowed`: no basis changes them.
Index rows_of_span(const Gaussians& data, bool isotropic_allowed);

struct SpanRows {
  Matrix rows;               // of each sample x − o and then its factors
  std::vector<Index> start;  // where those of a sample begin, and the end of the last
};
SpanRows gather_span(const Engine& objective);

// Solves in an orthonormal basis of the span, and says how good the point is for the objective itself, of which one
// pass is made. Nothing where the data are not in memory, have a covariance that the basis would change, are sparse,
// have few features or too many rows, and for the hinge, whose dual is solved by coordinate descent.
std::optional<Result> solve_in_span(const Engine& objective, const Options& options, const Monitor& monitor,
                                    const Vector* start_w, double start_b);

// Coordinate descent from the inner products of the rows (span_descent.cpp): for the hinge, with covariances of
// factors.
void descend_in_span(const Engine& objective, const std::function<bool(const Descent&)>& goes_on);

}  // namespace svmgsu
