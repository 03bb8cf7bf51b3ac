// The objective of examples that lie in memory, or elsewhere and come to memory piece by piece (streamed.hpp).
//
// A pass reads each example once, in blocks of fixed size that are summed in their order, so that a result has the
// same bits for any number of threads and any size of the pieces. A few numbers of each example are kept from pass to
// pass.
#pragma once

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

class Levels;
struct Columns;
struct Cuts;
struct Local;
struct MemoryKept;
struct Slot;
class Remote;
class Source;

class MemoryObjective final : public Objective {
 public:
  // `loss` null is the hinge for labels and the squared loss for values.
  MemoryObjective(TrainingSet set, double lambda, int threads = 0, bool intercept = true,
                  std::shared_ptr<const Loss> loss = nullptr);

  // Of examples that need not be in memory. `lean`: of one point alone w·x and wᵀΣw are remembered, 16 bytes per
  // example, and another's are read anew where they are wanted.
  MemoryObjective(std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets, double lambda,
                  int threads, bool intercept, std::shared_ptr<const Loss> loss, bool lean);

  const Source& source() const { return *source_; }
  const Targets& targets() const { return *targets_; }
  const Cuts& cuts() const { return *cuts_; }  // of a pass that sums up
  double centre() const { return centre_; }    // of the targets
  // What is taken off every x before it counts; of no length: nothing.
  const Vector& origin() const { return origin_; }

  Index examples() const override { return targets_->examples(); }
  Index features() const override { return features_; }
  Task task() const override { return targets().task(); }
  double mean_weight() const override { return mean_weight_; }
  Cost cost() const override;
  Trivial trivial() const override;
  Centred centred() const override;

  std::unique_ptr<Objective> sample(Index rows, std::uint64_t seed) const override;

  using Objective::evaluate;
  void evaluate(const Vector& w, double b, double epsilon, Evaluation& e) const override;
  double value(const Vector& w, double b, double epsilon = 0) const override;
  double value(const Evaluation& at, double epsilon) const override;
  double active_share(const Evaluation& at, double negligible) const override;
  Along along(const Evaluation& at) const override;
  double sharp_share(const Evaluation& at, double deviation) const override;
  std::unique_ptr<Hessian> hessian(const Evaluation& at, double negligible = 0) const override;
  std::unique_ptr<Ray> ray(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                           double epsilon) const override;
  double best_intercept(const Vector& w, double start = 0) const override;
  bool descend(const std::function<bool(const Descent&)>& goes_on) const override;
  Certificate certify(const Vector& w, double b) const override;
  double sample_gradient(const Vector& w, double b, const std::vector<Index>& sample, Vector& gw,
                         double& gb) const override;

 private:
  MemoryObjective(const MemoryObjective& of, std::shared_ptr<const Source> source,
                  std::shared_ptr<const Targets> targets, Vector origin, Vector moved);
  double shift(const Vector& w) const { return origin_.size() ? origin_.dot(w) : 0.0; }

  struct Margins;  // w·x and wᵀΣw of every example
  Margins margins(const Vector& w) const;
  // Refuses a point that was not evaluated here.
  void require_known(const Evaluation& at, const char* name) const;
  // What is kept of a point; read anew where it has been given up.
  const MemoryKept& kept(const Evaluation& at) const;
  const MemoryKept& complete(MemoryKept& known, const Vector& w) const;
  friend class MemoryHessian;
  friend class MemoryRay;
  friend class ShardWorker;
  // Sums up at (w, b): the groups to `emit`, or all of them to `total` where it is null.
  void pass(const Vector& w, double b, double epsilon, bool columns, MemoryKept& kept,
            const std::function<void(const Local&)>* emit, Local& total) const;
  const Levels& kappa_levels(const Evaluation& at) const;
  // The remote that keeps what is known of examples, or null.
  const Remote* keeper() const;
  void fill_curvature(const Evaluation& at, const MemoryKept& of, std::vector<double>& out) const;
  double value(const double* mean, const double* variance, double w_squared, double b, double epsilon) const;
  std::vector<double> values(const double* mean, const double* variance, double b, double epsilon) const;
  std::vector<double> bends(const Evaluation& at) const;  // the same for along()
  double best_intercept(const Margins& margins, double start) const;
  double slope_in_b(const Margins& margins, double b, double* slope) const;
  Trivial trivial_of_labels() const;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Targets> targets_;
  std::shared_ptr<const Cuts> cuts_;
  std::shared_ptr<Slot> slot_;  // where but one point is remembered, or null
  Index features_;
  Vector origin_;
  Vector moved_;                      // from where the data lie to where they are seen from; of no length: not at all
  std::shared_ptr<Columns> columns_;  // looked at when a certificate first wants them
  double mean_weight_, centre_;       // of the targets
};

}  // namespace svmgsu
