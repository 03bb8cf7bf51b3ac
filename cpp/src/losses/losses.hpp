// The losses that the table in losses.cpp lists, one file each.
#pragma once

#include "svmgsu/losses/loss.hpp"

namespace svmgsu {

std::shared_ptr<const Loss> make_hinge(double parameter);

}  // namespace svmgsu
