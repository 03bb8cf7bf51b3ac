// The one include of an application that embeds the library; link the CMake target svmgsu::svmgsu.
#pragma once

#include "svmgsu/data/check.hpp"
#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/data/subspace.hpp"
#include "svmgsu/engines/hessian.hpp"
#include "svmgsu/engines/objective.hpp"
#include "svmgsu/kinds/covariance.hpp"
#include "svmgsu/losses/expected_hinge.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/models/calibration.hpp"
#include "svmgsu/models/model.hpp"
#include "svmgsu/models/platt.hpp"
#include "svmgsu/solvers/solve.hpp"
#include "svmgsu/support/types.hpp"
#include "svmgsu/text/io.hpp"
