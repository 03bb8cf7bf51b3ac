#include "solvers/newton.hpp"

#include <algorithm>
#include <cmath>

#include "engines/hessian.hpp"
#include "solvers/best_so_far.hpp"
#include "solvers/bundle.hpp"
#include "solvers/choices.hpp"
#include "solvers/dual_descent.hpp"
#include "solvers/line_search.hpp"
#include "solvers/quasi_newton.hpp"
#include "support/poll.hpp"

namespace svmgsu {
namespace {

using namespace choices;

class Newton : private BestSoFar {
 public:
  Newton(const Engine& objective, const Options& options, const Monitor& monitor)
      : BestSoFar(options, monitor),
        objective_(objective),
        bundle_(objective.lambda(), objective.intercept(), objective.task() == Task::classification) {}

  Result run(const Vector* start_w, double start_b) {
    trivial_ = objective_.trivial();  // reads the targets alone; not interrupted, so that there always is a point
    begin(Vector::Zero(objective_.features()), trivial_);
    const Watch watch([this] { return !interrupted(); });
    try {
      start(start_w, start_b);
      iterate();
    } catch (const Interrupted&) {
      record();
    }
    if (result_.w.squaredNorm() == 0) result_.b = trivial_.b;
    return std::move(result_);
  }

 private:
  void iterate() {
    double last_gap = std::numeric_limits<double>::infinity();
    int idle = 0;
    while (true) {
      if (finished()) break;
      idle = gap() < 0.99 * last_gap ? 0 : idle + 1;
      if (idle == 0) last_gap = gap();
      if (idle >= kPatience || hopeless()) {
        result_.stop = mostly_rounding() ? Stop::rounding : Stop::stalled;
        break;
      }
      const double target = 0.3 * options_.tolerance * result_.objective;
      const double newton_gap = now_.value - now_.dual - now_.smoothed_share;
      const double smoothing_gap = result_.objective - now_.dual - newton_gap;
      const double worth_a_cut = smoothing_gap > target ? 2 * smoothing_gap : 0.0;
      ++result_.iterations;
      ++steps_here_;
      if (prefers_quasi()) {
        quasi_step(newton_gap, worth_a_cut);
      } else {
        newton_step(next_epsilon(newton_gap, worth_a_cut), newton_gap);
      }
    }
  }

  void start(const Vector* start_w, double start_b) {
    const Vector zero = Vector::Zero(objective_.features());
    const bool values = objective_.task() == Task::regression;
    const double mean_weight = objective_.mean_weight();
    unit_ = objective_.loss().smooth() ? 0.0 : values && mean_weight > 0 ? trivial_.value / mean_weight : 1.0;
    ridge_of_b_ = kRidge * mean_weight / (unit_ > 0 ? unit_ : 1.0);
    if (start_w && start_w->allFinite() && std::isfinite(start_b)) {
      epsilon_ = unit_ > 0 && options_.start_epsilon > 0 ? options_.start_epsilon : kWarmEpsilon * unit_;
      visit(*start_w, objective_.intercept() ? start_b : 0.0);
      if (now_.certificate.value <= trivial_.start) return;
    }
    if (suits_descent(objective_) && descend()) return;
    if (start_from_sample()) return;
    epsilon_ = unit_;
    visit(zero, objective_.intercept() && values ? trivial_.b : 0.0);
    // All slopes are alike here, so that their sums tell the mean of x.
    if (!values) mean_ = (now_.slopes.sum[1] - now_.slopes.sum[0]) / (now_.slopes.mass[0] + now_.slopes.mass[1]);
  }

  // Coordinate descent until the proof is there or comes no nearer; then from its point, with a smoothing of that size.
  bool descend() {
    double last = std::numeric_limits<double>::infinity();
    int idle = 0;
    Step at;
    const bool done = svmgsu::descend(objective_, [&](const Descent& now) {
      passes_ = now.passes;
      keep(now.certificate, now.w, now.b);
      at = {now.w, now.b};
      ++result_.iterations;
      if (finished()) return false;
      idle = gap() < 0.8 * last ? 0 : idle + 1;
      if (idle == 0) last = gap();
      return idle < kDescentPatience;
    });
    if (!done || result_.stop != Stop::converged || gap() <= options_.tolerance * result_.objective) return done;
    epsilon_ = unit_ * std::min(kWarmEpsilon, std::max(1e-5, gap() / result_.objective));
    visit(at.w, at.b);
    return true;
  }

