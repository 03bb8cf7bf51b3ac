// Wrong sizes, null pointers and places outside through every public header: each is an InvalidArgument that names the
// argument, and none reads memory that is not there.
#include <doctest/doctest.h>

#include "helpers.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

bool names(const std::string& argument, const std::function<void()>& action) {
  const std::string message = message_of(action);
  CAPTURE(message);
  return message.rfind(argument + ":", 0) == 0;
}

struct Small {
  Matrix means = Random(3).normals(6, 4);
  Vector labels = (Vector(6) << 1, -1, 1, -1, 1, -1).finished();
  Gaussians data{means, CovarianceSum()};
  TrainingSet set{means, CovarianceSum(), labels};
};

}  // namespace

TEST_CASE("means without an array") {
  CHECK(names("means", [] { DenseMeans<double>(nullptr, 2, 3); }));
  CHECK(names("means", [] { DenseMeans<float>(nullptr, -2, 3); }));
  CHECK(names("means", [] { SparseMeans<double>({nullptr, nullptr, nullptr, 2, 3}); }));
  CHECK(names("means", [] { Gaussians(nullptr, CovarianceSum()); }));
  const Index start[3] = {0, 1, 2};
  CHECK(names("means", [&] { SparseMeans<double>({nullptr, nullptr, start, 2, 3}); }));
}

TEST_CASE("covariances without an array, or of another size") {
  const Small small;
  CHECK(names("covariance", [] { Diagonal<double>(nullptr, 2, 3); }));
  CHECK(names("covariance", [] { Isotropic<double>(nullptr, 2); }));
  CHECK(names("covariance", [] { Full<float>(nullptr, 2, 3); }));
  CHECK(names("covariance", [] { LowRank<double>(nullptr, 2, 1, 3); }));
  CHECK(names("covariance", [&] { LowRank<double>(small.means.data(), 2, -1, 3); }));
  CHECK(names("covariance", [&] { LowRank<double>(small.means.data(), nullptr, 2, 4); }));
  const Index falls[3] = {0, 2, 1};
  CHECK(names("covariance", [&] { LowRank<double>(small.means.data(), falls, 2, 4); }));
  CHECK(names("covariance", [] { Shared(nullptr, 1, 3, true, nullptr, 0); }));
  CHECK(names("covariance", [&] { Shared(small.means.data(), 2, 4, true, nullptr, 6); }));
  const Matrix wide = Matrix::Ones(6, 5), tall = Matrix::Ones(7, 4);
  CHECK(names("covariance", [&] { Gaussians(small.means, Diagonal<double>(wide)); }));
  CHECK(names("covariance", [&] { Gaussians(small.means, Diagonal<double>(tall)); }));
  CHECK(names("covariance", [] { CovarianceSum sum = -1.0 * CovarianceSum(); }));
}

TEST_CASE("subspaces of another number of examples or features") {
  const Small small;
  const CovarianceSum covariance = Diagonal<double>(small.means);
  CHECK(names("covariance", [&] { eigen_subspaces(covariance, 7, 4, 0.9, 1); }));
  CHECK(names("covariance", [&] { eigen_subspaces(covariance, 6, 5, 0.9, 1); }));
  CHECK(names("p", [&] { eigen_subspaces(covariance, 6, 4, 0, 1); }));
}

TEST_CASE("places outside") {
  const Small small;
  for (const Index outside : {Index{-1}, Index{6}}) {
    CHECK(names("positions", [&] { small.data.some({0, outside}); }));
    CHECK(names("positions", [&] { small.set.targets.some({outside}); }));
    const std::vector<Index> rows = {outside};
    const auto means = std::make_shared<DenseMeans<double>>(small.means.data(), 6, 4);
    CHECK(names("rows", [&] { Gaussians(means, CovarianceSum(), &rows); }));
    OneGaussian one;
    CHECK(names("example", [&] { one.read(small.data, outside); }));
    Vector gw;
    double gb = 0;
    const MemoryObjective objective(small.set, 0.1);
    CHECK(names("sample", [&] { objective.sample_gradient(Vector::Zero(4), 0, {outside}, gw, gb); }));
  }
}

