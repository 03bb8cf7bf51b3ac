// fit(data, labels, options): what Python's train does, for applications.
#include <doctest/doctest.h>

#include <cstdio>
#include <stdexcept>

#include "helpers.hpp"

namespace svmgsu::test {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

struct Data {
  std::vector<double> x, v;
  std::vector<int> codes;
  Index rows, columns = 3;

  explicit Data(int classes, Index rows_ = 90, std::uint64_t seed = 1) : rows(rows_) {
    Random random(seed);
    for (Index i = 0; i < rows; ++i) {
      codes.push_back(static_cast<int>(i % classes));
      for (Index j = 0; j < columns; ++j) {
        x.push_back(2.5 * (codes.back() == j) + random.normal());
        v.push_back(0.01 + 0.2 * random.uniform());
      }
    }
  }
  Gaussians gaussians() const { return {{x.data(), rows, columns}, Diagonal({v.data(), rows, columns})}; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const int code : codes)
      out.push_back(std::vector<std::string>{"zebra", "ant", "bee"}[static_cast<std::size_t>(code)]);
    return out;
  }
};

double accuracy(const Model& model, const Gaussians& data, const std::vector<std::string>& labels) {
  const std::vector<Index> places = model.predict(data);
  double right = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    right += model.labels[static_cast<std::size_t>(places[i])] == labels[i];
  return right / static_cast<double>(places.size());
}

}  // namespace