  // Where samples are many, the optimum of some of them is a good start for a hundredth of the cost.
  bool start_from_sample() {
    const Index rows = subsample_rows(objective_.samples(), objective_.features());
    if (rows == 0) return false;
    const std::unique_ptr<Engine> some = objective_.subsample(rows, 0);
    if (!some) return false;
    Options rough = options_;
    rough.tolerance = std::max(options_.tolerance, kSampleAccuracy);
    const Result found = Newton(*some, rough, {}).run(nullptr, 0);
    passes_ += found.history.back().passes * static_cast<double>(rows) / static_cast<double>(objective_.samples());
    epsilon_ = kSampleAccuracy * unit_;
    visit(found.w, found.b);
    return now_.certificate.value <= trivial_.start;
  }

  // A pass at (w, b): the best objective and the best bound are kept, from whichever points they came.
  void visit(const Vector& w, double b) {
    objective_.evaluate(w, b, epsilon_, now_);
    passes_ += 1;
    keep(now_.certificate, w, b);
    result_.epsilon = now_.epsilon;
    bundle_.add(now_.slopes);
    if (gap() > options_.tolerance * result_.objective) keep_bound(bundle_.best());
  }

  // ε for the next point: cut once no more is left to gain at the present one than a cut is worth, by a
  // factor that follows how many steps the last cut took. Smooth losses stay at 0.
  double next_epsilon(double left, double worth_a_cut) {
    if (epsilon_ == 0) return 0;
    if (left > worth_a_cut) return epsilon_;
    if (reductions_++ > 0) {
      if (steps_here_ == 1) factor_of_cut_ = std::max(0.05, factor_of_cut_ / 2);
      if (steps_here_ > 2) factor_of_cut_ = std::min(0.5, 1.5 * factor_of_cut_);
    }
    steps_here_ = 0;
    return factor_of_cut_ * epsilon_;
  }

  // Quasi-Newton steps cost one pass each. They are worth it while most samples are active, so that a
  // Hessian product would cost a pass as well, and as long as they shrink what is left to gain by the
  // next one; then never again. (The gap itself falls late where λ is small.)
  bool prefers_quasi() {
    if (!quasi_) return false;
    quasi_ = (diagonal_ || !pace_.slow()) && objective_.active_share(now_, kNegligibleKappa) > kDenseShare;
    return quasi_;
  }

  Step gradient(const Evaluated& at) const { return {at.gradient, objective_.intercept() ? at.gradient_b : 0.0}; }

  void estimate(const Hessian& hessian, Phase phase) {
    factor_.reset();  // its memory may be wanted
    const auto seed = static_cast<std::uint64_t>(result_.iterations);
    factor_ = make_preconditioner(objective_, hessian, ridge_of_b_, seed, phase);
  }
  bool sketches_first() const { return sketches(objective_, Phase::first); }

  // The first matrix of L-BFGS: the diagonal of the Hessian as long as the steps that are left then, to judge by the
  // last ones, are fewer passes than a factored estimate costs with the few steps that it needs; and then that.
  void choose_metric() {
    pace_.see_gap(gap() / (options_.tolerance * result_.objective));
    const double share = objective_.active_share(now_, kNegligibleKappa);
    const double cost = passes_of_factor(objective_, share * static_cast<double>(objective_.samples()));
    const bool sketch = sketches_first();
    if (!factor_ && objective_.features() > kFewFeatures) diagonal_ = true;
    ++factor_age_;
    if (diagonal_ &&
        (sketch ? !pace_.slow() : !pace_.known() || pace_.steps_left(options_.tolerance * result_.objective) <= cost)) {
      if (!factor_ || !sketch)
        factor_ = make_preconditioner(objective_, Hessian(objective_, now_, kNegligibleKappa), ridge_of_b_, 0,
                                      Phase::diagonal);
      return;
    }
    if (!diagonal_ && factor_ && factor_age_ <= (sketch ? kSketchLife : kFactorLife)) return;
    make_factor();
  }

