// Model files, ours and the authors': the formats are described in model.hpp.
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <locale>
#include <set>
#include <sstream>
#include <unordered_set>

#include "support/output.hpp"
#include "svmgsu/models/model.hpp"

namespace svmgsu {
namespace {

constexpr const char* kMagic = "svmgsu-model";
constexpr const char* kAuthorsMagic = "SVM-GSU";
constexpr int kVersion = 3;
constexpr Index kMostFeatures = Index{1} << 40;

// Text as one word: %XX for blanks, control characters and %, and % alone for nothing.
std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto code_point = static_cast<unsigned char>(c);
    if (code_point > ' ' && c != '%' && code_point != 127) {
      out += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(code_point));
      out += code;
    }
  }
  return out.empty() ? "%" : out;
}

// Whether bytes are UTF-8: no stray or missing continuation, nothing overlong, no surrogates.
bool is_utf8(const std::string& text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  while (p < end) {
    const unsigned lead = *p++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - p < more) return false;
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (*p < low || *p > high) return false;
    for (int k = 1; k < more; ++k)
      if ((p[k] & 0xC0) != 0x80) return false;
    p += more;
  }
  return true;
}

// What is wrong with the names of features, or nothing.
std::string trouble_with_names(const std::vector<std::string>& names) {
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    if (!is_utf8(name)) return "names: name " + std::to_string(seen.size() + 1) + " is not UTF-8";
    if (!seen.insert(name).second) return "names: '" + escape(name) + "' is there twice";
  }
  return "";
}

// What does not fit together in a model of so many features, or nothing. Numbers themselves are checked where they are
// read or written.
std::string trouble_with(const Model& model, Index features) {
  const auto counted = [](std::size_t found, const std::string& what, std::size_t wanted, const std::string& of) {
    return ": " + std::to_string(found) + what + " for " + std::to_string(wanted) + of;
  };
  const auto values = static_cast<std::size_t>(model.hyperplanes()), classes = model.labels.size();
  const bool regression = model.task == Task::regression;
  if (regression && classes > 0) return "labels: a regression has none";
  if (regression && !model.calibration.empty()) return "calibration: a regression has none";
  if (!regression && classes < 2) return "labels: at least two are wanted";
  if (!regression && !std::isnan(model.scatter)) return "scatter: a classifier has none";
  if (static_cast<std::size_t>(model.b.size()) != values)
    return "intercept" + counted(static_cast<std::size_t>(model.b.size()), " numbers", values, " decision values");
  if (!model.calibration.empty() && model.calibration.size() != values)
    return "calibration" + counted(model.calibration.size(), " lines", values, " decision values");
  for (const Vector* each : {&model.prior, &model.class_weight}) {
    const std::string name = each == &model.prior ? "prior" : "class_weight";
    if (each->size() && regression) return name + ": a regression has none";
    if (each->size() && static_cast<std::size_t>(each->size()) != classes)
      return name + counted(static_cast<std::size_t>(each->size()), " numbers", classes, " classes");
  }
  if (!model.names.empty() && static_cast<Index>(model.names.size()) != features)
    return "names" + counted(model.names.size(), "", static_cast<std::size_t>(features), " features");
  return "";
}

// The loss of a model, checked; `parameter` is NaN for its default.
std::shared_ptr<const Loss> loss_for(Task task, const std::string& name, double parameter) {
  for (const LossInfo& info : known_losses())
    if (info.task == task && info.name == name) return make_loss(name, parameter);
  throw InvalidArgument("loss: '" + name + "' is none that this svmgsu knows for " +
                        (task == Task::regression ? "regressions" : "classifiers"));
}

// What a file without the line `loss` was trained with.
const char* default_loss(Task task) { return task == Task::regression ? "squared" : "hinge"; }

// A line with some numbers, if there are any.
void write_numbers(std::ostream& out, const char* key, const Vector& values) {
  if (!values.size()) return;
  out << key;
  for (const double value : values) out << ' ' << value;
  out << '\n';
}

