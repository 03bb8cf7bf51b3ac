// Passes over data in memory: value, gradient and bound.
#include "svmgsu/engines/memory.hpp"

#include <cmath>

#include "engines/centring.hpp"
#include "engines/group_sums.hpp"
#include "engines/memory_kept.hpp"
#include "engines/rounding.hpp"
#include "svmgsu/support/random.hpp"

namespace svmgsu {

namespace {

Cuts cuts_of(const Source& source) {
  const Index count = source.examples();
  const double sums = 2 * source.like().sum_size();
  return Cuts(count, block_size(source.like(), source.numbers(), count, sums), sums);
}

std::shared_ptr<const Loss> loss_or_usual(std::shared_ptr<const Loss> loss, Task task) {
  return loss ? std::move(loss) : make_loss(task == Task::regression ? "squared" : "hinge");
}

Task task_of(const std::shared_ptr<const Source>& source, const std::shared_ptr<const Targets>& targets) {
  require(source != nullptr, "source: null pointer");
  require(targets != nullptr, "targets: null pointer");
  return targets->task();
}

}  // namespace

MemoryObjective::MemoryObjective(TrainingSet set, double lambda, int threads, bool intercept,
                                 std::shared_ptr<const Loss> loss)
    : MemoryObjective(std::make_shared<MemorySource>(std::move(set.data)),
                      std::make_shared<const Targets>(std::move(set.targets)), lambda, threads, intercept,
                      std::move(loss), false) {}

MemoryObjective::MemoryObjective(std::shared_ptr<const Source> source, std::shared_ptr<const Targets> targets,
                                 double lambda, int threads, bool intercept, std::shared_ptr<const Loss> loss,
                                 bool lean)
    : Objective(loss_or_usual(std::move(loss), task_of(source, targets)), lambda, threads, intercept),
      source_(std::move(source)),
      targets_(std::move(targets)),
      slot_(lean ? std::make_shared<Slot>() : nullptr),
      features_(source_->like().features()),
      columns_(std::make_shared<Columns>()),
      mean_weight_(targets_->mean_weight()),
      centre_(intercept ? targets_->centre() : 0.0) {
  targets_->require_examples(source_->examples());
  require_task(this->loss(), targets_->task());
  cuts_ = std::make_shared<const Cuts>(cuts_of(*source_));
}

MemoryObjective::MemoryObjective(const MemoryObjective& of, std::shared_ptr<const Source> source,
                                 std::shared_ptr<const Targets> targets, Vector origin, Vector moved)
    : Objective(of),
      source_(std::move(source)),
      targets_(std::move(targets)),
      slot_(source_->whole() ? nullptr : of.slot_),
      features_(of.features_),
      origin_(std::move(origin)),
      moved_(std::move(moved)),
      columns_(std::make_shared<Columns>()),
      mean_weight_(targets_->mean_weight()),
      centre_(intercept() ? targets_->centre() : 0.0) {
  cuts_ = std::make_shared<const Cuts>(cuts_of(*source_));
}

// Not far off, a number of each sum is corrected for the origin; far off, the numbers of the rows themselves.
Objective::Centred MemoryObjective::centred() const {
  if (!intercept()) return {};
  const Centre centre = centre_of(*source_);
  if (centre.at.size() == 0) return {};
  std::shared_ptr<const Source> source = centre.far ? seen_from(source_, centre.at) : source_;
  const Vector origin = centre.far ? Vector() : centre.at;
  return {std::unique_ptr<Objective>(new MemoryObjective(*this, source, targets_, origin, centre.at)), centre.at};
}

Objective::Cost MemoryObjective::cost() const {
  Cost cost;
  cost.numbers = source_->numbers();
  cost.rank = source_->rank();
  for (const auto& term : source_->like().covariance()) cost.dense |= term.kind.dense();
  return cost;
}

// One of each so many neighbours: in the order of memory, and no pattern of the data is met at every draw.
std::unique_ptr<Objective> MemoryObjective::sample(Index rows, std::uint64_t seed) const {
  if (rows >= examples()) return nullptr;
  SplitMix64 random(seed);
  std::vector<Index> positions;
  for (Index k = 0; k < rows; ++k) {
    const Index first = k * examples() / rows, end = (k + 1) * examples() / rows;
    positions.push_back(first + static_cast<Index>(random() % static_cast<std::uint64_t>(end - first)));
  }
  const auto some = std::make_shared<const Targets>(targets().some(positions));
  double mass[2];
  some->masses(mass);
  if (task() == Task::classification && !(mass[0] > 0 && mass[1] > 0)) return nullptr;
  return std::unique_ptr<Objective>(new MemoryObjective(*this, source_->take(positions), some, origin_, moved_));
}

MemoryObjective::Margins MemoryObjective::margins(const Vector& w) const {
  require_point(w);
  Margins result;
  result.mean.resize(static_cast<std::size_t>(examples()));
  result.variance.resize(static_cast<std::size_t>(examples()));
  if (const Remote* const far = source_->remote()) {
    far->margins(*this, w, result.mean.data(), result.variance.data());
    return result;
  }
  std::vector<Plan> plans;
  const double shift = this->shift(w), numbers = source_->numbers();
  const Cuts cuts(examples(), block_size(source_->like(), numbers, examples(), 0), 0);
  sweep<Adds::nothing>(
      Visit{[&](const Source::Use& use) { source_->all(cuts, use); }, cuts, numbers, nullptr, threads(), nullptr},
      [&](const Piece& piece) { return PointForms(piece.data, w, plans); },
      [&](Places places, int count, const double* mean, const double* variance, double*, double*, char*, Local&) {
        for (int i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(places.first + i);
          result.mean[at] = mean[i] - shift;
          result.variance[at] = std::max(0.0, variance[i]);
        }
      },
      nullptr);
  return result;
}

void MemoryObjective::require_known(const Evaluation& at, const char* name) const {
  const auto* const known = dynamic_cast<const MemoryKept*>(at.kept.get());
  require(known && at.w.size() == features_ &&
              (known->mean.empty() || static_cast<Index>(known->mean.size()) == examples()),
          std::string(name) + ": not a point that this objective has evaluated");
}

const MemoryKept& MemoryObjective::kept(const Evaluation& at) const {
  return complete(static_cast<MemoryKept&>(*at.kept), at.w);
}

const MemoryKept& MemoryObjective::complete(MemoryKept& known, const Vector& w) const {
  if (known.mean.empty()) {
    Margins m = margins(w);
    known.mean = std::move(m.mean);
    known.variance = std::move(m.variance);
  }
  return known;
}

// Summed in the blocks of evaluate(), so that both give the same bits.
double MemoryObjective::value(const double* mean, const double* variance, double w_squared, double b,
                              double epsilon) const {
  const double total = total_of<1>(values(mean, variance, b, epsilon))[0];
  return lambda() / 2 * w_squared + total / static_cast<double>(examples());
}

std::vector<double> MemoryObjective::values(const double* mean, const double* variance, double b,
                                            double epsilon) const {
  return group_sums<1>(cuts(), threads(), [&](Index first, int count, std::array<double, 1>& part) {
    Residuals r;
    const Targets::View of(targets(), first, count);
    r.set(count, of, mean + first, variance + first, b, epsilon);
    r.evaluate(loss(), count);
    for (int i = 0; i < count; ++i) part[0] += of.weight[i] * r.loss[i];
  });
}

double MemoryObjective::value(const Vector& w, double b, double epsilon) const {
  const Margins m = margins(w);
  return value(m.mean.data(), m.variance.data(), w.squaredNorm(), b, epsilon);
}

double MemoryObjective::value(const Evaluation& at, double epsilon) const {
  require_known(at, "at");
  if (const Remote* const far = keeper()) {
    const double total = total_of<1>(far->values(*this, {at.w, at.b, at.epsilon}, epsilon))[0];
    return lambda() / 2 * at.w.squaredNorm() + total / static_cast<double>(examples());
  }
  return value(kept(at).mean.data(), kept(at).variance.data(), at.w.squaredNorm(), at.b, epsilon);
}

// L″ of every example, as it was or would have been kept.
void MemoryObjective::fill_curvature(const Evaluation& at, const MemoryKept& of, std::vector<double>& out) const {
  out.resize(static_cast<std::size_t>(examples()));
  Residuals r;
  for (Index first = 0; first < examples(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, examples() - first));
    r.set(count, Targets::View(targets(), first, count), &of.mean[static_cast<std::size_t>(first)],
          &of.variance[static_cast<std::size_t>(first)], at.b, at.epsilon);
    r.evaluate(loss(), count);
    std::copy_n(r.curvature, count, out.begin() + first);
  }
}

