// Small problems whose instructions are counted: `counts PROBLEM` prepares one and calls `measured`, between
// whose entry and exit bench/counts.py lets callgrind count. Prints how many numbers the problem has and the
// instruction set; one thread.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <svmgsu/svmgsu.hpp>
#include <vector>

#include "engines/hessian.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace svmgsu;

constexpr double kLambda = 1e-2;
constexpr Index kSamples = 1000, kFeatures = 50;

std::function<void()> work;  // what is measured

// Between −1 and 1, the same with every C++ library.
double uniform() {
  static std::mt19937_64 bits(1);
  return static_cast<double>(bits() >> 11) * 0x1p-52 - 1;
}

Matrix noise(Index rows, Index columns) {
  return Matrix::NullaryExpr(rows, columns, [] { return uniform(); });
}

// Two classes, whose means are ±0.3 in every feature; variances up to 0.1.
struct Data {
  Data(Index samples, Index features)
      : means(noise(samples, features)), variances(0.1 * noise(samples, features).cwiseAbs()), labels(samples) {
    for (Index i = 0; i < samples; ++i) {
      labels(i) = i % 2 ? 1 : -1;
      means.row(i).array() += 0.3 * labels(i);
    }
  }
  TrainingSet with(const CovarianceSum& covariance) const { return {means, covariance, labels}; }
  TrainingSet diagonal() const { return with(Diagonal(variances)); }
  Matrix means, variances;
  Vector labels;
};

const Data& data() {
  static const Data result(kSamples, kFeatures);
  return result;
}

Vector some_w() { return Vector::Constant(kFeatures, 1.0 / kFeatures); }

// Each of these prepares `work` and returns how many numbers it reads. What it needs stays in static storage,
// since Gaussians are views.

Index pass(const TrainingSet& set, Index numbers) {
  static const Objective objective(set, kLambda, 1);
  objective.evaluate(some_w(), 0);  // the first pass also looks at the sizes of the columns
  work = [w = some_w()] { objective.evaluate(w, 0); };
  return numbers;
}

Index diagonal_pass() { return pass(data().diagonal(), 2 * kSamples * kFeatures); }

Index full_pass() {
  const Index triangle = kFeatures * (kFeatures + 1) / 2;
  static Matrix packed = Matrix::Constant(kSamples, triangle, 0.01);
  for (Index j = 0, place = 0; j < kFeatures; place += kFeatures - j, ++j) packed.col(place).array() += 0.1;
  return pass(data().with(Full(packed)), kSamples * (kFeatures + triangle));
}

Index low_rank_pass() {
  const Index rank = 3;
  static const Matrix factors = 0.3 * noise(kSamples * rank, kFeatures);
  return pass(data().with(LowRank({factors.data(), kSamples * rank, kFeatures}, rank)),
              kSamples * kFeatures * (1 + rank));
}

// Every third number is kept.
Index sparse_pass() {
  static std::vector<double> mean, variance;
  static std::vector<std::int32_t> column;
  static std::vector<Index> start{0};
  for (Index i = 0; i < kSamples; ++i) {
    for (Index j = i % 3; j < kFeatures; j += 3) {
      mean.push_back(data().means(i, j));
      variance.push_back(data().variances(i, j));
      column.push_back(static_cast<std::int32_t>(j));
    }
    start.push_back(static_cast<Index>(mean.size()));
  }
  const auto rows = [](const std::vector<double>& value) {
    return Rows(value.data(), column.data(), start.data(), kSamples, kFeatures);
  };
  return pass(TrainingSet(Gaussians(rows(mean), Diagonal(rows(variance))), Targets::labels(data().labels)),
              2 * start.back());
}

Index normal() {
  const int count = 10000;
  work = [count, d = Vector(6 * noise(count, 1)), s = Vector(Vector::Ones(count)), loss = Vector(count),
          cdf = Vector(count), kappa = Vector(count)]() mutable {
    kernels::expected_hinge(count, d.data(), s.data(), loss.data(), cdf.data(), kappa.data());
  };
  return count;
}

Index hessian_product() {
  static const Engine objective(data().diagonal(), kLambda, 1);
  static Hessian hessian(objective, objective.evaluate(some_w(), 0), 0);
  work = [v = some_w(), out = Vector(kFeatures), out_b = 0.0]() mutable { hessian.times(v, 1, out, out_b); };
  work();  // what the first of many products prepares is not counted
  return 2 * kSamples * kFeatures;
}

Index stochastic_steps() {
  Options options;
  options.lambda = kLambda;
  options.threads = 1;
  options.solver = Solver::sgd;
  options.steps = 500;
  options.batch = 20;
  work = [options, set = data().diagonal()] { train(set, options); };
  return 2 * options.steps * options.batch * kFeatures;
}

Index training() {
  const Index samples = 500, features = 20;
  static const Data small(samples, features);
  Options options;
  options.lambda = kLambda;
  options.threads = 1;
  work = [options] { train(small.diagonal(), options); };
  return 2 * samples * features;
}

const std::map<std::string, Index (*)()> kProblems = {
    {"diagonal", diagonal_pass}, {"full", full_pass},          {"low-rank", low_rank_pass}, {"sparse", sparse_pass},
    {"normal", normal},          {"hessian", hessian_product}, {"sgd", stochastic_steps},   {"training", training},
};

}  // namespace

extern "C" __attribute__((noinline)) void measured() { work(); }

int main(int argc, char** argv) {
  const auto found = kProblems.find(argc > 1 ? argv[1] : "");
  if (found == kProblems.end()) {
    std::fprintf(stderr, "usage: counts PROBLEM, one of:");
    for (const auto& problem : kProblems) std::fprintf(stderr, " %s", problem.first.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const Index numbers = found->second();
  measured();
  std::printf("%lld %s\n", static_cast<long long>(numbers), kernels::instruction_set());
  return 0;
}
