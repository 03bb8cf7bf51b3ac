// Model files: what is saved comes back exactly, and nothing else is taken for a model.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "folder.hpp"
#include "helpers.hpp"
#include "svmgsu/models/model.hpp"

using namespace svmgsu;
using svmgsu::test::Folder;

namespace {

Model sample() {
  Vector w(6);
  w << 1.0 / 3, -0.0, std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
      std::numeric_limits<double>::denorm_min(), -1e-17;
  Model model(w, 0.1, 1e-3, "hinge");
  model.calibration = {Calibration(1.7, -0.2, 0.3, -2.5)};
  model.label_type = "str";
  model.labels = {"no planet", "exo%planet\n\xC3\xA9"};
  return model;
}

Model model_of_three() {
  Model model;
  model.w = test::Random(31).normals(3, 4);
  model.b = test::Random(32).normals(3);
  model.lambda = 0.1;
  for (int k = 0; k < 3; ++k) {
    model.calibration.emplace_back(1.0 + k, -0.1 * k, 0.7, -0.7 * k);
  }
  model.label_type = "str";
  model.labels = {"star", "galaxy", "quasi stellar"};
  model.multi_class = MultiClass::ovr;
  return model;
}

Model regression() {
  Model model = Model::regression((Vector(3) << 1.0 / 3, -0.0, 1e300).finished(), 0.1, 1e-3, "huber");
  model.loss_parameter = 0.7;
  model.scatter = 2.0 / 3;
  model.names = {"u", "g r", ""};
  return model;
}

Model of_labels(const std::string& negative, const std::string& positive) {
  Model model = sample();
  model.labels = {negative, positive};
  return model;
}

Model from_text(const std::string& text) {
  std::istringstream file(text);
  return Model::read(file, "m");
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
  Model model = sample();
  SUBCASE("with probabilities and odd labels") {}
  SUBCASE("without probabilities") { model.calibration.clear(); }
  SUBCASE("with an empty label") { model.labels = {"", "%"}; }
  SUBCASE("of three classes") { model = model_of_three(); }
  SUBCASE("of pairs of classes") {
    model = model_of_three();
    model.multi_class = MultiClass::ovo;
  }
  SUBCASE("of a regression") { model = regression(); }
  SUBCASE("of a regression with default settings") { model = Model::regression(Vector::Constant(2, 1.0), 0.5, 0.1); }
  SUBCASE("with shares and weights of the classes") {
    model.prior = (Vector(2) << 0.9, 0.1).finished();
    model.class_weight = (Vector(2) << 1.0 / 3, 5).finished();
  }
  SUBCASE("of another loss") { model.loss = "logistic"; }
  SUBCASE("with names") { model.names = {"flux", "", "a b", "%41", "\xC3\xA9\n\r", "\xF0\x9F\x90\x88"}; }
  model.save(folder.file("m"));
  const Model loaded = Model::load(folder.file("m"));
  REQUIRE(loaded.w.rows() == model.w.rows());
  REQUIRE(loaded.w.cols() == model.w.cols());
  for (Index j = 0; j < model.w.size(); ++j) {
    CHECK(loaded.w.data()[j] == model.w.data()[j]);
    CHECK(std::signbit(loaded.w.data()[j]) == std::signbit(model.w.data()[j]));
  }
  CHECK(loaded.task == model.task);
  CHECK(loaded.multi_class == model.multi_class);
  CHECK(loaded.b == model.b);
  CHECK(loaded.lambda == model.lambda);
  CHECK(loaded.loss == model.loss);
  for (const auto number : {&Model::loss_parameter, &Model::scatter})
    CHECK((loaded.*number == model.*number || (std::isnan(loaded.*number) && std::isnan(model.*number))));
  REQUIRE(loaded.calibration.size() == model.calibration.size());
  for (std::size_t k = 0; k < model.calibration.size(); ++k) {
    const Calibration &got = loaded.calibration[k], &wanted = model.calibration[k];
    CHECK(got.a == wanted.a);
    CHECK(got.b == wanted.b);
    CHECK(got.kappa == wanted.kappa);
    CHECK(got.base == wanted.base);
  }
  CHECK(loaded.label_type == model.label_type);
  CHECK(loaded.labels == model.labels);
  CHECK(loaded.names == model.names);
  CHECK(loaded.prior == model.prior);
  CHECK(loaded.class_weight == model.class_weight);
  CHECK(folder.entries() == 1);
}

TEST_CASE("columns are put in the order of the model by their names") {
  Model model((Vector(3) << 1, 10, 100).finished(), 0, 1, "hinge");
  model.names = {"u", "g", "r"};
  const Matrix rows = (Matrix(2, 3) << 3, 1, 2, 6, 4, 5).finished();
  const Matrix ordered = model.in_order(rows, {"r", "u", "g"});
  CHECK(ordered == (Matrix(2, 3) << 1, 2, 3, 4, 5, 6).finished());
  CHECK_THROWS_WITH_AS(model.in_order(rows, {"r", "u", "i"}),
                       "X: its features are not those of the model: missing 'g'; unknown 'i'", InvalidArgument);
  CHECK_THROWS_WITH_AS(model.in_order(rows, {"r", "u", "u"}), "X: feature 'u' is there twice", InvalidArgument);
  CHECK_THROWS_WITH_AS(model.in_order(rows, {"r", "u"}), "columns: 2 names for 3 columns", InvalidArgument);
  model.names.clear();
  CHECK_THROWS_AS(model.in_order(rows, {"r", "u", "g"}), InvalidArgument);
}

TEST_CASE("names that do not fit the weights or that no file can hold are not written") {
  Model model((Vector(2) << 1, 2).finished(), 0, 1, "hinge");
  std::ostringstream out;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a"}, {"a", "a"}, {"a", "\xFF"}, {"a", "\xED\xA0\x80"}, {"a", "\xE2\x82"}}) {
    model.names = names;
    CHECK_THROWS_AS(model.write(out), InvalidArgument);
  }
}

