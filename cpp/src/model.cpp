#include "svmgsu/model.hpp"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <locale>
#include <sstream>

#include "svmgsu/parallel.hpp"

namespace svmgsu {
namespace {

constexpr const char* kMagic = "svmgsu-model";
constexpr int kVersion = 1;
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

// Reads the file line by line and complains with its name and the line's number.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw FileError(path + ": cannot be opened");
  }

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
    if (!(words >> coded)) fail("expected a type and two labels");
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

  void ends(std::istringstream& words) const {
    std::string more;
    if (words >> more) fail("unexpected '" + more + "'");
  }

 private:
  std::string path_;
  std::ifstream file_;
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

void Model::save(const std::string& path) const {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << kMagic << ' ' << kVersion << '\n';
  out << "labels " << label_type << ' ' << escape(labels[0]) << ' ' << escape(labels[1]) << '\n';
  out << "lambda " << lambda << '\n';
  if (platt) out << "platt " << platt->a << ' ' << platt->b << '\n';
  out << "features " << w.size() << '\n' << "intercept " << b << '\n' << "weights\n";
  for (Index j = 0; j < w.size(); ++j) out << w(j) << '\n';
  out << "end\n";

  const std::string partial = path + ".partial";
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
  Lines lines(path);
  Model model;
  Index features = -1;
  bool have_labels = false, have_lambda = false, have_intercept = false;
  {
    auto words = lines.next();
    std::string magic;
    int version = 0;
    if (!(words >> magic >> version) || magic != kMagic) lines.fail("not an svmgsu model");
    if (version > kVersion)
      lines.fail("written by a newer svmgsu (format " + std::to_string(version) + "; this one reads up to " +
                 std::to_string(kVersion) + ")");
    if (version < 1) lines.fail("format " + std::to_string(version) + " does not exist");
  }
  while (true) {
    auto words = lines.next();
    std::string key;
    words >> key;
    if (key == "labels") {
      if (!(words >> model.label_type)) lines.fail("expected a type and two labels");
      for (std::string& label : model.labels) label = lines.label(words);
      have_labels = true;
    } else if (key == "lambda") {
      model.lambda = lines.number(words, "lambda");
      have_lambda = true;
    } else if (key == "platt") {
      Platt platt;
      platt.a = lines.number(words, "A");
      platt.b = lines.number(words, "B");
      model.platt = platt;
    } else if (key == "features") {
      if (!(words >> features) || features < 1 || features > kMostFeatures)
        lines.fail("features: expected a positive count");
    } else if (key == "intercept") {
      model.b = lines.number(words, "intercept");
      have_intercept = true;
    } else if (key == "weights") {
      lines.ends(words);
      break;
    } else {
      lines.fail("unknown item '" + key + "'");
    }
    lines.ends(words);
  }
  if (features < 0 || !have_labels || !have_lambda || !have_intercept)
    lines.fail("labels, lambda, features and intercept must come before the weights");
  std::vector<double> weights;  // grows with the file, so that a wrong count cannot ask for all memory
  for (Index j = 0; j < features; ++j) {
    auto words = lines.next();
    weights.push_back(lines.number(words, "a weight"));
    lines.ends(words);
  }
  auto words = lines.next();
  std::string key;
  if (!(words >> key) || key != "end") lines.fail("expected 'end' after " + std::to_string(features) + " weights");
  lines.ends(words);
  if (!lines.finished()) lines.fail("there is more after 'end'");
  model.w = Eigen::Map<const Vector>(weights.data(), features);
  return model;
}

}  // namespace svmgsu
