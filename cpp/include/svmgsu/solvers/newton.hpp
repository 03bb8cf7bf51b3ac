#pragma once

#include "svmgsu/solve.hpp"

namespace svmgsu {

Result solve_newton(const Objective& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
                    double start_b);

}  // namespace svmgsu