TEST_CASE("two classes are the raw training, with probabilities") {
  const Data made(2);
  const Gaussians data = made.gaussians();
  Options options;
  options.lambda = 0.1;
  const Model model = fit(data, made.codes, options);
  std::vector<double> signs;
  for (const int code : made.codes) signs.push_back(code ? 1 : -1);
  const Result raw = train(data, Targets::labels(signs), options);
  CHECK((model.w.row(0).transpose() - raw.w).norm() == 0);
  CHECK(model.gap == raw.gap);
  CHECK(model.objective == raw.objective);
  CHECK(model.status == "converged");
  CHECK(model.labels == std::vector<std::string>{"0", "1"});
  CHECK(model.label_type == "int");
  REQUIRE(model.calibration.size() == 1);
  CHECK(model.calibration[0].a > 0);
  const Matrix p = model.probabilities(data);
  CHECK((p.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
}

TEST_CASE("strings of several classes, by pairs and against the rest, saved and loaded") {
  const Data made(3);
  const Gaussians data = made.gaussians();
  for (const MultiClass scheme : {MultiClass::ovo, MultiClass::ovr}) {
    FitOptions options;
    options.multi_class = scheme;
    options.names = {"u", "g", "r"};
    const Model model = fit(data, made.names(), options);
    CHECK(model.labels == std::vector<std::string>{"ant", "bee", "zebra"});
    CHECK(model.w.rows() == 3);
    CHECK(accuracy(model, data, made.names()) > 0.85);
    const std::string path = "test_fit.svmgsu";
    model.save(path);
    const Model again = Model::load(path);
    std::remove(path.c_str());
    CHECK((again.probabilities(data) - model.probabilities(data)).norm() == 0);
  }
}

TEST_CASE("four classes have the pairs of classification.hpp") {
  Data made(3, 120);
  made.codes.clear();
  for (Index i = 0; i < made.rows; ++i) made.codes.push_back(static_cast<int>(i % 4));
  FitOptions options;
  options.probabilities = Probabilities::none;
  const Model model = fit(made.gaussians(), made.codes, options);
  CHECK(model.w.rows() == 6);
  CHECK(model.calibration.empty());
  // The pair (1, 3) is the fifth.
  std::vector<double> x, v;
  std::vector<int> codes;
  for (std::size_t i = 0; i < made.codes.size(); ++i) {
    if (made.codes[i] % 2 == 0) continue;
    codes.push_back(made.codes[i]);
    for (std::size_t j = 0; j < 3; ++j) {
      x.push_back(made.x[3 * i + j]);
      v.push_back(made.v[3 * i + j]);
    }
  }
  options.tolerance *= 0.1;
  const auto count = static_cast<Index>(codes.size());
  const Gaussians some({x.data(), count, 3}, Diagonal({v.data(), count, 3}));
  const Model one = fit(some, codes, options);
  CHECK((model.w.row(4) - one.w.row(0)).norm() < 1e-9);
}

TEST_CASE("standard errors are the roots of variances") {
  const Data made(2);
  std::vector<double> errors;
  for (const double v : made.v) errors.push_back(std::sqrt(v));
  const Gaussians means(made.x.data(), made.rows, 3);
  CHECK(means.covariance().empty());
  CHECK((fit(means.with_std(errors.data()), made.codes).w - fit(made.gaussians(), made.codes).w).norm() < 1e-9);
  const std::vector<float> x(made.x.begin(), made.x.end()), e(errors.begin(), errors.end());
  const Gaussians narrow = Gaussians(x.data(), made.rows, 3).with_std(e.data());
  CHECK((fit(narrow, made.codes).w - fit(made.gaussians(), made.codes).w).norm() < 1e-3);
  errors[4] = -1;
  CHECK_THROWS_WITH_AS(means.with_std(errors.data()), "std: sample 1 has -1 at feature 1; standard errors must be >= 0",
                       InvalidArgument);
}

TEST_CASE("floats are read where they are") {
  const Data made(2);
  const std::vector<float> x(made.x.begin(), made.x.end()), v(made.v.begin(), made.v.end());
  const Gaussians narrow({x.data(), made.rows, 3}, Diagonal({v.data(), made.rows, 3}));
  CHECK((fit(made.gaussians(), made.codes).w - fit(narrow, made.codes).w).norm() < 1e-3);
}

TEST_CASE("weights are repetitions, and a common factor changes nothing") {
  const Data made(2, 40);
  FitOptions options;
  for (Index i = 0; i < made.rows; ++i) options.weights.push_back(static_cast<double>(1 + i % 3));
  const Model model = fit(made.gaussians(), made.codes, options);
  Data repeated(2, 0);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t k = 0; k < 1 + i % 3; ++k) {
      repeated.codes.push_back(made.codes[i]);
      for (std::size_t j = 0; j < 3; ++j) {
        repeated.x.push_back(made.x[3 * i + j]);
        repeated.v.push_back(made.v[3 * i + j]);
      }
    }
  repeated.rows = static_cast<Index>(repeated.codes.size());
  CHECK((model.w - fit(repeated.gaussians(), repeated.codes).w).norm() < 1e-3);
  for (double& c : options.weights) c *= 0x1p-900;
  CHECK((model.w - fit(made.gaussians(), made.codes, options).w).norm() < 1e-12);
}

TEST_CASE("class weights turn the hyperplane and are kept") {
  const Data made(2);
  FitOptions options;
  options.class_weight = {{"1", 10.0}};
  const Model model = fit(made.gaussians(), made.codes, options);
  CHECK(model.class_weight(1) / model.class_weight(0) == doctest::Approx(10));
  CHECK(model.b(0) > fit(made.gaussians(), made.codes).b(0));
  options.class_weight = {{"7", 2.0}};
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), made.codes, options), "class_weight: there is no class '7'",
                       InvalidArgument);
}

