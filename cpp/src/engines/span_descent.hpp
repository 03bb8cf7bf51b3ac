// Coordinate descent in the dual problem of the expected hinge where means and covariance factors together are fewer
// than the features.
#pragma once

#include <functional>

#include "engines/source.hpp"
#include "svmgsu/engines/memory.hpp"

namespace svmgsu {

// Whether all covariances are known by factors, and means and factors together are fewer than the features.
bool is_wide(const Gaussians& data);

// Runs as long as `goes_on` says. The data must be wide, and the loss the hinge.
void descend_in_span(const MemoryObjective& objective, const std::function<bool(const Objective::Descent&)>& goes_on);

}  // namespace svmgsu