TEST_CASE("a stream is read and written like a file, and messages call it by the name given") {
  std::stringstream stream;
  model_of_three().write(stream);
  const Model back = Model::read(stream, "pipe");
  CHECK(back.w == model_of_three().w);
  CHECK(back.labels == model_of_three().labels);
  std::istringstream wrong("svmgsu-model 3\nlabels int 1 2\nlambda x\n");
  CHECK_THROWS_WITH_AS(Model::read(wrong, "pipe"), "pipe:3: expected a finite number for lambda", FileError);
}

TEST_CASE("a file with Windows line ends is read") {
  const Folder folder;
  sample().save(folder.file("m"));
  std::string text;
  for (const char c : read(folder.file("m"))) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  write(folder.file("m"), text);
  CHECK(Model::load(folder.file("m")).labels == sample().labels);
}

TEST_CASE("a file that ends early is refused wherever it is cut") {
  const Folder folder;
  SUBCASE("two classes") { sample().save(folder.file("m")); }
  SUBCASE("three classes") { model_of_three().save(folder.file("m")); }
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
  sample().save(path);
  const std::string text = read(path);
  const auto after = [&](const std::string& from, const std::string& to) {
    write(path, replaced(text, from, to));
    return complaint(path);
  };
  CHECK(complaint(folder.file("absent")) == ": cannot be opened");
  CHECK(after("svmgsu-model 3", "something 2") == ":1: not an svmgsu model");
  CHECK(after("svmgsu-model 3", "svmgsu-model 0") == ":1: format 0 does not exist");
  CHECK(after("svmgsu-model 3", "svmgsu-model 4").find(":1: written by a newer svmgsu") == 0);
  CHECK(after("no%20planet", "no%2planet").find(":2: ") == 0);
  CHECK(after("lambda ", "lambda x") == ":3: expected a finite number for lambda");
  CHECK(after("lambda ", "lambada ") == ":3: unknown item 'lambada'; was it written by a newer svmgsu?");
  CHECK(after("lambda ", "lambda -") == ":3: lambda: expected a number > 0");
  const std::string unknown = " is none that this svmgsu knows for classifiers";
  CHECK(after("features 6", "features 6\nloss absolute") == ":6: loss: 'absolute'" + unknown);
  CHECK(after("features 6", "features 6\nloss huber") == ":6: loss: 'huber'" + unknown);
  CHECK(after("features 6", "features 6\nloss") == ":6: loss: ''" + unknown);
  CHECK(after("features 6", "features 6\nfeatures 6") == ":6: 'features' is there twice");
  CHECK(after("features 6", "features 6\nnames a b") == ":8: names: 2 for 6 features");
  CHECK(after("features 6", "features 6\nnames a b c d e a") == ":6: names: 'a' is there twice");
  CHECK(after("features 6", "features 6\nnames a b c d e \xC3").find(":6: names: name 6 is not UTF-8") == 0);
  CHECK(after("features 6", "features -6") == ":5: features: expected a positive count");
  CHECK(after("features 6", "features 0") == ":5: features: expected a positive count");
  CHECK(after("features 6", "features 5").find("expected 'end' after 5 weights") != std::string::npos);
  CHECK(after("features 6", "features 7").find("expected a finite number for a weight") != std::string::npos);
  CHECK(after("features 6", "features 1000000000000").find("expected a finite number") != std::string::npos);
  CHECK(after("intercept ", "intercept nan ") == ":6: expected a finite number for intercept");
  CHECK(after("weights", "weights 1") == ":7: unexpected '1'");
  CHECK(after("e-17", "e999").find("expected a finite number") != std::string::npos);
  CHECK(after("intercept 0.1", "; intercept 0.1").find(":6: unknown item") == 0);
}