const Remote* MemoryObjective::keeper() const {
  const Remote* const far = source_->remote();
  return far && far->keeps() ? far : nullptr;
}

const Levels& MemoryObjective::kappa_levels(const Evaluation& at) const {
  auto& known = static_cast<MemoryKept&>(*at.kept);
  if (!known.kappa.empty()) return known.kappa;
  std::vector<double> made;
  if (known.curvature.empty()) fill_curvature(at, kept(at), made);
  const std::vector<double>& curvature = known.curvature.empty() ? made : known.curvature;
  known.kappa = Levels::count(curvature.size(),
                              [&](std::size_t i) { return curvature[i] * targets().weight(static_cast<Index>(i)); });
  return known.kappa;
}

double MemoryObjective::active_share(const Evaluation& at, double negligible) const {
  require_known(at, "at");
  const Levels& levels = kappa_levels(at);
  return static_cast<double>(levels.from(levels.above(negligible))) / static_cast<double>(examples());
}

Objective::Along MemoryObjective::along(const Evaluation& at) const {
  require_known(at, "at");
  const auto sum = total_of<2>(keeper() ? static_cast<const MemoryKept&>(*at.kept).bends : bends(at));
  const double share = 1.0 / static_cast<double>(examples());
  return {lambda() * at.w.squaredNorm() + share * sum[0], share * sum[1]};
}