void write_lines(const Model& model, std::ostream& out) {
  out << kMagic << ' ' << kVersion << '\n';
  if (model.task == Task::regression) {
    out << "task regression";
  } else {
    out << "labels " << model.label_type;
    for (const std::string& label : model.labels) out << ' ' << escape(label);
  }
  if (model.labels.size() > 2) out << "\nmulti_class " << (model.multi_class == MultiClass::ovo ? "ovo" : "ovr");
  out << "\nlambda " << model.lambda << '\n';
  if (model.loss != default_loss(model.task)) {
    const double parameter = loss_for(model.task, model.loss, model.loss_parameter)->parameter();
    out << "loss " << model.loss;
    if (!std::isnan(parameter)) out << ' ' << parameter;
    out << '\n';
  }
  if (!std::isnan(model.scatter)) out << "scatter " << model.scatter << '\n';
  for (const Calibration& c : model.calibration)
    out << "calibration " << c.a << ' ' << c.b << ' ' << c.kappa << ' ' << c.base << '\n';
  write_numbers(out, "prior", model.prior);
  write_numbers(out, "class_weight", model.class_weight);
  out << "features " << model.w.cols();
  if (!model.names.empty()) out << "\nnames";
  for (const std::string& name : model.names) out << ' ' << escape(name);
  out << '\n';
  write_numbers(out, "intercept", model.b);
  out << "weights\n";
  for (Index j = 0; j < model.w.cols(); ++j)
    for (Index k = 0; k < model.w.rows(); ++k) out << model.w(k, j) << (k + 1 < model.w.rows() ? ' ' : '\n');
  out << "end\n";
}

// What the authors' program writes; nothing for -d 3.
bool is_cov_mat_type(const std::string& text) {
  return text.empty() || text == "full" || text == "diagonal" || text == "isotropic";
}

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
      << "\nsigmB " << platt.b << "\ncov_mat_type " << model.cov_mat_type << '\n';
  write_numbers(out, "w", model.w.row(0).transpose());
  out << "b " << model.b(0) << '\n';
}

// Reads a file line by line and complains with its name and the line's number.
class Lines {
 public:
  Lines(std::istream& file, const std::string& path) : path_(path), file_(file) {}

  [[noreturn]] void fail(const std::string& reason) const { fail_at(number_, reason); }
  [[noreturn]] void fail_at(Index line, const std::string& reason) const {
    throw FileError(path_ + ":" + std::to_string(line) + ": " + reason);
  }

  // The key of the next line that is no comment: lines that begin with # are notes of whoever wrote the file.
  std::string next_key() {
    next();
    return word();
  }
  void next() {
    std::string line;
    do {
      ++number_;
      if (!std::getline(file_, line)) fail("the file ends here; it is cut off");
    } while (!line.empty() && line[0] == '#');
    ended_ = !file_.eof();
    if (!line.empty() && line.back() == '\r') line.pop_back();
    words_ = std::istringstream(line);
    words_.imbue(std::locale::classic());
  }

  // Of the line last read: its number, and whether it ended with a newline and not with the file.
  Index number() const { return number_; }
  bool ended() const { return ended_; }

  // Whether nothing is left of the line, and of the file.
  bool at_end() { return (words_ >> std::ws).eof(); }
  void expect_end() {
    const std::string more = word();
    if (!more.empty()) fail("unexpected '" + more + "'");
  }
  bool finished() {
    std::string line;
    while (std::getline(file_, line)) {
      ++number_;
      if (line.find_first_not_of(" \t\r") != std::string::npos) return false;
    }
    return true;
  }

  std::string word() {
    std::string out;
    words_ >> out;
    return out;
  }