TEST_CASE("targets of another number or kind") {
  const Small small;
  CHECK(names("labels", [&] { TrainingSet(small.data, Targets::labels(Vector(Vector::Ones(5)))); }));
  CHECK(names("targets", [&] { TrainingSet(small.data, Targets::values(Vector(Vector::Ones(5)))); }));
  CHECK(names("weights", [&] { TrainingSet(small.data, Targets::labels(small.labels, Vector::Ones(5))); }));
  CHECK(names("labels", [&] { Targets::labels(Vector(Vector::Zero(3))); }));
  Options options;
  options.loss = make_loss("squared");
  CHECK(names("loss", [&] { train(small.set, options); }));
  options.loss = make_loss("hinge");
  CHECK(names("loss", [&] { train(small.data, Targets::values(small.labels), options); }));
}

TEST_CASE("points of another length") {
  const Small small;
  const MemoryObjective objective(small.set, 0.1);
  for (const Index length : {Index{0}, Index{3}, Index{5}}) {
    const Vector w = Vector::Zero(length);
    CHECK(names("w", [&] { objective.value(w, 0); }));
    CHECK(names("w", [&] { objective.evaluate(w, 0); }));
    CHECK(names("w", [&] { objective.certify(w, 0); }));
    CHECK(names("w", [&] { objective.best_intercept(w); }));
    CHECK(names("w", [&] { prove(objective, w, 0); }));
    CHECK(names("start_w", [&] { solve(objective, Options(), {}, &w, 0); }));
    CHECK(names("w", [&] { decision_values(*std::make_shared<DenseMeans<double>>(small.means.data(), 6, 4), w, 0); }));
  }
  Options options;
  options.tolerance = -1;
  CHECK(names("tolerance", [&] { solve(objective, options); }));
  CHECK(names("w", [&] { margins(Planes{nullptr, nullptr, 1, 4}, small.data); }));
}

TEST_CASE("Gaussians whose parts do not fit a map") {
  const Fourier fourier(Matrix::Ones(2, 4));
  const Landmarks landmarks(Matrix::Ones(3, 4), Matrix(Matrix::Identity(4, 4)));
  const Polynomial polynomial(4);
  for (const Map* map :
       {static_cast<const Map*>(&fourier), static_cast<const Map*>(&landmarks), static_cast<const Map*>(&polynomial)}) {
    Vector out(map->outputs());
    Matrix matrix;
    const auto refuses = [&](const std::string& argument, const OneGaussian& g) {
      CHECK(names(argument, [&] { map->mean(g, out.data()); }));
      CHECK(names(argument, [&] { map->variances(g, out.data()); }));
      CHECK(names(argument, [&] { map->covariance(g, matrix); }));
      CHECK(names(argument, [&] { map->jacobian(g, matrix); }));
    };
    OneGaussian g;
    g.x = Vector::Ones(3);
    refuses("map", g);
    g.x = Vector::Ones(4);
    g.diagonal = Vector::Ones(3);
    refuses("diagonal", g);
    g.diagonal.resize(0);
    g.factors = Matrix::Ones(1, 5);
    refuses("factors", g);
    g.factors.resize(0, 0);
    g.dense = Matrix::Ones(4, 3);
    refuses("dense", g);
    g.dense.resize(0, 0);
    double mean = 0, variance = 0;
    CHECK(names("w", [&] { map->scores(g, Matrix::Ones(1, map->outputs() - 1), &mean, &variance); }));
  }
}

TEST_CASE("a model knows its loss") {
  const Vector w = Vector::Ones(2);
  CHECK(Model(w, 0.5, 0.1, "logistic").loss == "logistic");
  CHECK(names("loss", [&] { Model(w, 0, 0.1, "squared"); }));
  CHECK(names("loss", [&] { Model::regression(w, 0, 0.1, "hinge"); }));
  CHECK(names("weights", [&] { Model(Vector(), 0, 0.1, "hinge"); }));
  CHECK(names("x", [&] { Model(w, 0, 0.1, "hinge").decision(Vector::Ones(3)); }));
}