TEST_CASE("a loss for regression makes targets of numbers") {
  const Data made(2);
  std::vector<double> targets;
  for (std::size_t i = 0; i < 90; ++i) targets.push_back(2 * made.x[3 * i] + 1);
  FitOptions options;
  options.loss = "squared";
  options.lambda = 1e-9;
  const Model model = fit(Gaussians({made.x.data(), made.rows, 3}, {}), targets, options);
  CHECK(model.task == Task::regression);
  CHECK(model.w(0, 0) == doctest::Approx(2).epsilon(1e-5));
  CHECK(model.b(0) == doctest::Approx(1).epsilon(1e-5));
  CHECK(model.scatter < 1e-4);
  options.lambdas = {10.0, 1e-6};
  CHECK(fit(Gaussians({made.x.data(), made.rows, 3}, {}), targets, options).lambda == 1e-6);
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), made.names(), options),
                       "loss: it is for regression, and the labels are not numbers to predict", InvalidArgument);
}

TEST_CASE("errors of targets are weights, and scatter is what they leave unexplained") {
  Random random(7);
  std::vector<double> x, targets, errors;
  for (int i = 0; i < 4000; ++i) {
    x.push_back(random.normal());
    errors.push_back(i % 2 ? 0.1 : 2.0);
    targets.push_back(3 * x.back() + 1 + 0.5 * random.normal() + errors.back() * random.normal());
  }
  const Gaussians data(x.data(), 4000, 1);
  FitOptions options;
  options.loss = "squared";
  options.lambda = 1e-9;
  options.target_std = errors;
  const Model model = fit(data, targets, options);
  CHECK(model.scatter == doctest::Approx(0.5).epsilon(0.05));
  CHECK(std::abs(model.w(0, 0) - 3) < 0.05);
  options.target_std[7] = 0;
  CHECK_THROWS_WITH_AS(fit(data, targets, options), "target_std: sample 7 has 0; errors must be > 0", InvalidArgument);
}

TEST_CASE("lambda and the scale of covariances are chosen by held-out samples") {
  const Data made(3);
  FitOptions options;
  options.lambdas = {100.0, 1e-2};
  const Model model = fit(made.gaussians(), made.codes, options);
  CHECK(model.lambda == 1e-2);
  options.lambdas = {};
  options.cov_scales = {1.0};
  CHECK((fit(made.gaussians(), made.codes, options).w - fit(made.gaussians(), made.codes).w).norm() == 0);
  options.cov_scales = {0.0};
  const Gaussians exact(made.x.data(), made.rows, 3);
  CHECK((fit(made.gaussians(), made.codes, options).w - fit(exact, made.codes).w).norm() == 0);
}

TEST_CASE("the same bits for any number of threads, of large problems too") {
  const Data made(3, 9000);
  FitOptions one, two;
  one.threads = 1;
  two.threads = 2;
  one.lambdas = two.lambdas = {1.0, 1e-2};
  const Model first = fit(made.gaussians(), made.codes, one), second = fit(made.gaussians(), made.codes, two);
  CHECK((first.w - second.w).norm() == 0);
  CHECK((first.probabilities(made.gaussians()) - second.probabilities(made.gaussians())).norm() == 0);
  const auto fails = [](const Progress&) -> bool { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), made.codes, two, fails), "enough", std::runtime_error);
}

TEST_CASE("groups are held out whole, and leave every class to choose lambda by") {
  const Data made(3);
  FitOptions options;
  options.lambdas = {100.0, 1e-2};
  // Class 0 has the groups 0 and 5, class 1 has 1 and 6, class 2 all others: dealt out in turn to five folds, whole
  // classes would be held out, and a constant would seem best for the others.
  for (Index i = 0; i < made.rows; ++i) {
    const Index turn = i / 3, code = i % 3;
    options.groups.push_back(code < 2 ? code + 5 * (turn % 2) : std::vector<Index>{2, 3, 4, 7, 8, 9}[at(turn % 6)]);
  }
  CHECK(fit(made.gaussians(), made.codes, options).lambda == 1e-2);
  // Groups that are the classes cannot be held out: the default is taken.
  for (Index i = 0; i < made.rows; ++i) options.groups[at(i)] = i % 3;
  CHECK(fit(made.gaussians(), made.codes, options).lambda == 1e-2);
  options.groups = {0};
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), made.codes, options), "groups: 1 for 90 samples", InvalidArgument);
}

