// Small problems of every covariance kind, each with its covariances as plain dense matrices: what the
// library computes from the kind is compared with what the definition gives from the matrices.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "svmgsu/svmgsu.hpp"

namespace svmgsu::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }  // inside (0, 1)
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
  Vector normals(Index size) {
    Vector out(size);
    for (double& x : out) x = normal();
    return out;
  }
  Matrix normals(Index rows, Index cols) {
    Matrix out(rows, cols);
    for (double& x : out.reshaped()) x = normal();
    return out;
  }

 private:
  SplitMix64 bits_;
};

inline double relative_error(long double got, long double want) {
  if (got == want) return 0;
  return static_cast<double>(std::abs(got - want) / std::abs(want));
}

inline double relative_error(const Vector& got, const Vector& want) {
  return (got - want).norm() / (want.norm() + 1e-300);
}

// A covariance with the arrays that it looks at and, separately made, Σ_i as matrices.
struct Noise {
  CovarianceSum sum;
  std::vector<Matrix> dense;
  std::vector<std::shared_ptr<void>> arrays;

  template <class T>
  T& keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    arrays.push_back(kept);
    return *kept;
  }
};

struct Kind {
  std::string name;
  std::function<Noise(Index samples, Index features, Random&)> make;
};

// The upper triangles of symmetric matrices, one per row: what Full takes.
Matrix packed_upper(const std::vector<Matrix>& full);
std::vector<Matrix> random_covariances(Index count, Index n, Random& random);

const std::vector<Kind>& every_kind();
const Kind& kind_named(const std::string& name);

// Two overlapping classes with weights; owns all that its data look at.
struct Problem {
  Matrix means;
  Vector labels, weights;
  Noise noise;

  Problem(const Kind& kind, Index samples, Index features, std::uint64_t seed = 1);
  TrainingSet data() const { return {means, noise.sum, labels, weights}; }
};

}  // namespace svmgsu::test
