// Model files: the format is described in model.hpp.
#include <cmath>
#include <fstream>
#include <locale>
#include <set>
#include <sstream>
#include <unordered_set>

#include "models/lines.hpp"
#include "support/output.hpp"

namespace svmgsu {
namespace {

constexpr const char* kMagic = "svmgsu-model";
constexpr int kVersion = 3;
constexpr Index kMostFeatures = Index{1} << 40;

// What is wrong with the names of features, or nothing.
std::string trouble_with_names(const std::vector<std::string>& names) {
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    if (!is_utf8(name)) return "name " + std::to_string(seen.size() + 1) + " is not UTF-8";
    if (!seen.insert(name).second) return "'" + escape(name) + "' is there twice";
  }
  return "";
}

std::string losses_for(Task task) { return task == Task::regression ? "regressions" : "classifiers"; }

// The loss of a model, checked; `parameter` is NaN for its default.
std::shared_ptr<const Loss> loss_for(Task task, const std::string& name, double parameter) {
  for (const LossInfo& info : known_losses())
    if (info.task == task && info.name == name) return make_loss(name, parameter);
  throw InvalidArgument("loss: '" + name + "' is none that this svmgsu knows for " + losses_for(task));
}

// What a file without the line `loss` was trained with.
const char* default_loss(Task task) { return task == Task::regression ? "squared" : "hinge"; }

// A line with one number for each class, if there are any.
void write_numbers(std::ostream& out, const char* key, const Vector& values) {
  if (!values.size()) return;
  out << key;
  for (const double value : values) out << ' ' << value;
  out << '\n';
}

// The loss and its parameter, if it is not that of a model without the line.
void write_loss(const Model& model, std::ostream& out) {
  if (model.loss == default_loss(model.task)) return;
  const double parameter = loss_for(model.task, model.loss, model.loss_parameter)->parameter();
  out << "loss " << model.loss;
  if (!std::isnan(parameter)) out << ' ' << parameter;
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
  write_loss(model, out);
  if (!std::isnan(model.scatter)) out << "scatter " << model.scatter << '\n';
  for (const Calibration& c : model.calibration)
    out << "calibration " << c.a << ' ' << c.b << ' ' << c.kappa << ' ' << c.base << '\n';
  write_numbers(out, "prior", model.prior);
  write_numbers(out, "class_weight", model.class_weight);
  out << "features " << model.w.cols();
  if (!model.names.empty()) out << "\nnames";
  for (const std::string& name : model.names) out << ' ' << escape(name);
  out << "\nintercept";
  for (const double b : model.b) out << ' ' << b;
  out << "\nweights\n";
  for (Index j = 0; j < model.w.cols(); ++j)
    for (Index k = 0; k < model.w.rows(); ++k) out << model.w(k, j) << (k + 1 < model.w.rows() ? ' ' : '\n');
  out << "end\n";
}

// What the keyed lines before the weights say, beside what they put into the model itself.
struct Header {
  Index features = -1;
  Index loss_line = 0;
  std::vector<double> intercept;
  std::set<std::string> seen;
};

using Words = std::istringstream;

void read_labels(const Lines& lines, Words& words, Header&, Model& model) {
  if (!(words >> model.label_type)) lines.fail("expected a type and at least two labels");
  model.labels.clear();
  while (!(words >> std::ws).eof()) model.labels.push_back(lines.text(words, "a label"));
  if (model.labels.size() < 2) lines.fail("expected a type and at least two labels");
}

void read_multi_class(const Lines& lines, Words& words, Header&, Model& model) {
  std::string name;
  words >> name;
  if (name != "ovo" && name != "ovr") lines.fail("multi_class: expected ovo or ovr");
  model.multi_class = name == "ovo" ? MultiClass::ovo : MultiClass::ovr;
}

void read_task(const Lines& lines, Words& words, Header&, Model& model) {
  std::string name;
  words >> name;
  if (name != "classification" && name != "regression") lines.fail("task: expected classification or regression");
  model.task = name == "regression" ? Task::regression : Task::classification;
}

// Whether the task has such a loss is checked when all lines are known.
void read_loss(const Lines& lines, Words& words, Header& header, Model& model) {
  model.loss.clear();
  words >> model.loss;
  header.loss_line = lines.number();
  if (!(words >> std::ws).eof()) model.loss_parameter = lines.number(words, "the loss's parameter");
}

void read_scatter(const Lines& lines, Words& words, Header&, Model& model) {
  model.scatter = lines.number(words, "scatter");
  if (model.scatter < 0) lines.fail("scatter: expected a number >= 0");
}

void read_calibration(const Lines& lines, Words& words, Header&, Model& model) {
  const std::vector<double> v = lines.numbers(words, "a calibration");
  if (v.size() != 4 || v[2] < 0) lines.fail("calibration: expected four numbers, the third >= 0");
  model.calibration.emplace_back(v[0], v[1], v[2], v[3]);
}

// One number > 0 for each class; that there are as many is checked when all lines are known.
void read_numbers(const Lines& lines, Words& words, const char* key, Vector& out) {
  const std::vector<double> v = lines.numbers(words, key);
  for (const double value : v)
    if (!(value > 0)) lines.fail(std::string(key) + ": expected numbers > 0");
  out = Eigen::Map<const EigenVector>(v.data(), static_cast<Index>(v.size()));
}

void read_features(const Lines& lines, Words& words, Header& header, Model&) {
  if (!(words >> header.features) || header.features < 1 || header.features > kMostFeatures)
    lines.fail("features: expected a positive count");
}

void read_names(const Lines& lines, Words& words, Header&, Model& model) {
  while (!(words >> std::ws).eof()) model.names.push_back(lines.text(words, "a name"));
  const std::string reason = trouble_with_names(model.names);
  if (!reason.empty()) lines.fail("names: " + reason);
}

void read_intercept(const Lines& lines, Words& words, Header& header, Model&) {
  header.intercept = lines.numbers(words, "intercept");
}

// One row for each key, and whether it may come more than once. What a later version adds is one more row here and
// one line in write_lines.
struct Item {
  const char* key;
  bool repeats;
  void (*read)(const Lines&, Words&, Header&, Model&);
};
constexpr Item kItems[] = {
    {"labels", false, read_labels},
    {"multi_class", false, read_multi_class},
    {"task", false, read_task},
    {"lambda", false,
     [](const Lines& lines, Words& words, Header&, Model& model) { model.lambda = lines.above_zero(words, "lambda"); }},
    {"loss", false, read_loss},
    {"scatter", false, read_scatter},
    {"calibration", true, read_calibration},
    {"prior", false,
     [](const Lines& lines, Words& words, Header&, Model& model) { read_numbers(lines, words, "prior", model.prior); }},
    {"class_weight", false,
     [](const Lines& lines, Words& words, Header&, Model& model) {
       read_numbers(lines, words, "class_weight", model.class_weight);
     }},
    {"features", false, read_features},
    {"names", false, read_names},
    {"intercept", false, read_intercept},
};

const Item& find_item(const Lines& lines, const std::string& key) {
  for (const Item& item : kItems)
    if (key == item.key) return item;
  lines.fail("unknown item '" + key + "'; was it written by a newer svmgsu?");
}

// The loss must be one of the task, with its parameter if it has one.
void check_loss(const Lines& lines, const Header& header, Model& model) {
  if (!header.seen.count("loss")) model.loss = default_loss(model.task);
  try {
    const double parameter = loss_for(model.task, model.loss, model.loss_parameter)->parameter();
    if (std::isnan(parameter) != std::isnan(model.loss_parameter))
      throw InvalidArgument("loss: '" + model.loss + "' needs the number that is its parameter");
  } catch (const InvalidArgument& error) {
    lines.fail_at(header.loss_line, error.what());
  }
}

// Checks what the lines said against each other.
void check_header(const Lines& lines, const Header& header, Model& model) {
  const bool regression = model.task == Task::regression;
  for (const char* key : {"lambda", "features", "intercept"})
    if (!header.seen.count(key)) lines.fail("labels, lambda, features and intercept must come before the weights");
  if (!regression && !header.seen.count("labels"))
    lines.fail("labels, lambda, features and intercept must come before the weights");
  for (const char* key : {"labels", "multi_class", "calibration", "prior", "class_weight"})
    if (regression && header.seen.count(key)) lines.fail(std::string(key) + ": a regression has none");
  if (!regression && header.seen.count("scatter")) lines.fail("scatter: a classifier has none");
  check_loss(lines, header, model);
  const auto values = static_cast<std::size_t>(model.hyperplanes());
  const std::string of_values = " for " + std::to_string(values) + " decision values";
  if (header.intercept.size() != values)
    lines.fail("intercept: " + std::to_string(header.intercept.size()) + " numbers" + of_values);
  if (!model.calibration.empty() && model.calibration.size() != values)
    lines.fail("calibration: " + std::to_string(model.calibration.size()) + " lines" + of_values);
  for (const char* key : {"prior", "class_weight"}) {
    const Vector& found = *key == 'p' ? model.prior : model.class_weight;
    if (header.seen.count(key) && static_cast<std::size_t>(found.size()) != model.labels.size())
      lines.fail(std::string(key) + ": " + std::to_string(found.size()) + " numbers for " +
                 std::to_string(model.labels.size()) + " classes");
  }
  if (header.seen.count("names") && static_cast<Index>(model.names.size()) != header.features)
    lines.fail("names: " + std::to_string(model.names.size()) + " for " + std::to_string(header.features) +
               " features");
}

// The items before the weights; returns the number of features.
Index read_header(Lines& lines, Model& model) {
  Header header;
  model.labels.clear();
  while (true) {
    Words words = lines.next();
    std::string key;
    words >> key;
    if (key == "weights") {
      lines.ends(words);
      break;
    }
    const Item& item = find_item(lines, key);
    if (!header.seen.insert(key).second && !item.repeats) lines.fail("'" + key + "' is there twice");
    item.read(lines, words, header, model);
    lines.ends(words);
  }
  if (!header.seen.count("multi_class") && model.labels.size() > 2) model.multi_class = MultiClass::ovr;
  check_header(lines, header, model);
  model.b = Eigen::Map<const EigenVector>(header.intercept.data(), static_cast<Index>(header.intercept.size()));
  return header.features;
}

}  // namespace