TEST_CASE("a fold without samples of a pair of classes is passed over") {
  const std::string codes = "200033323321033021301210130223303003121332220333023332133220";
  const std::string groups = "441203401345500201125035532334655241301140101311500661503634";
  Data made(3, 60);
  FitOptions options;
  options.lambdas = {1.0, 0.01};
  for (std::size_t i = 0; i < 60; ++i) {
    made.codes[i] = codes[i] - '0';
    options.groups.push_back(groups[i] - '0');
  }
  CHECK(fit(made.gaussians(), made.codes, options).calibration.size() == 6);
}

TEST_CASE("probabilities do not know the group of a sample") {
  // Labels without meaning: copies of a sample in other folds would pretend to predict them.
  Random random(3);
  const Index samples = 40, copies = 3, n = 30;
  std::vector<double> x;
  std::vector<int> labels;
  FitOptions options;
  options.lambda = 1e-3;
  for (Index i = 0; i < samples; ++i) {
    std::vector<double> one;
    for (Index j = 0; j < n; ++j) one.push_back(random.normal());
    for (Index k = 0; k < copies; ++k) {
      for (Index j = 0; j < n; ++j) x.push_back(one[at(j)] + 0.01 * random.normal());
      labels.push_back(static_cast<int>(i % 2));
      options.groups.push_back(100 - 7 * i);
    }
  }
  const Gaussians data(x.data(), samples * copies, n);
  CHECK(fit(data, labels, options).probabilities(data).maxCoeff() < 0.8);
  options.groups.clear();
  CHECK(fit(data, labels, options).probabilities(data).maxCoeff() > 0.95);
}

TEST_CASE("probabilities are those of Python's train") {
  // tests/test_calibration.py has the same samples and numbers.
  struct Case {
    int classes;
    FitOptions options;
    std::vector<double> first, second;  // of the first samples
  };
  std::vector<Case> cases(5);
  cases[0] = {2, {}, {0.985524740803356, 0.014475259196644}, {0.484981628934208, 0.515018371065792}};
  cases[1] = {3,
              {},
              {0.978301686142786, 0.021089834872681, 0.000608478984533},
              {0.320652405442212, 0.49040829652963, 0.188939298028158}};
  cases[2] = {3,
              {},
              {0.587152888913011, 0.207115435634418, 0.205731675452571},
              {0.36655653269802, 0.285818463839489, 0.347625003462492}};
  cases[3] = {2, {}, {0.987908192612029, 0.012091807387971}, {0.485360475750847, 0.514639524249153}};
  cases[4] = {3,
              {},
              {0.976444570478569, 0.02019493604235, 0.003360493479081},
              {0.365812456179522, 0.424010921715555, 0.210176622104923}};
  cases[2].options.multi_class = MultiClass::ovr;
  cases[2].options.loss = "logistic";
  cases[2].options.balanced = true;
  cases[4].options.probabilities = Probabilities::training;
  for (Index i = 0; i < 90; ++i) {
    cases[1].options.weights.push_back(static_cast<double>(1 + i / 2 % 3));
    cases[2].options.weights.push_back(1 + 0.1 * static_cast<double>(i % 7));
    cases[3].options.groups.push_back(i / 4);
  }
  for (Case& one : cases) {
    std::vector<double> x, v;
    std::vector<int> labels;
    for (int i = 0; i < 90; ++i) {
      labels.push_back(i % one.classes);
      for (int j = 0; j < 3; ++j) {
        x.push_back(std::sin(1.0 + 7 * i + 3 * j * j) + 0.8 * (labels.back() == j));
        v.push_back(0.05 + 0.02 * ((5 * i + 3 * j) % 7));
      }
    }
    one.options.lambda = 0.05;
    one.options.tolerance = 1e-9;
    const Gaussians data({x.data(), 90, 3}, Diagonal({v.data(), 90, 3}));
    const Matrix found = fit(data, labels, one.options).probabilities(data);
    for (int c = 0; c < one.classes; ++c) {
      CHECK(std::abs(found(0, c) - one.first[at(c)]) < 1e-6);
      CHECK(std::abs(found(1, c) - one.second[at(c)]) < 1e-6);
    }
  }
}

