// From decision values to classes: calibrated log-odds, coupled where they are of pairs, and the class priors.
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

// What a classifier knows beside its hyperplanes.
struct Classification {
  std::vector<Calibration> calibration;  // one for each decision value, or none
  Vector prior;                          // class priors where the model is used; none: those of training
  Vector class_weight;                   // what `predict` multiplies the probabilities by, or none
  std::string label_type = "int";
  std::vector<std::string> labels = {"-1", "1"};  // none of a regression
  MultiClass multi_class = MultiClass::ovo;

  // How many hyperplanes there are: one for two classes or a regression, and one for each pair or each class of more.
  Index hyperplanes() const;

  // One probability for each class; they sum to one. `variance` holds wᵀΣw of the sample for each decision value;
  // without it the sample is noise-free. `prior` has the class priors where the sample comes from, if
  // they are not `prior`.
  Vector probabilities(const Vector& decision, const Vector* variance = nullptr, const Vector* prior = nullptr) const;

  // What is compared, of several classes: their log-odds, or where there are no probabilities the votes of pairs, or
  // the plain decision values.
  Vector class_scores(const Vector& decision, const Vector* variance = nullptr) const;

  // The place in `labels` of the largest probability, times class_weight if there is one. Without probabilities: of two
  // classes by the sign, of more by the largest of `class_scores`.
  Index predict(const Vector& decision, const Vector* variance = nullptr) const;
};

// A caller of these provides count_pairs(classes) numbers as `pairs`, any but NaN, and room for one number a class.
inline Index count_pairs(Index classes) { return classes * (classes - 1) / 2; }

// The log-odds of each class from those of the pairs, z_ij = log(p_i/p_j):
//     d_i = -log Σ_{j≠i} exp(-z_ij),   p_i ∝ σ(d_i)
// (D. Price, S. Knerr, L. Personnaz, G. Dreyfus: Pairwise neural network classifiers with probabilistic
// outputs, NIPS 1994). Exact where the pairs agree with each other; at most one class has d_i > 0.
void couple(const double* pairs, Index classes, double* out);

// Without probabilities: how many pairs each class wins, plus its margins' sum squeezed into (-1/3, 1/3),
// which decides among equals, as scikit-learn does it.
void vote(const double* pairs, Index classes, double* out);

}  // namespace svmgsu