  Step direction() {
    Step p = memory_.direction(*factor_, gradient(now_), sketches_first(),
                               known_pairs(objective_, now_, *factor_, diagonal_ ? &mean_ : nullptr));
    if (!objective_.intercept()) p.b = 0;
    return p;
  }

  void make_factor() {
    if (diagonal_) pace_.forget_decrements();
    diagonal_ = false;
    estimate(Hessian(objective_, now_, kNegligibleKappa), Phase::first);
    factor_age_ = 1;
    memory_.forget();
  }

  // The first step, from w = 0 along the diagonal: some samples tell how long it should be, and whether it leads to
  // where hardly any loss is sharp. If not, or if it must be short because features are correlated, a factor is wanted.
  bool probe(Step& p) {
    if (epsilon_ == 0 || !diagonal_ || now_.w.squaredNorm() > 0) return false;
    const std::unique_ptr<Engine> some = objective_.subsample(kFewSamples, 1);
    if (!some) return false;
    const Evaluated from = some->evaluate(now_.w, now_.b, epsilon_);
    const Evaluated there = some->evaluate(now_.w + p.w, now_.b + p.b, epsilon_);
    const double sharp = kSharp * kSharp * unit_ * unit_;
    const std::vector<double>& variance = some->cached(there).variance;
    const bool blurred = std::all_of(variance.begin(), variance.end(), [=](double v) { return v >= sharp; });
    const Line line(*some, from, there, p.w, p.b, blurred ? kSharp * epsilon_ : epsilon_);
    const LineStep best = line_search(line, objective_.intercept());
    if (!sketches_first() && (!blurred || best.t < kShort)) {
      make_factor();
      p = direction();
      return false;
    }
    p.w *= best.t;
    p.b = best.t * p.b + best.beta;
    return blurred;
  }

  // One step of L-BFGS whose first matrix is a factored estimate of the Hessian, made anew from time to
  // time. What is left at this ε is what the step itself promises: the proof comes late where λ is small.
  void quasi_step(double newton_gap, double worth_a_cut) {
    choose_metric();
    Step here = gradient(now_);
    Step p = direction();
    const bool blur = probe(p);
    const double slope = here.dot(p);
    pace_.see_decrement(-slope);
    const double epsilon = blur ? kSharp * epsilon_ : next_epsilon(std::min(newton_gap, -slope), worth_a_cut);
    bool cut = epsilon != epsilon_ && epsilon_ > kSharp * unit_;
    cut |= blur;
    epsilon_ = epsilon;
    std::swap(before_, now_);
    visit(before_.w + p.w, before_.b + p.b);
    if (!(now_.value <= before_.value + 1e-4 * slope)) {
      const LineStep best = search(p);
      p.w *= best.t;
      p.b = best.t * p.b + best.beta;
      visit(before_.w + p.w, before_.b + p.b);
    }
    if (cut) return;  // the difference of gradients is not one of points alone
    Step y = gradient(now_);
    y.add(-1, here);
    memory_.remember(p, y);
  }

  // One Newton step from now_, to the path's point for `epsilon`.
  void newton_step(double epsilon, double newton_gap) {
    const double old_epsilon = epsilon_;
    Hessian hessian(objective_, now_, kNegligibleKappa);
    const double share = static_cast<double>(hessian.active()) / static_cast<double>(objective_.samples());
    Step rhs = gradient(now_);
    rhs = {-rhs.w, -rhs.b};
    if (epsilon != old_epsilon) {
      Vector h;
      double h_b;
      hessian.smoothing_derivative(h, h_b);
      passes_ += share;
      rhs.w -= (epsilon - old_epsilon) * h;
      if (objective_.intercept()) rhs.b -= (epsilon - old_epsilon) * h_b;
    }
    const Step p = conjugate_gradients(hessian, rhs, share);

    epsilon_ = epsilon;
    std::swap(before_, now_);
    visit(before_.w + p.w, before_.b + p.b);
    // dJ/dt at t = 0, where the step after a cut of ε solves Hp = −g, with g the gradient at the new ε to first order.
    const double first_slope = epsilon_ == old_epsilon ? gradient(before_).dot(p) : -rhs.dot(p);
    if (accepts(p, first_slope, newton_gap)) return;
    const LineStep best = search(p);
    visit(before_.w + best.t * p.w, before_.b + best.t * p.b + best.beta);
  }