TEST_CASE("a deadline and a monitor end everything") {
  const Data made(3, 3000);
  std::vector<int> two;
  for (const int code : made.codes) two.push_back(code > 0);
  FitOptions options;
  options.max_seconds = 1e-3;
  options.tolerance = 1e-14;
  options.lambda = 1e-5;
  const Model model = fit(made.gaussians(), made.codes, options);
  CHECK(model.status == "limit");
  CHECK(model.calibration.empty());  // of three subproblems there is no time
  CHECK(fit(made.gaussians(), two, options).calibration.size() == 1);
  options.max_seconds = 60;
  const Model stopped = fit(made.gaussians(), made.codes, options, [](const Progress&) { return false; });
  CHECK(stopped.status == "stopped");
}

TEST_CASE("soft labels are weighted repetitions, held out as a whole") {
  const Data made(3, 60);
  const std::vector<std::string> classes = {"zebra", "ant", "bee"};
  Matrix certain = Matrix::Zero(60, 3), soft(60, 3);
  for (Index i = 0; i < 60; ++i) {
    certain(i, i % 3) = 1;
    for (Index c = 0; c < 3; ++c) soft(i, c) = i % 3 == c ? 0.75 : i % 5 ? 0.125 : 0.25 * ((i + 1) % 3 == c);
  }
  const Model labels = fit(made.gaussians(), made.names()), same = fit(made.gaussians(), certain, classes);
  CHECK(same.labels == labels.labels);
  CHECK((same.w - labels.w).norm() == 0);
  CHECK((same.probabilities(made.gaussians()) - labels.probabilities(made.gaussians())).norm() == 0);

  FitOptions options;
  options.probabilities = Probabilities::none;
  options.tolerance = 1e-9;
  const Model found = fit(made.gaussians(), soft, classes, options);
  Data repeated(3, 0);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 60; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const double p = soft(static_cast<Index>(i), static_cast<Index>(c));
      if (p == 0) continue;
      names.push_back(classes[c]);
      options.weights.push_back(p);
      for (std::size_t j = 0; j < 3; ++j) {
        repeated.x.push_back(made.x[3 * i + j]);
        repeated.v.push_back(made.v[3 * i + j]);
      }
    }
  repeated.rows = static_cast<Index>(names.size());
  CHECK((found.w - fit(repeated.gaussians(), names, options).w).norm() < 1e-6);

  options = {};
  options.lambdas = lambda_grid();
  CHECK(options.lambdas.size() == 10);
  CHECK(options.lambdas.back() == doctest::Approx(1e-4));
  CHECK(fit(made.gaussians(), soft, classes, options).calibration.size() == 3);
  soft(7, 1) = 0.5;
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), soft, classes), "probabilities: those of sample 7 sum to 0.75, not to 1",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(fit(made.gaussians(), soft, {"a"}), "probabilities: 60 x 3 for 60 samples and 1 classes",
                       InvalidArgument);
}

TEST_CASE("wrong input is named") {
  const Data made(2);
  const Gaussians data = made.gaussians();
  CHECK_THROWS_WITH_AS(fit(data, std::vector<int>(90, 1)), "labels: one class only; training needs samples of two",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(fit(data, std::vector<int>(3, 1)), "labels: 3 for 90 samples", InvalidArgument);
  FitOptions options;
  options.weights = {1.0};
  CHECK_THROWS_WITH_AS(fit(data, made.codes, options), "weights: 1 for 90 samples", InvalidArgument);
}

}  // namespace svmgsu::test
