// What a classifier knows beside its hyperplanes: labels, calibrations and class priors.
//
// K classes have K(K-1)/2 pairs, in the order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ...; a value of the pair (i, j) is
// positive for class j.
#pragma once

#include <string>
#include <vector>

#include "svmgsu/models/calibration.hpp"
#include "svmgsu/support/dense.hpp"

namespace svmgsu {

// More than two classes have a hyperplane for each pair, or for each class against the rest.
enum class MultiClass { ovo, ovr };

struct Classification {
  std::vector<Calibration> calibration;  // one for each decision value, or none
  Vector prior;                          // class priors where the model is used; none: those of training
  Vector class_weight;                   // what `predict` multiplies the probabilities by, or none
  std::string label_type = "int";
  std::vector<std::string> labels = {"-1", "1"};  // none of a regression
  MultiClass multi_class = MultiClass::ovo;

  // How many hyperplanes there are: one for two classes or a regression, and one for each pair or each class of more.
  Index hyperplanes() const;
};

}  // namespace svmgsu
