#include "svmgsu/models/model.hpp"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <locale>
#include <random>
#include <sstream>

#include "svmgsu/support/parallel.hpp"

namespace svmgsu {
namespace {

constexpr const char* kMagic = "svmgsu-model";
constexpr const char* kAuthorsMagic = "SVM-GSU";
constexpr int kVersion = 2;
constexpr Index kMostFeatures = Index{1} << 40;

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

// Reads a file line by line and complains with its name and the line's number.
class Lines {
 public:
  Lines(std::istream& file, const std::string& path) : path_(path), file_(file) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(path_ + ":" + std::to_string(number_) + ": " + reason);
  }

  std::istringstream next() {
    std::string line;
    ++number_;
    if (!std::getline(file_, line)) fail("the file ends here; it is cut off");
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    return words;
  }

  bool finished() {
    std::string line;
    while (std::getline(file_, line)) {
      ++number_;
      if (line.find_first_not_of(" \t\r") != std::string::npos) return false;
    }
    return true;
  }

  double number(std::istringstream& words, const char* what) const {
    double value;
    if (!(words >> value) || !std::isfinite(value)) fail(std::string("expected a finite number for ") + what);
    return value;
  }

  std::string label(std::istringstream& words) const {
    std::string coded, out;
    if (!(words >> coded)) fail("expected a type and at least two labels");
    if (coded == "%") return out;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      if (coded[i] != '%') {
        out += coded[i];
        continue;
      }
      if (i + 2 >= coded.size() || !std::isxdigit(static_cast<unsigned char>(coded[i + 1])) ||
          !std::isxdigit(static_cast<unsigned char>(coded[i + 2])))
        fail("a label has a broken %XX code");
      out += static_cast<char>(std::stoi(coded.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    return out;
  }

  // All numbers that are left on the line.
  std::vector<double> numbers(std::istringstream& words, const char* what) const {
    std::vector<double> out;
    while (!(words >> std::ws).eof()) out.push_back(number(words, what));
    return out;
  }

  void ends(std::istringstream& words) const {
    std::string more;
    if (words >> more) fail("unexpected '" + more + "'");
  }

 private:
  std::string path_;
  std::istream& file_;
  Index number_ = 0;
};

}  // namespace

std::vector<double> decision_values(const Means& means, const Vector& w, double b, int threads) {
  std::vector<double> out(static_cast<std::size_t>(means.examples()));
  const Index batches = (means.examples() + kMaxBatch - 1) / kMaxBatch;
  const bool tiny = static_cast<double>(means.examples()) * means.numbers_per_example() < 50000;
  parallel_for(batches, tiny ? 1 : threads, [&](Index k) {
    Index id[kMaxBatch];
    const Index first = k * kMaxBatch;
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, means.examples() - first));
    for (int i = 0; i < count; ++i) id[i] = first + i;
    double* values = out.data() + first;
    means.dots(Batch{id, count}, w.data(), values);
    for (int i = 0; i < count; ++i) values[i] += b;
  });
  return out;
}

namespace {

// log σ(z) without overflow.
double log_sigmoid(double z) { return z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z)); }

Index largest(const Vector& values) {
  Index place = 0;
  values.maxCoeff(&place);
  return place;
}

Vector all_log_odds(const Model& model, const Vector& decision, const Vector* variance) {
  require(static_cast<Index>(model.calibration.size()) == decision.size(),
          "calibration: the model has no probabilities");
  require(!variance || variance->size() == decision.size(), "variance: one a decision value is wanted");
  Vector out(decision.size());
  for (Index k = 0; k < decision.size(); ++k) {
    const Calibration& c = model.calibration[static_cast<std::size_t>(k)];
    out(k) = variance ? c.log_odds(decision(k), (*variance)(k)) : c.log_odds(decision(k));
  }
  return out;
}

void write_lines(const Model& model, std::ostream& out) {
  out << kMagic << ' ' << kVersion << '\n';
  out << "labels " << model.label_type;
  for (const std::string& label : model.labels) out << ' ' << escape(label);
  out << "\nlambda " << model.lambda << '\n';
  for (const Calibration& c : model.calibration)
    out << "calibration " << c.plain.a << ' ' << c.plain.b << ' ' << c.a << ' ' << c.b << ' ' << c.gamma << '\n';
  out << "features " << model.w.cols() << "\nintercept";
  for (const double b : model.b) out << ' ' << b;
  out << "\nweights\n";
  for (Index j = 0; j < model.w.cols(); ++j)
    for (Index k = 0; k < model.w.rows(); ++k) out << model.w(k, j) << (k + 1 < model.w.rows() ? ' ' : '\n');
  out << "end\n";
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
  const Platt& platt = model.calibration[0].plain;
  out << kAuthorsMagic << " Model_File\nkernel_type linear\nlambda " << model.lambda << "\nsigmA " << platt.a
      << "\nsigmB " << platt.b << "\ncov_mat_type full\nw";  // any covariance is a full one; only training needs it
  for (const double weight : model.w.row(0)) out << ' ' << weight;
  out << "\nb " << model.b(0) << '\n';
}

