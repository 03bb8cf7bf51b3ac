// Model files: the format is described in model.hpp.
#include <fstream>
#include <locale>
#include <set>
#include <sstream>
#include <unordered_set>

#include "models/lines.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/models/model.hpp"
#include "svmgsu/support/output.hpp"

namespace svmgsu {
namespace {

constexpr const char* kMagic = "svmgsu-model";
constexpr const char* kAuthorsMagic = "SVM-GSU";
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

// A line with one number for each class, if there are any.
void write_numbers(std::ostream& out, const char* key, const Vector& values) {
  if (!values.size()) return;
  out << key;
  for (const double value : values) out << ' ' << value;
  out << '\n';
}

void write_lines(const Model& model, std::ostream& out) {
  out << kMagic << ' ' << kVersion << '\n';
  out << "labels " << model.label_type;
  for (const std::string& label : model.labels) out << ' ' << escape(label);
  if (model.labels.size() > 2) out << "\nmulti_class " << (model.multi_class == MultiClass::ovo ? "ovo" : "ovr");
  out << "\nlambda " << model.lambda << '\n';
  if (model.loss != "hinge") out << "loss " << model.loss << '\n';
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

// What the authors' program writes; nothing for -d 3.
bool is_cov_mat_type(const std::string& text) {
  return text.empty() || text == "full" || text == "diagonal" || text == "isotropic";
}

void write_authors_lines(const Model& model, std::ostream& out) {
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

void read_lambda(const Lines& lines, std::istringstream& words, Model& model) {
  model.lambda = lines.number(words, "lambda");
  if (model.lambda <= 0) lines.fail("lambda: expected a number > 0");
}

bool is_loss(const std::string& name) {
  for (const LossInfo& info : known_losses())
    if (info.task == Task::classification && info.name == name) return true;
  return false;
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
      read_lambda(lines, words, model);
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

// What the keyed lines before the weights say, beside what they put into the model itself.
struct Header {
  int version;
  Index features = -1;
  std::vector<double> intercept;
  std::set<std::string> seen;
};

using Words = std::istringstream;

void read_labels(const Lines& lines, Words& words, Header& header, Model& model) {
  if (!(words >> model.label_type)) lines.fail("expected a type and at least two labels");
  model.labels.clear();
  while (!(words >> std::ws).eof()) model.labels.push_back(lines.text(words, "a label"));
  if (model.labels.size() < 2) lines.fail("expected a type and at least two labels");
  if (header.version == 1 && model.labels.size() != 2) lines.fail("expected a type and two labels");
}

void read_multi_class(const Lines& lines, Words& words, Header&, Model& model) {
  std::string name;
  words >> name;
  if (name != "ovo" && name != "ovr") lines.fail("multi_class: expected ovo or ovr");
  model.multi_class = name == "ovo" ? MultiClass::ovo : MultiClass::ovr;
}

void read_loss(const Lines& lines, Words& words, Header&, Model& model) {
  model.loss.clear();
  words >> model.loss;
  if (!is_loss(model.loss)) lines.fail("loss: '" + model.loss + "' is none that this svmgsu knows for classifiers");
}

void read_platt(const Lines& lines, Words& words, Header&, Model& model) {
  const double a = lines.number(words, "A");
  model.calibration = {Calibration(Platt{a, lines.number(words, "B")})};
}

void read_calibration(const Lines& lines, Words& words, Header& header, Model& model) {
  const std::vector<double> v = lines.numbers(words, "a calibration");
  if (header.version == 2) {  // Platt's sigmoid, and one for error bars without the shares of the classes
    if (v.size() != 5 || v[4] < 0) lines.fail("calibration: expected five numbers, the last >= 0");
    model.calibration.emplace_back(Platt{v[0], v[1]});
    return;
  }
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

// One row for each key: the formats that have it, and whether it may come more than once. What a later
// version adds is one more row here and one line in write_lines.
struct Item {
  const char* key;
  int first, last;
  bool repeats;
  void (*read)(const Lines&, Words&, Header&, Model&);
};
constexpr Item kItems[] = {
    {"labels", 1, kVersion, false, read_labels},
    {"multi_class", 3, kVersion, false, read_multi_class},
    {"lambda", 1, kVersion, false,
     [](const Lines& lines, Words& words, Header&, Model& model) { read_lambda(lines, words, model); }},
    {"loss", 3, kVersion, false, read_loss},
    {"platt", 1, 1, false, read_platt},
    {"calibration", 2, kVersion, true, read_calibration},
    {"prior", 3, kVersion, false,
     [](const Lines& lines, Words& words, Header&, Model& model) { read_numbers(lines, words, "prior", model.prior); }},
    {"class_weight", 3, kVersion, false,
     [](const Lines& lines, Words& words, Header&, Model& model) {
       read_numbers(lines, words, "class_weight", model.class_weight);
     }},
    {"features", 1, kVersion, false, read_features},
    {"names", 3, kVersion, false, read_names},
    {"intercept", 1, kVersion, false, read_intercept},
};

const Item& find_item(const Lines& lines, const std::string& key, const Header& header) {
  for (const Item& item : kItems)
    if (key == item.key && header.version >= item.first && header.version <= item.last) return item;
  lines.fail("unknown item '" + key + "'" + (header.version == kVersion ? "; was it written by a newer svmgsu?" : ""));
}

// Checks what the lines said against each other.
void check_header(const Lines& lines, const Header& header, const Model& model) {
  for (const char* key : {"labels", "lambda", "features", "intercept"})
    if (!header.seen.count(key)) lines.fail("labels, lambda, features and intercept must come before the weights");
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
Index read_header(Lines& lines, int version, Model& model) {
  Header header{version, -1, {}, {}};
  model.labels.clear();
  while (true) {
    Words words = lines.next();
    std::string key;
    words >> key;
    if (key == "weights") {
      lines.ends(words);
      break;
    }
    const Item& item = find_item(lines, key, header);
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
  require(labels.size() >= 2, "labels: at least two are wanted");
  const Index values = hyperplanes();
  require(w.rows() == values && b.size() == values && w.cols() > 0, "w: " + std::to_string(w.rows()) + " rows and " +
                                                                        std::to_string(b.size()) + " intercepts for " +
                                                                        std::to_string(labels.size()) + " classes");
  require(calibration.empty() || static_cast<Index>(calibration.size()) == values,
          "calibration: one a decision value is wanted");
  require(lambda > 0, "lambda: must be > 0");
  require(is_loss(loss), "loss: '" + loss + "' is not known for classifiers");
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
    lines.fail("written by a newer svmgsu (format " + std::to_string(version) + "; this one reads up to " +
               std::to_string(kVersion) + ")");
  if (version < 1) lines.fail("format " + std::to_string(version) + " does not exist");

  Model model;
  const Index features = read_header(lines, version, model), values = model.b.size();
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
