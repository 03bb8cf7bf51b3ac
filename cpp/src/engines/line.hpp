// J(w + t p, b + t p_b + β; ε) and its derivatives by t and β, from what is cached of points: O(ℓ), without a pass.
#pragma once

#include <array>

#include "engines/cache.hpp"

namespace svmgsu {

class Line {
 public:
  struct Value {
    double value = 0, t = 0, beta = 0;          // J and its first derivatives
    double t_t = 0, t_beta = 0, beta_beta = 0;  // its second derivatives
  };
  static constexpr std::size_t kNumbers = 6;  // of these, for each group

  // Of a step p from one evaluated point to another, w + p. Both must outlive it.
  Line(const Engine& objective, const Evaluated& from, const Evaluated& there, const Vector& p, double p_b,
       double epsilon);
  // At a point, without moving w.
  Line(const Engine& objective, const Evaluated& at, double epsilon)
      : objective_(objective), from_(at), there_(at), p_b_(0), epsilon_(epsilon) {
    objective.require_known(at, "at");
  }

  Value at(double t, double beta) const;
  // Whether it took another reading of the data.
  bool has_read() const { return has_read_; }
  // Of the losses alone: six sums for each group of blocks.
  std::vector<double> sums(double t, double beta) const;

 private:
  void read_step();
  void add(Index first, int count, double t, double beta, std::array<double, kNumbers>& part) const;

  const Engine& objective_;
  const Evaluated &from_, &there_;
  Vector p_;  // of no length: 0
  double p_b_, epsilon_;
  bool has_read_ = false;
  std::vector<double> mean_, cross_, square_;  // of a step: x·p, wᵀΣp and pᵀΣp of every sample
};

}  // namespace svmgsu
