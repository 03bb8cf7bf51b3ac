// Training in one call: labels or targets in, a Model out.
//
//     const svmgsu::Gaussians data = svmgsu::Gaussians(x.data(), rows, columns).with_std(errors.data());
//     svmgsu::Options options;
//     options.lambda = 1e-2;
//     options.loss = "logistic";
//     const svmgsu::Model model = svmgsu::fit(data, labels, options);
//
// Labels are strings or numbers of two or more classes; a loss for regression makes targets of numbers. What cannot be
// learnt from is an InvalidArgument that names the argument.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "svmgsu/models/model.hpp"
#include "svmgsu/solvers/solve.hpp"

namespace svmgsu {

// How probabilities are made: from the scores of samples held out in five folds (fewer where a class is small), from
// the training scores, or not at all. A model of the logistic loss has its own, which `automatic` takes.
enum class Probabilities { automatic, held_out, training, none };

struct FitOptions : Options {
  FitOptions() = default;
  FitOptions(const Options& options) : Options(options) {}  // NOLINT: they are some of them

  double cov_scale = 1;  // a factor of all covariances in training
  // Where not empty, the best of these λ and factors is taken: by accuracy (of a regression by the squared error)
  // expected of samples held out in five folds, with their covariances.
  std::vector<double> lambdas, cov_scales;
  MultiClass multi_class = MultiClass::ovo;
  Probabilities probabilities = Probabilities::automatic;
  std::vector<double> weights;                 // of the samples, relative; empty: all 1
  std::vector<double> target_std;              // standard errors of a regression's targets; empty: none
  std::map<std::string, double> class_weight;  // factors by label; 1 for those that are not named
  bool balanced = false;                       // factors that give all classes the same sum of weights
  std::vector<Index> groups;                   // of samples that are held out together; empty: none are
  std::vector<std::string> names;              // of the features
};

// Labels of any type; strings are sorted as text, numbers by value. `monitor` hears of the subproblems on all samples
// and may stop them; of several classes from several threads. With options.max_seconds the best points so far are kept,
// and probabilities are made of what was done in time.
Model fit(const Gaussians& data, const std::vector<std::string>& labels, const FitOptions& options = {},
          const Monitor& monitor = {});
Model fit(const Gaussians& data, const std::vector<int>& labels, const FitOptions& options = {},
          const Monitor& monitor = {});
// Soft labels: a row of class probabilities for each sample, which sum to 1, with a column for each of `classes`. A
// sample counts for each class with that weight, and is held out as a whole.
Model fit(const Gaussians& data, const Matrix& probabilities, const std::vector<std::string>& classes,
          const FitOptions& options = {}, const Monitor& monitor = {});
// Labels, or the targets of a regression if options.loss is for one.
Model fit(const Gaussians& data, const std::vector<double>& labels, const FitOptions& options = {},
          const Monitor& monitor = {});

// For options.lambdas: ten from 10 down to 1e-4, which Python's lam="auto" tries.
std::vector<double> lambda_grid();

}  // namespace svmgsu