TEST_CASE("a model of the authors comes back exactly, and what their files cannot hold is refused") {
  const Folder folder;
  Model model = of_labels("-1", "1");
  for (const char* type : {"full", "", "isotropic", "diagonal"}) {
    model.cov_mat_type = type;
    model.save(folder.file("m"), ModelFormat::gsvm);
    CHECK(Model::load(folder.file("m")).cov_mat_type == type);
  }
  const Model loaded = Model::load(folder.file("m"));
  CHECK(loaded.w == model.w);
  CHECK(loaded.b == model.b);
  CHECK(loaded.lambda == model.lambda);
  CHECK(loaded.labels == model.labels);
  CHECK(loaded.calibration[0].a == model.calibration[0].a);
  CHECK(loaded.calibration[0].b == model.calibration[0].b);
  CHECK_THROWS_AS(sample().save(folder.file("n"), ModelFormat::gsvm), InvalidArgument);
  CHECK_THROWS_AS(model_of_three().save(folder.file("n"), ModelFormat::gsvm), InvalidArgument);
  model.cov_mat_type = "full\nb 7";
  CHECK_THROWS_AS(model.save(folder.file("n"), ModelFormat::gsvm), InvalidArgument);
  CHECK(folder.entries() == 1);
  write(folder.file("m"), replaced(read(folder.file("m")), "linear", "rbf"));
  CHECK(complaint(folder.file("m")) == ":2: a model with kernel 'rbf'; only linear ones are supported");
}

TEST_CASE("a parameter that is left to the loss is written out, and what is not known needs no line") {
  Model model = regression();
  model.loss_parameter = std::numeric_limits<double>::quiet_NaN();
  std::stringstream file;
  model.write(file);
  CHECK(Model::read(file, "m").loss_parameter == 1.35);
  std::ostringstream text;
  Model::regression(Vector::Constant(2, 1.0), 0.5, 0.1).write(text);
  CHECK(text.str().find("loss") == std::string::npos);
  CHECK(text.str().find("scatter") == std::string::npos);
}

TEST_CASE("a file that does not say so is of one class against the rest") {
  const Model model =
      from_text("svmgsu-model 3\nlabels int 1 2 3\nlambda 1\nfeatures 1\nintercept 1 2 3\nweights\n1 2 3\nend\n");
  CHECK(model.multi_class == MultiClass::ovr);
}

TEST_CASE("a loss is one of its task, whatever the order of the lines") {
  const auto complaint_of = [](const std::string& more) -> std::string {
    try {
      from_text("svmgsu-model 3\ntask regression\nlambda 1\n" + more + "features 1\nintercept 0\nweights\n1\nend\n");
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint_of("") == "");
  CHECK(complaint_of("loss huber 2\n") == "");
  CHECK(complaint_of("loss hinge\n") == "m:4: loss: 'hinge' is none that this svmgsu knows for regressions");
  CHECK(complaint_of("loss huber\n") == "m:4: loss: 'huber' needs the number that is its parameter");
  CHECK(complaint_of("loss huber 0\n") == "m:4: delta: must be > 0 and finite, got 0");
  CHECK(complaint_of("loss squared 1\n") == "m:4: loss: 'squared' has no parameter");
  CHECK(complaint_of("scatter -1\n") == "m:4: scatter: expected a number >= 0");
  CHECK(complaint_of("labels int 0 1\n").find("labels: a regression has none") != std::string::npos);
}

TEST_CASE("what a regression cannot have is not written") {
  std::ostringstream out;
  CHECK_THROWS_WITH_AS(regression().write(out, ModelFormat::gsvm),
                       "format: gsvm files hold classifiers, and this model is a regression; save it as svmgsu",
                       InvalidArgument);
  Model model = regression();
  SUBCASE("labels") { model.labels = {"0", "1"}; }
  SUBCASE("a loss of classifiers") { model.loss = "hinge"; }
  SUBCASE("a wrong parameter") { model.loss_parameter = -1; }
  CHECK_THROWS_AS(model.write(out), InvalidArgument);
  CHECK(out.str().empty());
}