Model read_authors_lines(Lines& lines) {
  Model model;
  model.calibration.resize(1);
  model.b.resize(1);
  Platt platt;
  bool kernel = false, lambda = false, a = false, b = false, weights = false, intercept = false;
  while (!intercept) {
    auto words = lines.next();
    std::string key, text;
    words >> key;
    if (key == "kernel_type") {
      words >> text;
      if (text != "linear") lines.fail("a model with kernel '" + text + "'; only linear ones are supported");
      kernel = true;
    } else if (key == "lambda") {
      model.lambda = lines.number(words, "lambda");
      lambda = true;
    } else if (key == "sigmA") {
      platt.a = lines.number(words, "sigmA");
      a = true;
    } else if (key == "sigmB") {
      platt.b = lines.number(words, "sigmB");
      b = true;
    } else if (key == "cov_mat_type") {
      words >> text;
    } else if (key == "w") {
      const std::vector<double> values = lines.numbers(words, "a weight");
      if (values.empty()) lines.fail("w: there are no weights");
      model.w = Eigen::Map<const Matrix>(values.data(), 1, static_cast<Index>(values.size()));
      weights = true;
    } else if (key == "b") {
      model.b(0) = lines.number(words, "b");
      intercept = true;
    } else {
      lines.fail("unknown item '" + key + "'");
    }
    lines.ends(words);
  }
  if (!kernel || !lambda || !a || !b || !weights)
    lines.fail("kernel_type, lambda, sigmA, sigmB and w must come before b");
  if (!lines.finished()) lines.fail("there is more after 'b'");
  model.calibration[0] = Calibration(platt);
  return model;
}

// The items before the weights. `features` and what was not found are checked by the caller.
Index read_header(Lines& lines, int version, Model& model) {
  Index features = -1;
  bool lambda = false;
  std::vector<double> intercept;
  model.labels.clear();
  while (true) {
    auto words = lines.next();
    std::string key;
    words >> key;
    if (key == "labels") {
      if (!(words >> model.label_type)) lines.fail("expected a type and at least two labels");
      model.labels.clear();
      do model.labels.push_back(lines.label(words));
      while (!(words >> std::ws).eof() || model.labels.size() < 2);
      if (version == 1 && model.labels.size() != 2) lines.fail("expected a type and two labels");
    } else if (key == "lambda") {
      model.lambda = lines.number(words, "lambda");
      lambda = true;
    } else if (key == "platt" && version == 1) {
      const double a = lines.number(words, "A");
      model.calibration = {Calibration(Platt{a, lines.number(words, "B")})};
    } else if (key == "calibration" && version > 1) {
      const std::vector<double> v = lines.numbers(words, "a calibration");
      if (v.size() != 5 || v[4] < 0) lines.fail("calibration: expected five numbers, the last >= 0");
      Calibration c(Platt{v[0], v[1]});
      c.a = v[2], c.b = v[3], c.gamma = v[4];
      model.calibration.push_back(c);
    } else if (key == "features") {
      if (!(words >> features) || features < 1 || features > kMostFeatures)
        lines.fail("features: expected a positive count");
    } else if (key == "intercept") {
      intercept = lines.numbers(words, "intercept");
    } else if (key == "weights") {
      lines.ends(words);
      break;
    } else {
      lines.fail("unknown item '" + key + "'");
    }
    lines.ends(words);
  }
  if (features < 0 || model.labels.empty() || !lambda || intercept.empty())
    lines.fail("labels, lambda, features and intercept must come before the weights");
  const std::size_t values = model.labels.size() == 2 ? 1 : model.labels.size();
  if (intercept.size() != values)
    lines.fail("intercept: " + std::to_string(intercept.size()) + " numbers for " + std::to_string(values) +
               " decision values");
  if (!model.calibration.empty() && model.calibration.size() != values)
    lines.fail("calibration: " + std::to_string(model.calibration.size()) + " lines for " + std::to_string(values) +
               " decision values");
  model.b = Eigen::Map<const Vector>(intercept.data(), static_cast<Index>(values));
  return features;
}

}  // namespace

Vector Model::probabilities(const Vector& decision, const Vector* variance) const {
  const Vector z = all_log_odds(*this, decision, variance);
  if (z.size() == 1) {
    Vector both(2);
    both << std::exp(log_sigmoid(-z(0))), std::exp(log_sigmoid(z(0)));
    return both;
  }
  Vector out = z.unaryExpr(&log_sigmoid);  // as logarithms, so that a row of tiny ones can be scaled up
  out = (out.array() - out.maxCoeff()).exp();
  return out / out.sum();
}

Index Model::predict(const Vector& decision, const Vector* variance) const {
  if (decision.size() == 1) return decision(0) > 0 ? 1 : 0;
  return largest(calibration.empty() ? decision : all_log_odds(*this, decision, variance));
}

void Model::write(std::ostream& out, ModelFormat format) const {
  require(labels.size() >= 2, "labels: at least two are wanted");
  const Index values = labels.size() == 2 ? 1 : static_cast<Index>(labels.size());
  require(w.rows() == values && b.size() == values && w.cols() > 0, "w: " + std::to_string(w.rows()) + " rows and " +
                                                                        std::to_string(b.size()) + " intercepts for " +
                                                                        std::to_string(labels.size()) + " classes");
  require(calibration.empty() || static_cast<Index>(calibration.size()) == values,
          "calibration: one a decision value is wanted");
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
  const std::string partial = path + "." + std::to_string(std::random_device()()) + ".partial";  // one a writer
  {
    std::ofstream file(partial, std::ios::binary);
    file << out.str();
    file.flush();
    if (!file) {
      std::remove(partial.c_str());
      throw FileError(path + ": cannot be written");
    }
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    std::remove(partial.c_str());
    throw FileError(path + ": cannot be written");
  }
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
  model.w = Eigen::Map<const Matrix>(weights.data(), features, values).transpose();
  return model;
}

}  // namespace svmgsu
