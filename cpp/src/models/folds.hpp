// How samples are dealt out to folds, for probabilities and for the choice of λ.
#pragma once

#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

constexpr Index kMostFolds = 5;

// The fold of each sample, −1 of those without weight; empty where a class cannot be divided in two. There are five, or
// fewer where a class is small. `codes` are the classes, from 0; `weights` are as many.
//
// By keys: each class is dealt out in the order of its keys, equal ones to the same fold. So the folds depend neither
// on the order of the samples nor on whether one is there twice or has weight 2.
std::vector<Index> folds_by_key(const std::vector<double>& keys, const std::vector<Index>& codes, Index classes,
                                const std::vector<double>& weights);
// By groups, which stay whole, in as many folds as leave samples of every class to train on. The largest group comes
// first, each to the fold that has least of its classes.
std::vector<Index> folds_of_groups(const std::vector<Index>& groups, const std::vector<Index>& codes, Index classes,
                                   const std::vector<double>& weights);

}  // namespace svmgsu