void Model::write(std::ostream& out, ModelFormat format) const {
  if (task == Task::regression)
    require(labels.empty() && calibration.empty() && !prior.size() && !class_weight.size(),
            "labels, calibration, prior, class_weight: a regression has none");
  else
    require(labels.size() >= 2 && std::isnan(scatter),
            "labels: at least two are wanted; scatter: of regressions alone");
  require(std::isnan(scatter) || (scatter >= 0 && std::isfinite(scatter)), "scatter: must be >= 0 and finite");
  const Index values = hyperplanes();
  require(w.rows() == values && b.size() == values && w.cols() > 0, "w: " + std::to_string(w.rows()) + " rows and " +
                                                                        std::to_string(b.size()) + " intercepts for " +
                                                                        std::to_string(labels.size()) + " classes");
  require(calibration.empty() || static_cast<Index>(calibration.size()) == values,
          "calibration: one per decision value is wanted");
  require(lambda > 0, "lambda: must be > 0");
  loss_for(task, loss, loss_parameter);
  for (const Vector& each : {prior, class_weight})
    require(!each.size() || (each.size() == static_cast<Index>(labels.size()) && (each.array() > 0).all()),
            "prior, class_weight: one number > 0 a class is wanted");
  require(names.empty() || static_cast<Index>(names.size()) == w.cols(),
          "names: " + std::to_string(names.size()) + " for " + std::to_string(w.cols()) + " features");
  const std::string trouble = trouble_with_names(names);
  require(trouble.empty(), "names: " + trouble);
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
  auto first = lines.next();
  std::string magic;
  int version = 0;
  first >> magic;
  if (magic == kAuthorsMagic) return read_authors_lines(lines);
  if (magic != kMagic || !(first >> version)) lines.fail("not an svmgsu model");
  if (version > kVersion)
    lines.fail("written by a newer svmgsu (format " + std::to_string(version) + "; this one reads format " +
               std::to_string(kVersion) + ")");
  if (version < kVersion) lines.fail("format " + std::to_string(version) + " does not exist");

  Model model;
  const Index features = read_header(lines, model), values = model.b.size();
  std::vector<double> weights;  // grows with the file, so that a wrong count cannot ask for all memory
  for (Index j = 0; j < features; ++j) {
    auto words = lines.next();
    for (Index k = 0; k < values; ++k) weights.push_back(lines.number(words, "a weight"));
    lines.ends(words);
  }
  auto words = lines.next();
  std::string key;
  if (!(words >> key) || key != "end") lines.fail("expected 'end' after " + std::to_string(features) + " weights");
  lines.ends(words);
  if (!lines.finished()) lines.fail("there is more after 'end'");
  model.w = Eigen::Map<const EigenMatrix>(weights.data(), features, values).transpose();
  return model;
}

}  // namespace svmgsu
