// Wrong sizes, null pointers and places outside through every public header: each is an InvalidArgument that names the
// argument, and none reads memory that is not there.
#include <fstream>

#include "engines/hessian.hpp"
#include "engines/line.hpp"
#include "engines/streamed.hpp"
#include "folder.hpp"
#include "models/prediction.hpp"
#include "refusals.hpp"
#include "support/poll.hpp"
#include "svmgsu/kinds/covariance.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

struct Small {
  Matrix means = Random(3).normals(6, 4);
  Vector labels = (Vector(6) << 1, -1, 1, -1, 1, -1).finished();
  Gaussians data{means, CovarianceSum()};
  TrainingSet set{means, CovarianceSum(), labels};
};

}  // namespace

const double* const nothing = nullptr;
const float* const no_floats = nullptr;

TEST_CASE("means without an array") {
  CHECK(names("means", [&] { Gaussians({nothing, 2, 3}, CovarianceSum()); }));
  CHECK(names("means", [&] { Gaussians({no_floats, -2, 3}, CovarianceSum()); }));
  CHECK(names("means", [&] { Gaussians({nothing, nullptr, nullptr, 2, 3}, CovarianceSum()); }));
  CHECK(names("means", [] { Gaussians(Rows(), CovarianceSum()); }));
  const Index start[3] = {0, 1, 2};
  CHECK(names("means", [&] { Gaussians({nothing, nullptr, start, 2, 3}, CovarianceSum()); }));
}

TEST_CASE("covariances without an array, or of another size") {
  const Small small;
  CHECK(names("covariance", [&] { Diagonal({nothing, 2, 3}); }));
  CHECK(names("covariance", [&] { Isotropic({nothing, 2, 1}); }));
  CHECK(names("covariance", [&] { Full({no_floats, 2, 6}); }));
  CHECK(names("covariance", [&] { LowRank({nothing, 2, 3}, 1); }));
  CHECK(names("covariance", [&] { LowRank(small.means, -1); }));
  CHECK(names("covariance", [&] { LowRank(small.means, nullptr, 2); }));
  const Index falls[3] = {0, 2, 1};
  CHECK(names("covariance", [&] { LowRank(small.means, falls, 2); }));
  CHECK(names("covariance", [&] { Shared(Diagonal({nothing, 1, 3})); }));
  CHECK(names("covariance", [&] { Shared(Diagonal(small.means)); }));
  const Matrix wide = Matrix::Ones(6, 5), tall = Matrix::Ones(7, 4);
  CHECK(names("covariance", [&] { Gaussians(small.means, Diagonal(wide)); }));
  CHECK(names("covariance", [&] { Gaussians(small.means, Diagonal(tall)); }));
  CHECK(names("covariance", [] { CovarianceSum sum = -1.0 * CovarianceSum(); }));
}

TEST_CASE("subspaces of another number of samples or features") {
  const Small small;
  const CovarianceSum covariance = Diagonal(small.means);
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
    const Rows means(small.means);
    CHECK(names("rows", [&] { Gaussians(means, CovarianceSum(), &rows); }));
    OneGaussian one;
    CHECK(names("sample", [&] { one.read(small.data, outside); }));
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
  const Objective objective(small.set, 0.1);
  for (const Index length : {Index{0}, Index{3}, Index{5}}) {
    const Vector w = Vector::Zero(length);
    CHECK(names("w", [&] { objective.value(w, 0); }));
    CHECK(names("w", [&] { objective.evaluate(w, 0); }));
    CHECK(names("w", [&] { objective.certify(w, 0); }));
    CHECK(names("w", [&] { objective.best_intercept(w); }));
    CHECK(names("w", [&] { prove(objective, w, 0); }));
    CHECK(names("start_w", [&] { solve(objective, Options(), {}, &w, 0); }));
  }
  Options options;
  options.tolerance = -1;
  CHECK(names("tolerance", [&] { solve(objective, options); }));
  CHECK(names("w", [&] { margins(Planes{nullptr, nullptr, 1, 4}, small.data); }));
}

