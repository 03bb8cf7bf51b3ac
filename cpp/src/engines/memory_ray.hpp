// J along a ray in w, with b free, from what is kept of three points: O(ℓ) for each value.
#pragma once

#include "engines/memory_kept.hpp"

namespace svmgsu {

// The penalty's part, and group sums of six numbers with which J comes out.
class LineSums : public Ray {
 public:
  LineSums(const MemoryObjective& objective, const Evaluation& from, const Vector& p);

 protected:
  Point sum_up(const std::vector<double>& groups, double t) const;
  const MemoryObjective& objective_;
  const Evaluation& from_;

 private:
  double w2_, wp_, p2_;
};

class MemoryRay final : public LineSums {
 public:
  MemoryRay(const MemoryObjective& objective, const Evaluation& from, const Evaluation& there, const Vector& p,
            double p_b, double epsilon);
  Point at(double t, double beta) const override { return sum_up(sums(t, beta), t); }
  // Of the losses: J and its derivatives without the penalty, of each group.
  std::vector<double> sums(double t, double beta) const;

 private:
  void residuals(Index first, int count, const Targets::View& of, double t, double beta, Residuals& r) const;

  double step_b_, epsilon_;
  std::vector<double> mean_, cross_, square_;  // x·p, wᵀΣp and pᵀΣp of every example
};

}  // namespace svmgsu
