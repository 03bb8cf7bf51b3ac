// Every kind of covariance, and their sums.
#pragma once

#include "svmgsu/kinds/covariance.hpp"
#include "svmgsu/kinds/diagonal.hpp"
#include "svmgsu/kinds/full.hpp"
#include "svmgsu/kinds/isotropic.hpp"
#include "svmgsu/kinds/low_rank.hpp"
#include "svmgsu/kinds/packing.hpp"
#include "svmgsu/kinds/shared.hpp"
#include "svmgsu/kinds/sum.hpp"