// With ξ = w·x and η = wᵀΣw in the formula of Hessian; see Bends for κ, ρ and γ.
std::vector<double> MemoryObjective::bends(const Evaluation& at) const {
  const MemoryKept& known = kept(at);
  return group_sums<2>(cuts(), threads(), [&](Index first, int count, std::array<double, 2>& part) {
    const double *mean = &known.mean[static_cast<std::size_t>(first)],
                 *variance = &known.variance[static_cast<std::size_t>(first)];
    Residuals r;
    Bends bends;
    const Targets::View of(targets(), first, count);
    r.set(count, of, mean, variance, at.b, at.epsilon);
    bends.set(loss(), count, r.d, r.s);
    for (int i = 0; i < count; ++i) {
      const double kappa = of.weight[i] * bends.second[i], alpha = of.sign[i] * mean[i] + bends.rho[i] * variance[i];
      part[0] += kappa * (alpha * alpha + variance[i] * (1 - bends.gamma[i] * variance[i]));
      part[1] += kappa * alpha * of.sign[i];
    }
  });
}

double MemoryObjective::sharp_share(const Evaluation& at, double deviation) const {
  require_known(at, "at");
  auto& known = static_cast<MemoryKept&>(*at.kept);
  if (known.variances.empty()) {
    const std::vector<double>& variance = kept(at).variance;
    known.variances = Levels::count(variance.size(), [&](std::size_t i) { return variance[i]; });
  }
  const int sharp = Levels::of(deviation * deviation);
  return static_cast<double>(known.variances.below(sharp)) / static_cast<double>(examples());
}

