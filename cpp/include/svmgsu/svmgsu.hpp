// The one include of an application that embeds the library; link the CMake target svmgsu::svmgsu.
#pragma once

#include "svmgsu/calibration.hpp"
#include "svmgsu/covariance.hpp"
#include "svmgsu/expected_hinge.hpp"
#include "svmgsu/gaussians.hpp"
#include "svmgsu/hessian.hpp"
#include "svmgsu/model.hpp"
#include "svmgsu/objective.hpp"
#include "svmgsu/platt.hpp"
#include "svmgsu/solve.hpp"
#include "svmgsu/subspace.hpp"
#include "svmgsu/text_io.hpp"
#include "svmgsu/types.hpp"