TEST_CASE("Gaussians whose parts do not fit a map") {
  const Fourier fourier(Matrix::Ones(2, 4));
  const Polynomial polynomial(4);
  for (const Map* map : {static_cast<const Map*>(&fourier), static_cast<const Map*>(&polynomial)}) {
    Vector out(map->outputs());
    Matrix matrix;
    const auto refuses = [&](const std::string& argument, const OneGaussian& g) {
      CHECK(names(argument, [&] { map->mean(g, out.data()); }));
      CHECK(names(argument, [&] { map->variances(g, out.data()); }));
      CHECK(names(argument, [&] { map->covariance(g, matrix); }));
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
    CHECK(names("out", [&] { map->mean(g, nullptr); }));
    CHECK(names("out", [&] { map->variances(g, nullptr); }));
    CHECK(names("w", [&] { g.times(Matrix::Ones(1, 3), matrix); }));
    g.diagonal = Vector::Ones(5);
    CHECK(names("diagonal", [&] { g.times(Matrix::Ones(1, 4), matrix); }));
    CHECK(names("diagonal", [&] { g.full(matrix); }));
  }
}

TEST_CASE("a model knows its loss") {
  const Vector w = Vector::Ones(2);
  CHECK(Model(w, 0.5, 0.1, "logistic").loss == "logistic");
  CHECK(names("loss", [&] { Model(w, 0, 0.1, "squared"); }));
  CHECK(names("loss", [&] { Model::regression(w, 0, 0.1, "hinge"); }));
  CHECK(names("weights", [&] { Model(Vector(), 0, 0.1, "hinge"); }));
}

TEST_CASE("moments of maps with weights that are none, or without room") {
  const Small small;
  const Polynomial map(4);
  Vector weights = Vector::Ones(6);
  CHECK(names("mean", [&] { map_moments<double>(map, small.data, {}, Spread::none, nullptr); }));
  double room[6 * 14];
  for (const double wrong : {-1.0, kNaN, kInfinity}) {
    weights(4) = wrong;
    const Blend blend{weights.data(), 2};
    CHECK(names("blend", [&] { map_moments<double>(map, small.data, blend, Spread::none, room); }));
  }
  CHECK(names("frequencies", [] { Fourier(Matrix::Constant(2, 2, kNaN)); }));
  const Matrix waves = Matrix::Ones(1, 4);
  const auto expect = [&](const std::string& argument, const std::function<void(MixtureArrays&)>& change, double* out) {
    MixtureArrays arrays;
    arrays.samples = 6;
    arrays.features = 4;
    arrays.means = small.means.data();
    change(arrays);
    CHECK(names(argument, [&] { expected_waves(waves, arrays, Matrix(), out, 1); }));
  };
  expect("out", [](MixtureArrays&) {}, nullptr);
  expect("data", [](MixtureArrays& a) { a.means = nullptr; }, room);
  expect("data", [](MixtureArrays& a) { a.samples = -1; }, room);
  expect("data", [](MixtureArrays& a) { a.components = 0; }, room);
  expect("frequencies", [](MixtureArrays& a) { a.features = -4; }, room);
  expect("data", [](MixtureArrays& a) { a.features = 3, a.known = 1; }, room);
}

TEST_CASE("full matrices without an array, or of sizes that are none") {
  double full[4] = {1, 0, 0, 1}, packed[3] = {1, 0, 1};
  CHECK(names("full", [&] { pack<double>(nullptr, 1, 2, 0, 1, packed); }));
  CHECK(names("packed", [&] { pack<double>(full, 1, 2, 0, 1, nullptr); }));
  CHECK(names("samples", [&] { pack(full, -1, 2, 0, 1, packed); }));
  for (const Index n : {Index{-2}, Index{1} << 40}) {
    CHECK(names("n", [&] { pack(full, 1, n, 0, 1, packed); }));
    CHECK(names("n", [&] { clip_indefinite(packed, 1, n, 0, 0, 1); }));
  }
  CHECK(names("samples", [&] { clip_indefinite(packed, -1, 2, 0, 0, 1); }));
  CHECK(names("packed", [] { clip_indefinite<float>(nullptr, 1, 2, 0, 0, 1); }));
  for (const double wrong : {-1.0, kNaN}) {
    CHECK(names("tolerance", [&] { pack(full, 1, 2, wrong, 1, packed); }));
    CHECK(names("tolerance", [&] { clip_indefinite(packed, 1, 2, 0, wrong, 1); }));
    CHECK(names("rounding", [&] { clip_indefinite(packed, 1, 2, wrong, 1, 1); }));
  }
}

TEST_CASE("losses of numbers that are none") {
  for (const double wrong : {-1.0, kInfinity, -kInfinity}) {
    CHECK(names("delta", [&] { make_loss("huber", wrong); }));
    CHECK(names("epsilon", [&] { make_loss("epsilon_insensitive", wrong); }));
    CHECK(names("epsilon", [&] { make_loss("squared_epsilon_insensitive", wrong); }));
    CHECK(names("loss", [&] { make_loss("hinge", wrong); }));
  }
  CHECK(names("delta", [] { make_loss("huber", 0); }));
  CHECK_THROWS_WITH_AS(make_loss("hing"), doctest::Contains("loss: 'hing' is not known; it must be one of hinge"),
                       InvalidArgument);
  CHECK(names("d", [] { expected_hinge(kNaN, 1); }));
  for (const double wrong : {-1.0, kNaN}) {
    CHECK(names("s", [&] { expected_hinge(1, wrong); }));
    CHECK(names("s", [&] { probability_right(1, wrong); }));
  }
  CHECK(names("signed_margin", [] { probability_right(kNaN, 0); }));
}

TEST_CASE("calibration of scores, classes and weights that are none") {
  const std::vector<double> scores = {-1, 0, 1, 2}, signs = {-1, 1, -1, 1};
  const auto with = [](std::vector<double> list, double value) {
    list[2] = value;
    return list;
  };
  const std::vector<double> ones(4, 1.0);
  for (const double wrong : {-1.0, kNaN, kInfinity}) {
    CHECK(names("weights", [&] { fit_platt(scores, signs, with(ones, wrong)); }));
    CHECK(names("weights", [&] { fit_calibration({scores, {}, signs, with(ones, wrong)}); }));
    CHECK(names("weights", [&] { own_calibration({scores, {}, signs, with(ones, wrong)}, 0); }));
    CHECK(names("weights", [&] { log_prior_odds(signs, with(ones, wrong)); }));
    CHECK(names("variances", [&] { fit_calibration({scores, with(ones, wrong), signs, {}}); }));
  }
  for (const double wrong : {kNaN, kInfinity, -kInfinity}) {
    CHECK(names("margins", [&] { fit_platt(with(scores, wrong), signs); }));
    CHECK(names("margins", [&] { fit_calibration({with(scores, wrong), {}, signs, {}}); }));
    CHECK(names("trained_odds", [&] { own_calibration({scores, {}, signs, {}}, wrong); }));
  }
  for (const double wrong : {kNaN, 0.0, 2.0}) {
    CHECK(names("signs", [&] { fit_platt(scores, with(signs, wrong)); }));
    CHECK(names("signs", [&] { fit_calibration({scores, {}, with(signs, wrong), {}}); }));
    CHECK(names("signs", [&] { log_prior_odds(with(signs, wrong), ones); }));
  }
  const std::vector<double> zeros(4, 0.0);
  CHECK(names("weights", [&] { fit_platt(scores, signs, zeros); }));
  CHECK(names("weights", [&] { fit_calibration({scores, {}, signs, zeros}); }));
  CHECK(names("weights", [&] { fit_platt(scores, signs, {1, 1}); }));
  CHECK(names("weights", [&] { log_prior_odds(signs, {}); }));
  CHECK(names("without_noise", [&] { fit_calibration({scores, {}, signs, {}}, 1.5); }));
}

TEST_CASE("calibrations and class priors that are no numbers") {
  const Small small;
  const Vector shares = (Vector(2) << 0.5, kInfinity).finished();
  Model model(Vector::Ones(4), 0, 0.1, "hinge");
  model.calibration = {Calibration()};
  model.prior = shares;
  CHECK(names("prior", [&] { model.probabilities(small.data); }));
  model.prior = Vector();
  model.class_weight = shares;
  CHECK(names("class_weight", [&] { model.predict(small.data); }));
  model.class_weight = Vector();
  model.calibration[0].a = kNaN;
  CHECK(names("calibration", [&] { model.probabilities(small.data); }));
}

TEST_CASE("hyperplanes that are not there") {
  const Small small;
  const double b[1] = {0}, none[4] = {0, 0, kNaN, 0}, zeros[4] = {0, 0, 0, 0};
  CHECK(names("w", [&] { decision_values(Planes{nullptr, b, 1, 4}, small.data); }));
  CHECK(names("b", [&] { margins(Planes{zeros, nullptr, 1, 4}, small.data); }));
  CHECK(names("count", [&] { decision_values(Planes{zeros, b, -1, 4}, small.data); }));
  CHECK(names("count", [&] { margins(Planes{zeros, b, -1, 4}, small.data); }));
  CHECK(names("w", [&] { decision_values(Planes{none, b, 1, 4}, small.data); }));
  CHECK(names("b", [&] { margins(Planes{zeros, none + 2, 1, 4}, small.data); }));
  CHECK(names("w", [&] { margins(Planes{zeros, b, 1, -4}, small.data); }));
  CHECK(names("w", [&] { probabilities(Classification(), Planes{zeros, b, 0, 4}, small.data); }));
  const Matrix no_numbers = Matrix::Constant(6, 4, kNaN);
  CHECK(names("means", [&] { decision_values(Planes{zeros, b, 1, 4}, Gaussians(no_numbers, CovarianceSum())); }));
  const Vector w = Vector::Ones(4);
  CHECK(names("lambda", [&] { Model(w, 0, kNaN, "hinge"); }));
  Model model = Model::regression(w, 0, 0.1);
  model.b = Vector();
  CHECK(names("b", [&] { model.estimate(small.data); }));
  model.w = Matrix(0, 4);
  CHECK(names("w", [&] { model.estimate(small.data); }));
}

TEST_CASE("points that an objective has not evaluated") {
  const Small small;
  const Engine objective(small.set, 0.1),
      fewer(TrainingSet(small.data.some({0, 1}), small.set.targets.some({0, 1})), 0.1);
  Evaluated nothing;
  const Evaluated known = objective.evaluate(Vector::Zero(4), 0);
  for (const Evaluated& at : {nothing, fewer.evaluate(Vector::Zero(4), 0)}) {
    CHECK(names("at", [&] { Line(objective, at, 0.1); }));
    CHECK(names("at", [&] { objective.active_share(at, 0.1); }));
    CHECK(names("at", [&] { objective.along_w(at); }));
    CHECK(names("at", [&] { Hessian(objective, at, 0); }));
    CHECK(names("from", [&] { Line(objective, at, known, Vector::Ones(4), 0, 0); }));
    CHECK(names("there", [&] { Line(objective, known, at, Vector::Ones(4), 0, 0); }));
  }
  CHECK(names("p", [&] { Line(objective, known, known, Vector::Ones(5), 0, 0); }));
  CHECK(names("negligible", [&] { Hessian(objective, known, kNaN); }));
  Vector out;
  double out_b = 0;
  CHECK(names("v", [&] { Hessian(objective, known, 0).times(Vector::Ones(3), 0, out, out_b); }));
  CHECK(names("source", [&] { Engine(nullptr, nullptr, 0.1, 1, true, nullptr); }));
  DualPoint dual;
  CHECK(names("weight", [&] { dual.add(known.slopes, nullptr); }));
  CHECK(names("lambda", [&] { known.slopes.bound(0, true, nullptr); }));
  const double halves[2] = {0.5, 0.5};
  dual.add(known.slopes, halves);
  DualPoint other;
  other.reach = other.sum[0] = other.sum[1] = Vector::Ones(9);
  CHECK(names("other", [&] { dual.add(other, halves); }));
  CHECK(names("goes_on", [] { Watch(nullptr); }));
}

TEST_CASE("text files that are not there, and places in them") {
  TextOptions options;
  for (const Index most : {Index{-1}, kMostTextFeatures + 1}) {
    options.most_features = most;
    CHECK(names("most_features", [&] { read_rows("a 1:2\n", options); }));
  }
  options.most_features = kMostTextFeatures;
  CHECK(names("text", [&] { read_rows(std::string_view(nullptr, 3), options); }));
  const TextRows rows = read_rows("a 1:2 3:4\nb 2:1\n", options);
  CHECK(names("files", [] { join({}); }));
  CHECK(names("files", [&] { join({&rows, nullptr}); }));
  options.format = TextFormat::covariances;
  const TextRows variances = read_rows("a 1,1:2 3,3:4\nb 2,2:1\n", options);
  const TextRows matrices = read_rows("a 1,1:2 1,2:1\n", options);
  std::vector<double> out(12, 0.0);
  for (const auto fill : {fill_dense, fill_packed}) {
    CHECK(names("out", [&] { fill(variances, {0}, 3, 1, nullptr); }));
    CHECK(names("features", [&] { fill(variances, {0}, 2, 1, out.data()); }));
    CHECK(names("features", [&] { fill(variances, {0}, -1, 1, out.data()); }));
    for (const Index outside : {Index{-1}, Index{2}})
      CHECK(names("select", [&] { fill(variances, {0, outside}, 3, 1, out.data()); }));
  }
  CHECK(names("rows", [&] { fill_dense(matrices, {0}, 2, 1, out.data()); }));
  CHECK(names("rows", [&] { fill_packed(rows, {0}, 3, 1, out.data()); }));
  TextRows taken = rows;
  taken.start.clear();
  CHECK(names("rows", [&] { fill_dense(taken, {0}, 3, 1, out.data()); }));
}

TEST_CASE("populations of observations, units and mixtures that do not fit") {
  const Matrix means = Random(5).normals(40, 2);
  const Matrix variances = Matrix::Constant(40, 2, 0.1);
  const Gaussians data(means, Diagonal(variances));
  const Observations seen{data};
  const Units units = units_of(seen);
  const Mixture start = start_mixture(seen, units, 2, 1);
  Posterior out;
  const auto refuses = [&](const std::string& argument, const Observations& observed, const Units& in,
                           const Mixture& mixture) {
    CHECK(names(argument, [&] { deconvolve(observed, in, mixture, {}); }));
    CHECK(names(argument, [&] { posterior(observed, in, mixture, 1, out); }));
  };
  Units wrong = units;
  const auto of_units = [&] {
    refuses("units", seen, wrong, start);
    CHECK(names("units", [&] { start_mixture(seen, wrong, 2, 1); }));
    wrong = units;
  };
  wrong.scale = Vector::Ones(1);
  of_units();
  wrong.centre = Vector::Zero(3);
  of_units();
  for (const double none : {0.0, -1.0, kNaN, kInfinity}) {
    wrong.scale(1) = none;
    of_units();
  }
  wrong.centre(0) = kNaN;
  of_units();

  Mixture mixture = start;
  mixture.means = Matrix::Ones(2, 3);
  refuses("mixture", seen, units, mixture);
  mixture = start;
  mixture.covariances = Matrix::Ones(2, 3);
  refuses("mixture", seen, units, mixture);
  mixture = start;
  mixture.weights(0) = kNaN;
  refuses("mixture", seen, units, mixture);
  refuses("mixture", seen, units, Mixture());

  Vector weights = Vector::Ones(40);
  const Observations weighted{data, nullptr, 0, weights.data()};
  for (const double none : {-1.0, kNaN, kInfinity}) {
    weights(7) = none;
    refuses("weights", weighted, units, start);
    CHECK(names("weights", [&] { units_of(weighted); }));
    CHECK(names("weights", [&] { start_mixture(weighted, units, 2, 1); }));
  }
  weights.setZero();
  refuses("weights", weighted, units, start);
  Matrix projection = Matrix::Ones(40, 4);
  for (const Index features : {-1, 0})
    CHECK(names("projection", [&] { units_of(Observations{data, projection.data(), features}); }));
  projection(3, 1) = kInfinity;
  refuses("projection", Observations{data, projection.data(), 2}, units, start);

  DeconvolutionOptions options;
  const auto of_options = [&](const std::string& argument) {
    CHECK(names(argument, [&] { deconvolve(seen, units, start, options); }));
    CHECK(names(argument, [&] { start_mixture(seen, units, 2, 1, options); }));
    options = {};
  };
  options.tolerance = kNaN;
  of_options("tolerance");
  options.max_iterations = -1;
  of_options("max_iterations");
  options.floor = -1;
  of_options("floor");
  options.memory = -1;
  of_options("memory");
  CHECK(names("components", [&] { start_mixture(seen, units, 0, 1); }));
}

TEST_CASE("files of sizes that are none") {
  const Small small;
  const Folder folder;
  FlatSet set;
  set.means.path = folder.file("means");
  set.means.rows = 6;
  set.means.columns = 4;
  std::ofstream(set.means.path, std::ios::binary).write(reinterpret_cast<const char*>(small.means.data()), 8 * 24);
  set.targets = std::make_shared<const Targets>(small.set.targets);
  CHECK(Streamed(set, 1).samples() == 6);
  const auto refuses = [&](const std::string& argument, const std::function<void(FlatSet&)>& change) {
    FlatSet changed = set;
    change(changed);
    CHECK(names(argument, [&] { Streamed(changed, 1); }));
  };
  const Index huge = std::numeric_limits<Index>::max() / 2;
  for (const Index size : {Index{-1}, Index{0}, Index{7}, huge}) {
    refuses(set.means.path, [&](FlatSet& s) { s.means.rows = size; });
    refuses(set.means.path, [&](FlatSet& s) { s.means.columns = size; });
  }
  for (const std::int64_t offset : {std::int64_t{-8}, std::int64_t{4}, std::int64_t{8}, std::int64_t{huge} / 8 * 8 + 8})
    refuses(set.means.path, [&](FlatSet& s) { s.means.offset = offset; });
  refuses("targets", [](FlatSet& s) { s.targets = nullptr; });
  refuses("window", [](FlatSet& s) { s.window = -1; });
  refuses("memory", [](FlatSet& s) { s.memory = 1; });
  FlatTerm term;
  term.file = set.means;
  term.scale = kNaN;
  refuses("covariance", [&](FlatSet& s) { s.terms.push_back(term); });
  CHECK(names("lambda", [&] { Streamed(set, 1).objective(kNaN); }));
}