  // The next word with its %XX codes resolved; `what` it is, for messages.
  std::string text(const char* what) {
    const std::string coded = word();
    std::string out;
    if (coded == "%") return out;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      if (coded[i] != '%') {
        out += coded[i];
        continue;
      }
      if (i + 2 >= coded.size() || !std::isxdigit(static_cast<unsigned char>(coded[i + 1])) ||
          !std::isxdigit(static_cast<unsigned char>(coded[i + 2])))
        fail(std::string(what) + " has a broken %XX code");
      out += static_cast<char>(std::stoi(coded.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    return out;
  }

  bool integer(Index& out) { return static_cast<bool>(words_ >> out); }
  double number(const char* what) {
    double value;
    if (!(words_ >> value) || !std::isfinite(value)) fail(std::string("expected a finite number for ") + what);
    return value;
  }
  double above_zero(const char* what) {
    const double value = number(what);
    if (value <= 0) fail(std::string(what) + ": expected a number > 0");
    return value;
  }
  // All numbers that are left on the line.
  std::vector<double> numbers(const char* what) {
    std::vector<double> out;
    while (!at_end()) out.push_back(number(what));
    return out;
  }
  Vector vector(const char* what) {
    const std::vector<double> v = numbers(what);
    return Eigen::Map<const EigenVector>(v.data(), static_cast<Index>(v.size()));
  }
  // One of two words: whether it is the second.
  bool second_of(const std::string& key, const std::string& first, const std::string& second) {
    const std::string name = word();
    if (name != first && name != second) fail(key + ": expected " + first + " or " + second);
    return name == second;
  }

 private:
  std::string path_;
  std::istream& file_;
  std::istringstream words_;
  Index number_ = 0;
  bool ended_ = true;
};

// One number > 0 for each class; that there are as many is checked when all lines are known.
Vector positive(Lines& lines, const char* key) {
  const Vector out = lines.vector(key);
  if (!out.size() || !(out.array() > 0).all()) lines.fail(std::string(key) + ": expected numbers > 0");
  return out;
}

// What a line that begins with `key` says; what a later version adds is one more key here and one line in write_lines.
void read_item(const std::string& key, Lines& lines, Model& model, Index& features) {
  if (key == "labels") {
    model.label_type = lines.word();
    while (!lines.at_end()) model.labels.push_back(lines.text("a label"));
    if (model.labels.size() < 2) lines.fail("expected a type and at least two labels");
  } else if (key == "multi_class") {
    model.multi_class = lines.second_of(key, "ovo", "ovr") ? MultiClass::ovr : MultiClass::ovo;
  } else if (key == "task") {
    model.task = lines.second_of(key, "classification", "regression") ? Task::regression : Task::classification;
  } else if (key == "lambda") {
    model.lambda = lines.above_zero("lambda");
  } else if (key == "loss") {  // whether the task has such a loss is checked when all lines are known
    model.loss = lines.word();
    if (!lines.at_end()) model.loss_parameter = lines.number("the loss's parameter");
  } else if (key == "scatter") {
    model.scatter = lines.number("scatter");
    if (model.scatter < 0) lines.fail("scatter: expected a number >= 0");
  } else if (key == "calibration") {
    const std::vector<double> v = lines.numbers("a calibration");
    if (v.size() != 4 || v[2] < 0) lines.fail("calibration: expected four numbers, the third >= 0");
    model.calibration.emplace_back(v[0], v[1], v[2], v[3]);
  } else if (key == "prior") {
    model.prior = positive(lines, "prior");
  } else if (key == "class_weight") {
    model.class_weight = positive(lines, "class_weight");
  } else if (key == "features") {
    if (!lines.integer(features) || features < 1 || features > kMostFeatures)
      lines.fail("features: expected a positive count");
  } else if (key == "names") {
    while (!lines.at_end()) model.names.push_back(lines.text("a name"));
    const std::string trouble = trouble_with_names(model.names);
    if (!trouble.empty()) lines.fail(trouble);
  } else if (key == "intercept") {
    model.b = lines.vector("intercept");
  } else {
    lines.fail("unknown item '" + key + "'; was it written by a newer svmgsu?");
  }
}

// The items before the weights; returns the number of features.
Index read_header(Lines& lines, Model& model) {
  std::set<std::string> seen;
  Index features = -1, loss_line = 0;
  model.labels.clear();
  model.loss.clear();
  for (std::string key = lines.next_key(); key != "weights"; key = lines.next_key()) {
    if (!seen.insert(key).second && key != "calibration") lines.fail("'" + key + "' is there twice");
    if (key == "loss") loss_line = lines.number();
    read_item(key, lines, model, features);
    lines.expect_end();
  }
  lines.expect_end();
  const bool regression = model.task == Task::regression;
  for (const char* key : {"lambda", "features", "intercept", "labels"})
    if (!seen.count(key) && !(regression && key == std::string("labels")))
      lines.fail("labels, lambda, features and intercept must come before the weights");
  if (regression && seen.count("multi_class")) lines.fail("multi_class: a regression has none");
  if (!seen.count("multi_class") && model.labels.size() > 2) model.multi_class = MultiClass::ovr;
  if (!seen.count("loss")) model.loss = default_loss(model.task);
  try {
    const double parameter = loss_for(model.task, model.loss, model.loss_parameter)->parameter();
    if (std::isnan(parameter) != std::isnan(model.loss_parameter))
      throw InvalidArgument("loss: '" + model.loss + "' needs the number that is its parameter");
  } catch (const InvalidArgument& error) {
    lines.fail_at(loss_line, error.what());
  }
  const std::string trouble = trouble_with(model, features);
  if (!trouble.empty()) lines.fail(trouble);
  if (seen.count("names") && model.names.empty()) lines.fail("names: 0 for " + std::to_string(features) + " features");
  return features;
}

Model read_lines(Lines& lines) {
  Model model;
  const Index features = read_header(lines, model), values = model.b.size();
  std::vector<double> weights;  // grows with the file, so that a wrong count cannot ask for all memory
  for (Index j = 0; j < features; ++j) {
    lines.next();
    for (Index k = 0; k < values; ++k) weights.push_back(lines.number("a weight"));
    lines.expect_end();
  }
  if (lines.next_key() != "end") lines.fail("expected 'end' after " + std::to_string(features) + " weights");
  lines.expect_end();
  if (!lines.finished()) lines.fail("there is more after 'end'");
  model.w = Eigen::Map<const EigenMatrix>(weights.data(), features, values).transpose();
  return model;
}

Model read_authors_lines(Lines& lines) {
  Model model;
  model.b.resize(1);
  Platt platt;
  std::set<std::string> seen;
  while (!seen.count("b")) {
    const std::string key = lines.next_key();
    if (!seen.insert(key).second) lines.fail("'" + key + "' is there twice");
    if (key == "kernel_type") {
      const std::string kernel = lines.word();
      if (kernel != "linear") lines.fail("a model with kernel '" + kernel + "'; only linear ones are supported");
    } else if (key == "lambda") {
      model.lambda = lines.above_zero("lambda");
    } else if (key == "sigmA") {
      platt.a = lines.number("sigmA");
    } else if (key == "sigmB") {
      platt.b = lines.number("sigmB");
    } else if (key == "cov_mat_type") {
      model.cov_mat_type = lines.word();
      if (!is_cov_mat_type(model.cov_mat_type))
        lines.fail("cov_mat_type: expected full, diagonal, isotropic or nothing");
    } else if (key == "w") {
      model.w = lines.vector("a weight").transpose();
      if (!model.w.size()) lines.fail("w: there are no weights");
    } else if (key == "b") {
      model.b(0) = lines.number("b");
    } else {
      lines.fail("unknown item '" + key + "'");
    }
    lines.expect_end();
  }
  for (const char* key : {"kernel_type", "lambda", "sigmA", "sigmB", "w"})
    if (!seen.count(key)) lines.fail("kernel_type, lambda, sigmA, sigmB and w must come before b");
  if (!lines.ended()) lines.fail("the file ends in the middle of a line; its last number may be cut off");
  if (!lines.finished()) lines.fail("there is more after 'b'");
  model.calibration = {Calibration(platt)};
  return model;
}

}  // namespace

void Model::write(std::ostream& out, ModelFormat format) const {
  std::string trouble = trouble_with(*this, w.cols());
  if (trouble.empty()) trouble = trouble_with_names(names);
  require(trouble.empty(), trouble);
  require(w.rows() == b.size() && w.cols() > 0,
          "w: " + std::to_string(w.rows()) + " rows for " + std::to_string(b.size()) + " decision values");
  require(lambda > 0, "lambda: must be > 0");
  require(std::isnan(scatter) || (scatter >= 0 && std::isfinite(scatter)), "scatter: must be >= 0 and finite");
  require((prior.array() > 0).all() && (class_weight.array() > 0).all(),
          "prior, class_weight: one number > 0 a class is wanted");
  loss_for(task, loss, loss_parameter);
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  if (format == ModelFormat::gsvm)
    write_authors_lines(*this, text);
  else
    write_lines(*this, text);
  out << text.str();
}

void Model::save(const std::string& path, ModelFormat format) const {
  std::ostringstream out;
  write(out, format);
  write_file(path, out.str());
}

Model Model::load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw FileError(path + ": cannot be opened");
  return read(file, path);
}

Model Model::read(std::istream& file, const std::string& name) {
  Lines lines(file, name);
  const std::string magic = lines.next_key();
  if (magic == kAuthorsMagic) return read_authors_lines(lines);
  Index version = 0;
  if (magic != kMagic || !lines.integer(version)) lines.fail("not an svmgsu model");
  if (version > kVersion)
    lines.fail("written by a newer svmgsu (format " + std::to_string(version) + "; this one reads format " +
               std::to_string(kVersion) + ")");
  if (version < kVersion) lines.fail("format " + std::to_string(version) + " does not exist");
  return read_lines(lines);
}

}  // namespace svmgsu
