// J, its derivatives and its bound, by passes over samples that may be anywhere: in memory, in files that are read
// window by window, or in several places that are asked for sums. A pass reads each sample once, in blocks of fixed
// size that are summed in their order, so that a result has the same bits for any number of threads, windows and
// places. A few numbers of each sample are kept from pass to pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// What a pass sums up of each side, over ℓ, and so of every point of the dual problem that lies between zero and this
// one; with labels the sides are the classes, and each may be scaled for itself.
struct DualPoint {
  Vector sum[2];               // Σ± c (σL′x − L″Σw)
  double mass[2] = {0, 0};     // Σ± c|L′|
  double value[2] = {0, 0};    // Σ± c [tL′ − (dL′ + s²L″ − L)]
  Vector reach;                // at least Σ c (|L′x| + L″|Σw|) of each feature: how far rounding goes
  double terms = 0;            // Σ c (|L| + |tL′ − dL′| + s²L″)
  double unseen = 0;           // what the losses' own errors may hide of the gap
  double dots = 0, error = 0;  // of a product of two rows and of the sums, in units of their terms

  // Adds another, weighted on each side. The weights of all that are added must not exceed 1 in sum.
  void add(const DualPoint& other, const double weight[2]);

  // D: where there is an intercept, the side with more mass is scaled down to the other. Any τ·a with τ in [0, 1] is
  // feasible as well, since ℓ*(0) = 0, and D is at least a parabola in τ, of which the best is taken; `unscaled` (may
  // be null) is the value at τ = 1.
  Certificate bound(double lambda, bool intercept, double* unscaled) const;
};

class Histogram;
class Source;
struct Columns;
struct Cuts;
struct PassSums;
struct PointCache;  // what is remembered of the samples at an evaluated point

// J at a point with all that a pass at that point has learnt.
struct Evaluated : Evaluation {
  Vector w;
  double b = 0;
  double epsilon = 0;
  DualPoint slopes;                   // from which the certificate came
  double dual = 0;                    // its bound before the best multiple of the slopes is taken
  double smoothed_share = 0;          // what smoothing adds to the dual value: (ε²/ℓ) Σ c L″
  double curvature_b = 0;             // ∂²J/∂b²
  std::shared_ptr<PointCache> cache;  // who else holds it, as a Hessian may, keeps it as it is
};

class Engine {
 public:
  // The best classifier or regression with w = 0.
  struct Trivial {
    double b = 0;
    double value = 0;  // J there
    double above = 0;  // by which rounding may have made it too small
    double start = 0;  // J at w = 0, b = 0
  };
  // The same problem with the data moved to the origin: J(w, b) there is J(w, b − w·shift) here.
  struct Centred {
    std::unique_ptr<Engine> engine;
    Vector shift;
  };
  // The second derivatives of J along w, and along w and b.
  struct AlongW {
    double w_w = 0, w_b = 0;
  };

  // As those of an Objective.
  Engine(TrainingSet set, double lambda, int threads = 0, bool intercept = true,
         std::shared_ptr<const Loss> loss = nullptr);
  Engine(std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets, double lambda, int threads,
         bool intercept, std::shared_ptr<const Loss> loss);

  const Loss& loss() const { return *loss_; }
  double lambda() const { return lambda_; }
  int threads() const { return threads_; }
  bool intercept() const { return intercept_; }
  Index samples() const { return targets_->samples(); }
  Index features() const { return features_; }
  Task task() const { return targets_->task(); }
  const Targets& targets() const { return *targets_; }
  double mean_weight() const { return mean_weight_; }
  const Source& source() const { return *source_; }
  const Cuts& cuts() const { return *cuts_; }  // of a pass that sums up
  double centre() const { return centre_; }    // of the targets
  // What is taken off every x before it counts; of no length: nothing.
  const Vector& origin() const { return origin_; }
  double shift(const Vector& w) const { return origin_.size() ? origin_.dot(w) : 0.0; }

  // A pass at (w, b); into the memory of an earlier one where that is given.
  Evaluated evaluate(const Vector& w, double b, double epsilon = 0) const;
  void evaluate(const Vector& w, double b, double epsilon, Evaluated& e) const;
  double value(const Vector& w, double b, double epsilon = 0) const;
  double best_intercept(const Vector& w, double start = 0) const;
  Certificate certify(const Vector& w, double b) const;

  // None of these reads the data once more.
  Trivial trivial() const;
  // Data far from the origin tie b to w, though a shift of them does not change the problem: solvers work with the
  // data centred. No engine where there is no intercept to take the shift up, or nothing to gain.
  Centred centred() const;
  // The same problem with about so many of the samples, chosen by chance; null where there are none to choose.
  std::unique_ptr<Engine> subsample(Index rows, std::uint64_t seed) const;
  // The share of samples whose L″ is above `negligible` times the largest.
  double active_share(const Evaluated& at, double negligible) const;
  AlongW along_w(const Evaluated& at) const;

  // Makes this a part of other data, which are seen from `origin` and cut up as they are.
  void become_part(Vector origin, double centre, const Cuts& cuts);
  // Sums up at (w, b): the groups to `emit`, or all of them to `total` where it is null.
  void pass(const Vector& w, double b, double epsilon, bool columns, PointCache& cache,
            const std::function<void(const PassSums&)>* emit, PassSums& total) const;
  // What is cached of a point; read anew where that is not known.
  const PointCache& cached(const Evaluated& at) const { return complete(*at.cache, at.w); }
  const PointCache& complete(PointCache& known, const Vector& w) const;
  // How large c L″ of the samples is.
  const Histogram& kappa_histogram(const Evaluated& at) const;
  // L″ of every sample, as it was or would have been cached.
  void fill_curvature(const Evaluated& at, const PointCache& of, std::vector<double>& out) const;
  // What along_w sums up, for each group of blocks.
  static constexpr std::size_t kAlongW = 2;
  std::vector<double> sums_along_w(const Evaluated& at) const;
  // Refuses a point that was not evaluated here, and one of other features.
  void require_known(const Evaluated& at, const char* name) const;
  void require_point(const Vector& w, const char* name = "w") const;

 private:
  Engine(const Engine& of, std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets, Vector origin,
         Vector moved);
  void learn_targets();
  Trivial trivial_of_labels() const;
  Trivial trivial_of_values() const;
  double best_intercept(const Evaluated& at, double start) const;
  // The point (w, 0), of which nothing is known yet.
  Evaluated at_zero(const Vector& w) const;

  std::shared_ptr<const Loss> loss_;
  double lambda_;
  int threads_;
  bool intercept_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Targets> targets_;
  std::shared_ptr<const Cuts> cuts_;
  Index features_;
  Vector origin_;
  Vector moved_;                      // from where the data lie to where they are seen from; of no length: not at all
  std::shared_ptr<Columns> columns_;  // looked at when a certificate first wants them
  double mean_weight_ = 0, centre_ = 0;
};

}  // namespace svmgsu