  Step conjugate_gradients(Hessian& hessian, const Step& rhs, double share) {
    const bool intercept = objective_.intercept();
    const bool cheap = !sketches(objective_, Phase::newton) && hessian.active() <= rows_for_dense(objective_);
    if (!factor_ || diagonal_ || cheap || last_products_ > kFactorLife) estimate(hessian, Phase::newton);
    diagonal_ = false;
    last_products_ = 0;
    Step x{Vector::Zero(objective_.features()), 0}, r = rhs, z = factor_->solve(r), p = z, hp;
    double rz = r.dot(z);
    const double little = kResidual * kResidual * rz;  // in the factor's metric, which knows no units
    for (Index k = 0; k <= objective_.features(); ++k) {
      hessian.times(p.w, p.b, hp.w, hp.b);
      ++last_products_;
      hp.b = intercept ? hp.b + ridge_of_b_ * p.b : 0.0;
      passes_ += share;
      const double curvature = p.dot(hp);
      if (!(curvature > 0)) break;
      const double alpha = rz / curvature;
      x.add(alpha, p);
      r.add(-alpha, hp);
      poll();
      z = factor_->solve(r);
      const double next = r.dot(z);
      if (!(next > little)) break;
      p.w = z.w + next / rz * p.w;
      p.b = z.b + next / rz * p.b;
      rz = next;
    }
    return x;
  }

  // Did the unit step (now_) descend on the objective of the new ε without going far too far?
  bool accepts(const Step& p, double first_slope, double newton_gap) const {
    const double after_gap = now_.value - now_.dual - now_.smoothed_share;
    const double last_slope = gradient(now_).dot(p);
    const double value = Line(objective_, before_, epsilon_).at(0, 0).value;
    // Near the optimum the gap tells more than the value; far from it, where the dual value is very
    // negative, it tells nothing.
    if (after_gap <= 0.3 * newton_gap && (newton_gap <= value || now_.value <= value)) return true;
    return now_.value <= value * (1 + 1e-12) && last_slope <= 0.5 * std::abs(first_slope);
  }

  // From before_ along p, whose unit step is now_. After a cut of ε it may be no descent at all: then stay and turn.
  LineStep search(const Step& p) {
    const Line line(objective_, before_, now_, p.w, p.b, epsilon_);
    passes_ += line.has_read();
    return line_search(line, objective_.intercept());
  }

  const Engine& objective_;
  Bundle bundle_;
  Evaluated now_, before_;  // and the point before, in whose memory the next evaluation goes
  Engine::Trivial trivial_;
  double ridge_of_b_ = 0;  // in units of the margin or of the targets, which are those of b once the data are centred
  Vector mean_;            // of x, where that is known
  double unit_ = 1;        // of ε: the margin, or the targets' own
  double epsilon_ = 0;
  QuasiNewton memory_;
  std::unique_ptr<Preconditioner> factor_;
  Pace pace_;
  int factor_age_ = 0;
  double factor_of_cut_ = 0.1;  // of ε
  int steps_here_ = 0;          // since the last cut
  int reductions_ = 0, last_products_ = kFactorLife + 1;
  bool quasi_ = true;
  bool diagonal_ = false;  // whether factor_ is but the diagonal
};

}  // namespace

Result solve_newton(const Engine& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
                    double start_b) {
  return Newton(objective, options, monitor).run(start_w, start_b);
}

}  // namespace svmgsu
