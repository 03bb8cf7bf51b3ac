// A trained linear classifier or regression on its own: decision values, probabilities, and text files.
//
// The file is plain text, numbers with 17 digits (they come back exactly): a line `key value ...` for each item,
// in any order, then the weights. There is one decision value for two classes; of more there is one for each pair
// of classes, or one for each class against the rest:
//     svmgsu-model 3
//     labels <type> <label> <label> ...          of two, negative and positive
//     multi_class ovo|ovr                        of more than two classes: pairs, or against the rest (if not there)
//     lambda <number>
//     loss <name> [<parameter>]                  that it was trained with, if it is not the hinge
//     calibration <a> <b> <kappa> <base>         one line for each decision value, if there are probabilities
//     prior <share> ...                          of each class where the model is used, if it was stated
//     class_weight <factor> ...                  of each class in `predict`, if there are any
//     features <n>
//     names <name> ...                           of the features, n of them, where they are known; UTF-8
//     intercept <b> ...                          one number for each decision value
//     weights, then n lines of one number for each decision value, then: end
// A regression has one value and the lines
//     task regression                            instead of labels, multi_class, calibration, prior and class_weight
//     loss <name> [<parameter>]                  if it is not the squared one
//     scatter <number>                           of the targets around its values, if it is known
// In labels and names blanks, control characters and % are written %XX, and nothing at all is %. A key that is
// not known or comes twice is refused, so that what a later version adds is one more key.
//
// The authors' own files (gsvm-train) are read too, and written on request: linear models of the labels
// -1 and +1, with the sigmoid 1/(1 + exp(sigmA f + sigmB)).
#pragma once

#include <iosfwd>
#include <limits>
#include <string>
#include <vector>

#include "svmgsu/data/gaussians.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/models/classification.hpp"

namespace svmgsu {

struct Planes;

enum class ModelFormat { svmgsu, gsvm };

// A regression's values, and their deviations √(wᵀΣw): what the uncertainty of the samples makes of them.
struct Estimates {
  Vector value, std;
};

// A rule w·x + b with the names of the features, its task, and of a classifier what Classification adds.
struct Model : Classification {
  Matrix w;  // one row for each decision value
  Vector b;
  std::vector<std::string> names;  // of the features, in the order of the weights; or none
  Task task = Task::classification;
  double lambda = 0;
  // By which it was trained: a name of losses/loss.hpp, and its parameter, NaN for the default.
  std::string loss = "hinge";
  double loss_parameter = std::numeric_limits<double>::quiet_NaN();
  double scatter = std::numeric_limits<double>::quiet_NaN();  // of a regression's targets around its values, or NaN
  // Of a model that `fit` has trained, and not in files: the objective, a proven bound of its distance to the optimum
  // (of several classes the sums over all subproblems), the most iterations, and the worst word of status_of.
  double objective = std::numeric_limits<double>::quiet_NaN();
  double gap = std::numeric_limits<double>::quiet_NaN();
  Index iterations = 0;
  std::string status;
  // The covariances of training: full, diagonal, isotropic or nothing. In the authors' files alone.
  std::string cov_mat_type = "full";

  Model() = default;
  // Of two classes, -1 and 1, trained with a loss of losses/loss.hpp.
  Model(const Vector& weights, double intercept, double lambda_, const std::string& loss_);
  static Model regression(const Vector& weights, double intercept, double lambda, const std::string& loss = "squared");

  // One row for each sample and one value for each row of w. The same bits whatever other samples are there, for any
  // number of threads, and in Python.
  Matrix decisions(const Gaussians& data, int threads = 0) const;
  // One probability for each class; they sum to one. Samples without covariances are noise-free. `prior` has the class
  // priors where the samples come from, if they are not the model's: one row for all samples, or one for each.
  Matrix probabilities(const Gaussians& data, const Matrix* prior = nullptr, int threads = 0) const;
  // The place in `labels` of the largest probability, times class_weight if there is one. Without probabilities: of two
  // classes by the sign, of more by the votes of pairs or the largest value.
  std::vector<Index> predict(const Gaussians& data, int threads = 0) const;
  Estimates estimate(const Gaussians& data, int threads = 0) const;
  Planes planes() const;  // for the library's own loops

  // The columns of `rows`, which are called `columns`, in the order of the model's features. Names that are
  // missing or unknown are refused and listed.
  Matrix in_order(const Matrix& rows, const std::vector<std::string>& columns) const;

  // The file appears at once: a reader never sees half a model.
  void save(const std::string& path, ModelFormat format = ModelFormat::svmgsu) const;
  void write(std::ostream& out, ModelFormat format = ModelFormat::svmgsu) const;
  // Refuses files that are not models, are damaged, or of a newer version, saying which line and why.
  static Model load(const std::string& path);
  // The same from a stream, which messages call `name`.
  static Model read(std::istream& file, const std::string& name);
};

// For each of the `wanted` features its place among the `given` ones, by name. Refuses names that are missing,
// unknown or there twice, and lists them.
std::vector<Index> match_names(const std::vector<std::string>& wanted, const std::vector<std::string>& given);

}  // namespace svmgsu