namespace {

// A pass at (w, b): the losses of a batch, what is kept of them, and their coefficients.
struct GradientLink {
  const Loss& loss;
  const Targets& targets;
  double shift, b, epsilon, centre;
  MemoryKept& kept;
  const Piece* const& piece;
  bool columns;  // whether this pass looks at them

  void operator()(Places places, int count, const double* dot, const double* form, double* coefficient, double* kappa,
                  char* side, Local& local) const {
    double mean[kMaxBatch], variance[kMaxBatch];
    const Targets::View of =
        places.sorted ? Targets::View(targets, places.sorted, count) : Targets::View(targets, places.first, count);
    const double *sign = of.sign, *target = of.target, *weight = of.weight;
    for (int i = 0; i < count; ++i) {
      mean[i] = dot[i] - shift;
      variance[i] = std::max(0.0, form[i]);
    }
    Residuals r;
    if (epsilon > 0) {
      r.set(count, sign, target, mean, variance, b, 0.0);
      r.evaluate(loss, count);
      for (int i = 0; i < count; ++i) local.loss += weight[i] * r.loss[i];
    }
    r.set(count, sign, target, mean, variance, b, epsilon);
    r.evaluate(loss, count);
    keep(places, count, mean, variance, r.curvature);
    if (columns) look(places, count, weight, local);
    if (loss.gap_error() > 0)
      for (int i = 0; i < count; ++i) local.spread += weight[i] * r.s[i];
    double mass_of[2] = {0, 0}, dual_of[2] = {0, 0}, losses[kMaxBatch];
    for (int i = 0; i < count; ++i) {
      const double slope = weight[i] * r.slope[i];
      losses[i] = weight[i] * r.loss[i];
      coefficient[i] = sign[i] * slope;
      kappa[i] = weight[i] * r.curvature[i];
      local.curvature += kappa[i];
      // Any constant may be taken from σt, because Σ cρa = 0: near the targets' own, little cancels.
      const double margin = (target[i] - sign[i] * centre - r.d[i]) * slope, spread = r.s[i] * r.s[i] * kappa[i];
      const double dual = margin - spread + losses[i], steep = std::abs(r.slope[i]) + r.s[i] * r.curvature[i];
      local.terms += std::abs(margin) + spread + losses[i];
      local.slope_squares += weight[i] * steep * steep;  // s L″: the slope may change by so much nearby
      side[i] = coefficient[i] > 0 || (coefficient[i] == 0 && sign[i] > 0);
      const double mass = std::abs(slope);
      mass_of[0] += side[i] ? 0.0 : mass;
      mass_of[1] += side[i] ? mass : 0.0;
      dual_of[0] += side[i] ? 0.0 : dual;
      dual_of[1] += side[i] ? dual : 0.0;
    }
    for (int k : {0, 1}) {
      local.of[k].mass += mass_of[k];
      local.dual[k] += dual_of[k];
    }
    for (int i = 0; i < count; ++i) {
      if (places.sorted)
        local.sorted.losses[static_cast<std::size_t>(places.sorted[i] - local.start)] = losses[i];
      else
        local.smooth_loss += losses[i];
    }
  }

 private:
  void keep(Places places, int count, const double* mean, const double* variance, const double* curvature) const {
    const auto to = [&](std::vector<double>& all, const double* values) {
      if (!places.sorted) std::copy_n(values, count, all.begin() + places.first);
      for (int i = 0; places.sorted && i < count; ++i) all[static_cast<std::size_t>(places.sorted[i])] = values[i];
    };
    to(kept.mean, mean);
    to(kept.variance, variance);
    if (!kept.curvature.empty()) to(kept.curvature, curvature);
  }
  void look(Places places, int count, const double* weight, Local& local) const {
    Index id[kMaxBatch];
    for (int i = 0; i < count; ++i) id[i] = piece->ids[static_cast<std::size_t>(places[i] - piece->first)];
    Columns::look(piece->data, Batch{id, count}, weight, local.squares);
  }
};

}  // namespace

