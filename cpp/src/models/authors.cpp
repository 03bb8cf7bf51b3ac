// The authors' own model files, of gsvm-train: linear models of the labels -1 and +1 with a sigmoid.
#include <set>
#include <sstream>

#include "models/lines.hpp"

namespace svmgsu {
namespace {

// What the authors' program writes; nothing for -d 3.
bool is_cov_mat_type(const std::string& text) {
  return text.empty() || text == "full" || text == "diagonal" || text == "isotropic";
}

}  // namespace

void write_authors_lines(const Model& model, std::ostream& out) {
  require(model.task == Task::classification,
          "format: gsvm files hold classifiers, and this model is a regression; save it as svmgsu");
  require(model.labels.size() == 2, "format: gsvm files hold two classes, and this model has " +
                                        std::to_string(model.labels.size()) + "; save it as svmgsu");
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string& label = model.labels[k];
    require(label == (k ? "1" : "-1") || (k && label == "+1"),
            "format: gsvm files hold the labels -1 and +1, and this model has '" + label + "'; save it as svmgsu");
  }
  require(!model.calibration.empty(),
          "format: gsvm files hold the sigmoid of the probabilities, and this model was trained without");
  require(is_cov_mat_type(model.cov_mat_type), "cov_mat_type: full, diagonal, isotropic or nothing is wanted");
  const Platt platt = model.calibration[0].platt();
  out << kAuthorsMagic << " Model_File\nkernel_type linear\nlambda " << model.lambda << "\nsigmA " << platt.a
      << "\nsigmB " << platt.b << "\ncov_mat_type " << model.cov_mat_type << "\nw";
  for (const double weight : model.w.row(0)) out << ' ' << weight;
  out << "\nb " << model.b(0) << '\n';
}

Model read_authors_lines(Lines& lines) {
  Model model;
  model.calibration.resize(1);
  model.b.resize(1);
  Platt platt;
  std::set<std::string> seen;
  while (!seen.count("b")) {
    auto words = lines.next();
    std::string key, text;
    words >> key;
    if (!seen.insert(key).second) lines.fail("'" + key + "' is there twice");
    if (key == "kernel_type") {
      words >> text;
      if (text != "linear") lines.fail("a model with kernel '" + text + "'; only linear ones are supported");
    } else if (key == "lambda") {
      model.lambda = lines.above_zero(words, "lambda");
    } else if (key == "sigmA") {
      platt.a = lines.number(words, "sigmA");
    } else if (key == "sigmB") {
      platt.b = lines.number(words, "sigmB");
    } else if (key == "cov_mat_type") {
      model.cov_mat_type.clear();
      words >> model.cov_mat_type;
      if (!is_cov_mat_type(model.cov_mat_type))
        lines.fail("cov_mat_type: expected full, diagonal, isotropic or nothing");
    } else if (key == "w") {
      const std::vector<double> values = lines.numbers(words, "a weight");
      if (values.empty()) lines.fail("w: there are no weights");
      model.w = Eigen::Map<const EigenMatrix>(values.data(), 1, static_cast<Index>(values.size()));
    } else if (key == "b") {
      model.b(0) = lines.number(words, "b");
    } else {
      lines.fail("unknown item '" + key + "'");
    }
    lines.ends(words);
  }
  for (const char* key : {"kernel_type", "lambda", "sigmA", "sigmB", "w"})
    if (!seen.count(key)) lines.fail("kernel_type, lambda, sigmA, sigmB and w must come before b");
  if (!lines.last_ended()) lines.fail("the file ends in the middle of a line; its last number may be cut off");
  if (!lines.finished()) lines.fail("there is more after 'b'");
  model.calibration[0] = Calibration(platt);
  return model;
}

}  // namespace svmgsu
