// A trained linear classifier on its own: decision values, probabilities, and a text file.
//
// The file is plain text, one item a line, numbers with 17 digits (they come back exactly):
//     svmgsu-model 1
//     labels <type> <negative> <positive>        text with %XX for blanks
//     lambda <number>
//     platt <A> <B>                              only if probabilities were fitted
//     features <n>
//     intercept <b>
//     weights, then n lines, then: end
#pragma once

#include <array>
#include <optional>
#include <string>

#include "svmgsu/means.hpp"
#include "svmgsu/platt.hpp"
#include "svmgsu/types.hpp"

namespace svmgsu {

struct Model {
  Vector w;
  double b = 0;
  double lambda = 0;
  std::optional<Platt> platt;
  std::string label_type = "int";
  std::array<std::string, 2> labels = {"-1", "1"};  // of negative and positive decision values

  double decision(const Eigen::Ref<const Vector>& x) const { return w.dot(x) + b; }

  // Writes beside the file and renames, so that a reader never sees half a model.
  void save(const std::string& path) const;
  // Refuses files that are not models, are damaged, or of a newer version, saying which line and why.
  static Model load(const std::string& path);
};

// w·x_i + b for all examples, the same bits for any number of threads.
std::vector<double> decision_values(const Means& means, const Vector& w, double b, int threads = 0);

// A file that cannot be read or written, or is not what it should be.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace svmgsu
