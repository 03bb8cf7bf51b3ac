// Model files: what is saved comes back exactly, and nothing else is taken for a model.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "helpers.hpp"
#include "svmgsu/model.hpp"

using namespace svmgsu;
namespace fs = std::filesystem;

namespace {

// A folder of its own for each test, removed at the end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("svmgsu-test-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(path_), fs::directory_iterator()); }

 private:
  fs::path path_;
};

Model example() {
  Model model;
  model.w = Vector(6);
  model.w << 1.0 / 3, -0.0, std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
      std::numeric_limits<double>::denorm_min(), -1e-17;
  model.b = 0.1;
  model.lambda = 1e-3;
  model.platt = Platt{-1.7, 0.2};
  model.label_type = "str";
  model.labels = {"no planet", "exo%planet\n\xC3\xA9"};
  return model;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string complaint(const std::string& path) {
  try {
    Model::load(path);
  } catch (const FileError& error) {
    return std::string(error.what()).substr(path.size());
  }
  return "no complaint";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a model comes back from its file exactly") {
  const Folder folder;
  Model model = example();
  SUBCASE("with probabilities and odd labels") {}
  SUBCASE("without probabilities") { model.platt.reset(); }
  SUBCASE("with an empty label") { model.labels = {"", "%"}; }
  model.save(folder.file("m"));
  const Model loaded = Model::load(folder.file("m"));
  REQUIRE(loaded.w.size() == model.w.size());
  for (Index j = 0; j < model.w.size(); ++j) {
    CHECK(loaded.w(j) == model.w(j));
    CHECK(std::signbit(loaded.w(j)) == std::signbit(model.w(j)));
  }
  CHECK(loaded.b == model.b);
  CHECK(loaded.lambda == model.lambda);
  REQUIRE(loaded.platt.has_value() == model.platt.has_value());
  if (model.platt) {
    CHECK(loaded.platt->a == model.platt->a);
    CHECK(loaded.platt->b == model.platt->b);
  }
  CHECK(loaded.label_type == model.label_type);
  CHECK(loaded.labels == model.labels);
  CHECK(folder.entries() == 1);
}

TEST_CASE("random models come back exactly") {
  const Folder folder;
  test::Random random(28);
  for (int trial = 0; trial < 50; ++trial) {
    Model model;
    model.w = random.normals(20) * std::pow(10, 20 * random.normal());
    model.b = random.normal();
    model.lambda = random.uniform();
    model.save(folder.file("m"));
    const Model loaded = Model::load(folder.file("m"));
    CHECK((loaded.w.array() == model.w.array()).all());
    CHECK(loaded.b == model.b);
    CHECK(loaded.lambda == model.lambda);
  }
}

TEST_CASE("a file with Windows line ends is read") {
  const Folder folder;
  example().save(folder.file("m"));
  std::string text;
  for (const char c : read(folder.file("m"))) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  write(folder.file("m"), text);
  CHECK(Model::load(folder.file("m")).labels == example().labels);
}

TEST_CASE("saving replaces a model and leaves no partial file") {
  const Folder folder;
  example().save(folder.file("m"));
  Model other = example();
  other.b = 7;
  other.save(folder.file("m"));
  CHECK(Model::load(folder.file("m")).b == 7);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a model that cannot be written leaves no file behind") {
  const Folder folder;
  SUBCASE("into a folder that does not exist") {
    CHECK_THROWS_AS(example().save(folder.file("absent/m")), FileError);
    CHECK(folder.entries() == 0);
  }
  SUBCASE("over a folder") {
    fs::create_directories(folder.file("m/inside"));
    CHECK_THROWS_AS(example().save(folder.file("m")), FileError);
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("a file that ends early is refused wherever it is cut") {
  const Folder folder;
  example().save(folder.file("m"));
  const std::string text = read(folder.file("m"));
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    CAPTURE(length);
    write(folder.file("cut"), text.substr(0, length));
    CHECK_THROWS_AS(Model::load(folder.file("cut")), FileError);
  }
}

TEST_CASE("damaged files are refused with the line and the reason") {
  const Folder folder;
  const std::string path = folder.file("m");
  example().save(path);
  const std::string text = read(path);
  const auto after = [&](const std::string& from, const std::string& to) {
    write(path, replaced(text, from, to));
    return complaint(path);
  };
  CHECK(complaint(folder.file("absent")) == ": cannot be opened");
  CHECK(after("svmgsu-model 1", "something 1") == ":1: not an svmgsu model");
  CHECK(after("svmgsu-model 1", "svmgsu-model 0") == ":1: format 0 does not exist");
  CHECK(after("svmgsu-model 1", "svmgsu-model 2").find(":1: written by a newer svmgsu") == 0);
  CHECK(after("no%20planet", "no%2planet").find(":2: ") == 0);
  CHECK(after("lambda ", "lambda x") == ":3: expected a finite number for lambda");
  CHECK(after("lambda ", "lambada ") == ":3: unknown item 'lambada'");
  CHECK(after("features 6", "features -6") == ":5: features: expected a positive count");
  CHECK(after("features 6", "features 0") == ":5: features: expected a positive count");
  CHECK(after("features 6", "features 5").find("expected 'end' after 5 weights") != std::string::npos);
  CHECK(after("features 6", "features 7").find("expected a finite number for a weight") != std::string::npos);
  CHECK(after("features 6", "features 1000000000000").find("expected a finite number") != std::string::npos);
  CHECK(after("intercept ", "intercept nan ") == ":6: expected a finite number for intercept");
  CHECK(after("weights", "weights 1") == ":7: unexpected '1'");
  CHECK(after("e-17", "e999").find("expected a finite number") != std::string::npos);
  CHECK(after("intercept 0.1", "# intercept 0.1").find(":6: unknown item") == 0);
}

TEST_CASE("no single changed byte crashes the reader") {
  const Folder folder;
  const std::string path = folder.file("m");
  example().save(path);
  const std::string text = read(path);
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char byte : {'\0', '%', '9', '-', ' ', '\n', '\xFF'}) {
      std::string damaged = text;
      damaged[at] = byte;
      write(path, damaged);
      try {
        Model::load(path);  // some changes give another good model
      } catch (const FileError&) {
      }
    }
}

TEST_CASE("decision values are w·x + b, the same bits for any number of threads") {
  test::Random random(29);
  const Matrix means = random.normals(5000, 13);
  Model model;
  model.w = random.normals(13);
  model.b = 0.25;
  const DenseMeans<double> view(means.data(), means.rows(), means.cols());
  const std::vector<double> one = decision_values(view, model.w, model.b, 1);
  REQUIRE(one.size() == 5000);
  for (Index i = 0; i < 5000; i += 97)
    CHECK(one[static_cast<std::size_t>(i)] == doctest::Approx(model.decision(means.row(i).transpose())).epsilon(1e-14));
  for (const int threads : {2, 3, 8}) CHECK(decision_values(view, model.w, model.b, threads) == one);
}
