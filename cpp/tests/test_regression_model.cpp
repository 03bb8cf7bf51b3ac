// Regressions in model files: what is saved comes back exactly, and classes are asked of classifiers alone.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "svmgsu/models/model.hpp"

using namespace svmgsu;

namespace {

Model sample() {
  Model model = Model::regression((Vector(3) << 1.0 / 3, -0.0, 1e300).finished(), 0.1, 1e-3, "huber");
  model.loss_parameter = 0.7;
  model.scatter = 2.0 / 3;
  model.names = {"u", "g r", ""};
  return model;
}

Model through_a_file(const Model& model) {
  std::stringstream file;
  model.write(file);
  return Model::read(file, "m");
}

std::string complaint(const std::string& more) {
  std::istringstream file("svmgsu-model 3\ntask regression\nlambda 1\n" + more +
                          "features 1\nintercept 0\nweights\n1\nend\n");
  try {
    Model::read(file, "m");
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a regression comes back from its file exactly") {
  const Model model = sample(), loaded = through_a_file(model);
  CHECK(loaded.task == Task::regression);
  CHECK(loaded.hyperplanes() == 1);
  CHECK(loaded.labels.empty());
  CHECK(loaded.w == model.w);
  CHECK(loaded.b == model.b);
  CHECK(loaded.lambda == model.lambda);
  CHECK(loaded.loss == "huber");
  CHECK(loaded.loss_parameter == 0.7);
  CHECK(loaded.scatter == model.scatter);
  CHECK(loaded.names == model.names);
}

TEST_CASE("the squared loss and what is not known need no line") {
  std::ostringstream file;
  Model::regression(Vector::Constant(2, 1.0), 0.5, 0.1).write(file);
  CHECK(file.str().find("loss") == std::string::npos);
  CHECK(file.str().find("scatter") == std::string::npos);
  const Model loaded = through_a_file(Model::regression(Vector::Constant(2, 1.0), 0.5, 0.1));
  CHECK(loaded.loss == "squared");
  CHECK(std::isnan(loaded.loss_parameter));
  CHECK(std::isnan(loaded.scatter));
}

TEST_CASE("a parameter that is left to the loss is written out") {
  Model model = sample();
  model.loss_parameter = std::numeric_limits<double>::quiet_NaN();
  CHECK(through_a_file(model).loss_parameter == 1.35);
}

TEST_CASE("a loss is one of its task, whatever the order of the lines") {
  CHECK(complaint("") == "");
  CHECK(complaint("loss huber 2\n") == "");
  CHECK(complaint("loss hinge\n") == "m:4: loss: 'hinge' is none that this svmgsu knows for regressions");
  CHECK(complaint("loss huber\n") == "m:4: loss: 'huber' needs the number that is its parameter");
  CHECK(complaint("loss huber 0\n") == "m:4: delta: must be > 0 and finite, got 0");
  CHECK(complaint("loss squared 1\n") == "m:4: loss: 'squared' has no parameter");
  CHECK(complaint("scatter -1\n") == "m:4: scatter: expected a number >= 0");
  CHECK(complaint("labels int 0 1\n").find("labels: a regression has none") != std::string::npos);
}

TEST_CASE("what a regression cannot have is not written, and classes are not asked of it") {
  std::ostringstream out;
  CHECK_THROWS_WITH_AS(sample().write(out, ModelFormat::gsvm),
                       "format: gsvm files hold classifiers, and this model is a regression; save it as svmgsu",
                       InvalidArgument);
  Model model = sample();
  CHECK(model.decision(Vector::Zero(3))(0) == 0.1);
  CHECK_THROWS_AS(model.predict(Vector::Zero(1)), InvalidArgument);
  CHECK_THROWS_AS(model.probabilities(Vector::Zero(1)), InvalidArgument);
  model.labels = {"0", "1"};
  CHECK_THROWS_AS(model.write(out), InvalidArgument);
  model = sample();
  model.loss = "hinge";
  CHECK_THROWS_AS(model.write(out), InvalidArgument);
  model = sample();
  model.loss_parameter = -1;
  CHECK_THROWS_AS(model.write(out), InvalidArgument);
  CHECK(out.str().empty());
}