void MemoryObjective::pass(const Vector& w, double b, double epsilon, bool columns, MemoryKept& kept, const Emit* emit,
                           Local& total) const {
  kept.take(slot_);
  kept.kappa = kept.variances = Levels();
  const Index known = keeper() ? 0 : examples();  // of which w·x and wᵀΣw come here
  for (auto* array : {&kept.mean, &kept.variance}) array->resize(static_cast<std::size_t>(known));
  kept.curvature.resize(source_->whole() ? static_cast<std::size_t>(examples()) : 0);
  if (const Remote* const far = source_->remote()) return far->gradient(*this, {w, b, epsilon}, columns, total, kept);
  const Piece* here = nullptr;
  sweep<Adds::by_side>(
      Visit{[&](const Source::Use& use) { source_->all(cuts(), use); }, cuts(), source_->numbers(), targets_.get(),
            threads(), emit},
      [&](const Piece& piece) {
        here = &piece;
        return PointForms(piece.data, w, kept.plans);
      },
      GradientLink{loss(), targets(), shift(w), b, epsilon, centre_, kept, here, columns}, &total);
}

void MemoryObjective::evaluate(const Vector& w, double b, double epsilon, Evaluation& e) const {
  require_point(w);
  e.w = w;
  e.b = b;
  e.epsilon = epsilon;
  if (!dynamic_cast<MemoryKept*>(e.kept.get()) || e.kept.use_count() > 1) e.kept = std::make_shared<MemoryKept>();
  auto& kept = static_cast<MemoryKept&>(*e.kept);
  Local total;
  pass(w, b, epsilon, !columns_->known, kept, nullptr, total);
  const auto& covariance = source_->like().covariance();

  const double share = 1.0 / static_cast<double>(examples());
  const double penalty = lambda() / 2 * w.squaredNorm();
  DualPoint& slopes = e.slopes;
  for (int k : {0, 1}) {
    Vector& side = slopes.sum[k];
    side = share * total.of[k].x;
    for (std::size_t t = 0; t < covariance.size(); ++t)
      covariance[t].kind.finish(total.of[k].terms[t].data(), w.data(), features(), -share * covariance[t].scale,
                                side.data());
    slopes.mass[k] = share * total.of[k].mass;
    if (origin_.size()) side -= (k == 1 ? slopes.mass[k] : -slopes.mass[k]) * origin_;
    slopes.value[k] = share * total.dual[k];
  }
  e.value = penalty + total.smooth_loss / static_cast<double>(examples());
  e.gradient = lambda() * w - slopes.sum[0] - slopes.sum[1];
  e.gradient_b = slopes.mass[0] - slopes.mass[1];
  e.curvature_b = share * total.curvature;
  e.smoothed_share = epsilon * epsilon * e.curvature_b;
  total.of[0].add(total.of[1]);
  kept.sums = std::move(total.of[0].terms);

  if (!columns_->known) columns_->learn(total.squares, targets(), origin_);
  Rounding rounding(*source_, cuts(), *columns_, total, kept.sums, w, mean_weight_, moved_);
  slopes.unseen = loss().gap_error() * share * total.spread;
  const double above = rounding.of_value(w, penalty);
  rounding.of_slopes(slopes);
  e.certificate = slopes.bound(lambda(), intercept(), &e.dual);
  e.certificate.value = epsilon > 0 ? penalty + share * total.loss : e.value;
  e.certificate.above = above;
}

Certificate MemoryObjective::certify(const Vector& w, double b) const {
  const Margins m = margins(w);
  Certificate result = evaluate(w, intercept() ? best_intercept(m, b) : b).certificate;
  result.value = value(m.mean.data(), m.variance.data(), w.squaredNorm(), b, 0.0);
  return result;
}

}  // namespace svmgsu
