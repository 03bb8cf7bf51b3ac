// J(w + t p, b + t p_b + β; ε) and its derivatives by t and β, from what is kept of points: O(ℓ), without a pass.
#pragma once

#include "engines/kept.hpp"

namespace svmgsu {

inline Remote::Point point_of(const Evaluation& e) { return {e.w, e.b, e.epsilon}; }

class Line {
 public:
  struct Point {
    double value = 0, t = 0, beta = 0;          // J and its first derivatives
    double t_t = 0, t_beta = 0, beta_beta = 0;  // its second derivatives
  };
  // `from` and `there` must outlive it. `cross`: wᵀΣp of every sample, of a direction that was followed.
  Line(const Objective& objective, Direction direction, const Evaluation& from, const Evaluation& there,
       const Vector& p, double p_b, double epsilon, std::vector<double> cross = {});

  Point at(double t, double beta) const;
  // Of the losses: J and its derivatives without the penalty, of each group.
  std::vector<double> sums(double t, double beta) const;
  Point sum_up(const std::vector<double>& groups, double t) const;

 private:
  void read_step();

  const Objective& objective_;
  Direction direction_;
  const Evaluation &from_, &there_;
  Vector p_;
  double p_b_, epsilon_;
  std::vector<double> mean_, cross_, square_;  // of a step: x·p, wᵀΣp and pᵀΣp of every sample
};

}  // namespace svmgsu
