// From decision values to classes: calibrated log-odds, coupled where they are of pairs, and the classes' shares.
#pragma once

#include <string>
#include <vector>

#include "svmgsu/models/calibration.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

// Of more than two classes: a hyperplane for each pair, in the order of coupling.hpp, or for each class
// against the rest.
enum class MultiClass { ovo, ovr };

// What a classifier knows beside its hyperplanes.
struct Classification {
  std::vector<Calibration> calibration;  // one for each decision value, or none
  Vector prior;                          // the classes' shares where the model is used; none: those of training
  Vector class_weight;                   // what `predict` multiplies the probabilities by, or none
  std::string label_type = "int";
  std::vector<std::string> labels = {"-1", "1"};  // none of a regression
  MultiClass multi_class = MultiClass::ovo;

  // How many hyperplanes there are: one for two classes or a regression, and one for each pair or each class of more.
  Index hyperplanes() const;

  // One probability for each class; they sum to one. `variance` holds wᵀΣw of the object for each decision value;
  // without it the object is taken as known exactly. `shares` of the classes are those where the object comes from, if
  // they are not `prior`.
  Vector probabilities(const Vector& decision, const Vector* variance = nullptr, const Vector* shares = nullptr) const;

  // What is compared, of several classes: their log-odds, or where there are no probabilities the votes of pairs, or
  // the plain decision values.
  Vector class_scores(const Vector& decision, const Vector* variance = nullptr) const;

  // The place in `labels` of the largest probability, times class_weight if there is one. Without probabilities: of two
  // classes by the sign, of more by the largest of `class_scores`.
  Index predict(const Vector& decision, const Vector* variance = nullptr) const;
};

}  // namespace svmgsu
