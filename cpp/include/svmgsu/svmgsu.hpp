// The one include of an application that embeds the library; link the CMake target svmgsu::svmgsu.
#pragma once

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/data/subspace.hpp"
#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"
#include "svmgsu/kinds/covariance.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/maps/maps.hpp"
#include "svmgsu/models/calibration.hpp"
#include "svmgsu/models/classification.hpp"
#include "svmgsu/models/fit.hpp"
#include "svmgsu/models/model.hpp"
#include "svmgsu/population/deconvolution.hpp"
#include "svmgsu/solvers/solve.hpp"
#include "svmgsu/support/types.hpp"
#include "svmgsu/text/io.hpp"
