// Classes from the decision values of one sample at a time, as arrays; what does not depend on the sample is kept.
#pragma once

#include <vector>

#include "svmgsu/models/classification.hpp"

namespace svmgsu {

class Decider {
 public:
  explicit Decider(const Classification& task);

  Index classes() const { return classes_; }
  Index values() const { return values_; }

  // `f` and `v` (null: noise-free) have one number for each hyperplane, `out` gets one for each class.
  void scores(const double* f, const double* v, double* out) const;
  // `prior` (null: those of the model) has one number > 0 for each class.
  void probabilities(const double* f, const double* v, const double* prior, double* out) const;
  Index predict(const double* f, const double* v) const;

 private:
  void log_odds(const double* f, const double* v, double* out) const;

  const Classification& task_;
  Index classes_, values_;
  std::vector<double> log_priors_;  // of training
};

}  // namespace svmgsu
