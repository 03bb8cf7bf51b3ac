#include "svmgsu/solvers/newton.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "svmgsu/engines/hessian.hpp"
#include "svmgsu/losses/expected_hinge.hpp"
#include "svmgsu/support/clock.hpp"

namespace svmgsu {
namespace {

constexpr double kFirstEpsilon = 1.0;       // in units of the margin
constexpr double kWarmEpsilon = 0.2;        // with a starting point
constexpr double kNegligibleKappa = 1e-10;  // of the largest
constexpr double kResidual = 0.03;          // of conjugate gradients, relative
constexpr int kMostProducts = 200;
constexpr Index kMostDense = 1500;        // features up to which a dense factor is worth its cost
constexpr Index kAlwaysDense = 200;       // features up to which it costs next to nothing
constexpr Index kMostRows = 700;          // of the sketch that replaces it beyond
constexpr Index kMostNumbers = 10000000;  // of the sketch
constexpr double kSecondsBetweenCalls = 0.2;
constexpr double kDenseShare = 0.08;     // of active examples, below which Hessian products are cheap
constexpr std::size_t kMemory = 12;      // pairs that a quasi-Newton step remembers
constexpr std::size_t kTrial = 10;       // quasi-Newton steps in which what is left must shrink
constexpr std::size_t kFactorLife = 7;   // quasi-Newton steps with one preconditioner
constexpr std::size_t kSketchLife = 15;  // the same with a sketch
constexpr double kTrialGain = 3;         // by this factor
constexpr int kManyProducts = 6;         // after which conjugate gradients want a new preconditioner
constexpr int kPatience = 40;            // iterations without progress of the gap

// A direction in (w, b).
struct Step {
  Vector w;
  double b = 0;
  double dot(const Step& other) const { return w.dot(other.w) + b * other.b; }
  double norm() const { return std::sqrt(dot(*this)); }
  void add(double factor, const Step& other) {
    w += factor * other.w;
    b += factor * other.b;
  }
};

// Solves with an estimate of the Hessian.
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  virtual Vector solve(const Vector& r) const = 0;

  Step solve(const Step& r) const {
    Vector both(r.w.size() + 1);
    both << r.w, r.b;
    both = solve(both);
    return {both.head(r.w.size()), both(r.w.size())};
  }
};

// A Cholesky factor, in units that make the diagonal one.
class DenseFactor final : public Preconditioner {
 public:
  explicit DenseFactor(const Matrix& h) {
    scale_ = h.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    const Matrix scaled = scale_.asDiagonal() * h * scale_.asDiagonal();
    for (double jitter = 1e-14; jitter < 1; jitter *= 100) {
      Matrix shifted = scaled;
      shifted.diagonal().array() += jitter;
      factor_.compute(shifted);
      if (factor_.info() == Eigen::Success) return;
    }
    factor_.compute(Matrix::Identity(h.rows(), h.cols()));
  }
  using Preconditioner::solve;
  Vector solve(const Vector& r) const override { return scale_.cwiseProduct(factor_.solve(scale_.cwiseProduct(r))); }

 private:
  Vector scale_;
  Eigen::LLT<EigenMatrix> factor_;
};

// D + RᵀR with few rows R, by Woodbury: only a matrix of rows × rows is factored.
class SketchFactor final : public Preconditioner {
 public:
  SketchFactor(Hessian::Sketch sketch, int threads) : root_(sketch.diagonal.cwiseSqrt().cwiseInverse()) {
    y_ = std::move(sketch.rows);
    y_.array().rowwise() *= root_.transpose().array();
    Matrix gram = Matrix::Identity(y_.rows(), y_.rows()), transposed;
    for (Index first = 0; first < y_.cols(); first += kColumns) {  // a few at a time, which stay in the cache
      transposed = y_.middleCols(first, std::min(kColumns, y_.cols() - first)).transpose();
      kernels::add_gram(transposed.data(), transposed.rows(), y_.rows(), 1.0, gram.data(), y_.rows(), threads);
    }
    factor_.compute(gram);
    for (Index i = 0; i < y_.rows(); ++i) rows_.push_back(y_.row(i).data());
  }
  using Preconditioner::solve;
  Vector solve(const Vector& r) const override {
    const int count = static_cast<int>(rows_.size());
    Vector scaled = root_.cwiseProduct(r), inner(count);
    kernels::row_dots(rows_.data(), count, scaled.size(), scaled.data(), inner.data());
    inner = -factor_.solve(inner);
    kernels::add_rows(rows_.data(), count, scaled.size(), inner.data(), scaled.data());
    return root_.cwiseProduct(scaled);
  }

 private:
  static constexpr Index kColumns = 256;
  Vector root_;  // D^−½
  Matrix y_;     // R D^−½
  std::vector<const double*> rows_;
  Eigen::LLT<EigenMatrix> factor_;
};

using Vector2 = Eigen::Vector2d;

// J along a ray in w, with b free: value and derivatives in (t, β) at O(ℓ).
class Ray {
 public:
  struct Point {
    double value;
    Vector2 gradient;
    Eigen::Matrix2d hessian;
  };

  Ray(const Objective& objective, const Evaluation& from, const Margins& there, const Margins& back, const Step& p)
      : objective_(objective),
        from_(from),
        step_b_(p.b),
        w2_(from.w.squaredNorm()),
        wp_(from.w.dot(p.w)),
        p2_(p.w.squaredNorm()) {
    const auto size = from.margins.mean.size();
    mean_.resize(size);
    cross_.resize(size);
    square_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      mean_[i] = there.mean[i] - from.margins.mean[i];
      cross_[i] = (there.variance[i] - back.variance[i]) / 4;                                             // wᵀΣp
      square_[i] = std::max(0.0, (there.variance[i] + back.variance[i]) / 2 - from.margins.variance[i]);  // pᵀΣp
    }
  }

  Point at(double t, double beta) const {
    const Gaussians& data = objective_.data();
    const double lambda = objective_.lambda(), extra = objective_.smoothing * objective_.smoothing;
    const double share = 1.0 / static_cast<double>(data.examples());
    Point out;
    out.value = lambda / 2 * (w2_ + 2 * t * wp_ + t * t * p2_);
    out.gradient << lambda * (wp_ + t * p2_), 0;
    out.hessian << lambda * p2_, 0, 0, 1e-12;
    double d[kMaxBatch], s[kMaxBatch], loss[kMaxBatch], cdf[kMaxBatch], kappa[kMaxBatch];
    for (Index first = 0; first < data.examples(); first += kMaxBatch) {
      const int count = static_cast<int>(std::min<Index>(kMaxBatch, data.examples() - first));
      for (int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(first + i);
        const double q = from_.margins.variance[k] + t * (2 * cross_[k] + t * square_[k]);
        d[i] = 1 - data.label(first + i) * (from_.margins.mean[k] + from_.b + t * (mean_[k] + step_b_) + beta);
        s[i] = std::sqrt(std::max(0.0, q) + extra);
      }
      kernels::expected_hinge(count, d, s, loss, cdf, kappa);
      for (int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(first + i);
        const double y = data.label(first + i), weight = share * data.weight(first + i);
        const double slope = -y * (mean_[k] + step_b_), u = cross_[k] + t * square_[k];
        out.value += weight * loss[i];
        out.gradient += weight * Vector2(cdf[i] * slope + kappa[i] * u, -cdf[i] * y);
        if (kappa[i] == 0) continue;
        const double q = s[i] * s[i], z = slope - d[i] / q * u, curve = weight * kappa[i];
        out.hessian(0, 0) += curve * (z * z + square_[k] - u * u / q);
        out.hessian(0, 1) -= curve * y * z;
        out.hessian(1, 1) += curve;
      }
    }
    out.hessian(1, 0) = out.hessian(0, 1);
    return out;
  }

 private:
  const Objective& objective_;
  const Evaluation& from_;
  double step_b_, w2_, wp_, p2_;
  std::vector<double> mean_, cross_, square_;
};

class Newton {
 public:
  Newton(const Objective& objective, const Options& options, const Monitor& monitor)
      : objective_(objective), options_(options), monitor_(monitor) {}

  Result run(const Vector* start_w, double start_b) {
    start(start_w, start_b);
    double last_gap = std::numeric_limits<double>::infinity();
    int idle = 0;
    while (true) {
      if (finished()) break;
      idle = gap() < 0.99 * last_gap ? 0 : idle + 1;
      if (idle == 0) last_gap = gap();
      if (idle >= kPatience) {
        result_.stop = Stop::stalled;
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
        newton_step(next_epsilon(newton_gap, worth_a_cut), newton_gap, target);
      }
      if (result_.stop != Stop::converged) break;
    }
    if (result_.w.squaredNorm() == 0) result_.b = objective_.intercept() ? trivial_b_ : 0.0;
    return std::move(result_);
  }

 private:
  double gap() const { return std::max(0.0, result_.objective - bound_); }

  void start(const Vector* start_w, double start_b) {
    double mass[2] = {0, 0};
    const Gaussians& data = objective_.data();
    for (Index i = 0; i < data.examples(); ++i) mass[data.label(i) > 0] += data.weight(i);
    const auto count = static_cast<double>(data.examples());
    trivial_b_ = mass[1] >= mass[0] ? 1.0 : -1.0;
    result_.w = Vector::Zero(objective_.features());
    result_.b = objective_.intercept() ? trivial_b_ : 0.0;
    result_.objective = objective_.intercept() ? 2 * std::min(mass[0], mass[1]) / count : (mass[0] + mass[1]) / count;
    result_.stop = Stop::converged;
    bound_ = 0;  // a = 0 is feasible
    objective_.smoothing = start_w ? kWarmEpsilon : kFirstEpsilon;
    visit(start_w ? *start_w : Vector(Vector::Zero(objective_.features())), objective_.intercept() ? start_b : 0.0);
  }

  // A pass at (w, b): the best objective and the best bound are kept, from whichever points they came.
  void visit(const Vector& w, double b) {
    objective_.evaluate(w, b, now_);
    passes_ += 1;
    bound_ = std::max(bound_, now_.certificate.bound);
    if (now_.certificate.value < result_.objective) {
      result_.objective = now_.certificate.value;
      result_.w = w;
      result_.b = b;
    }
  }

  bool finished() {
    result_.gap = gap();
    const Progress progress{result_.iterations, result_.objective, result_.gap, clock_.seconds(), passes_};
    result_.history.push_back(progress);
    last_call_ = progress.seconds;
    const bool go_on = !monitor_ || monitor_(progress);
    if (result_.gap <= options_.tolerance * result_.objective) return true;
    if (!go_on)
      result_.stop = Stop::monitor;
    else if (progress.seconds > options_.max_seconds)
      result_.stop = Stop::time;
    else if (result_.iterations >= options_.max_iterations)
      result_.stop = Stop::iterations;
    return result_.stop != Stop::converged;
  }

  // Between passes of one iteration: keeps Ctrl-C and time limits alive on large data.
  bool interrupted() {
    const double seconds = clock_.seconds();
    if (seconds - last_call_ < kSecondsBetweenCalls) return false;
    last_call_ = seconds;
    if (monitor_ && !monitor_({result_.iterations, result_.objective, gap(), seconds, passes_}))
      result_.stop = Stop::monitor;
    else if (seconds > options_.max_seconds)
      result_.stop = Stop::time;
    return result_.stop != Stop::converged;
  }

  // ε for the next point: cut once no more is left to gain at the present one than a cut is worth, by a
  // factor that follows how many steps the last cut took.
  double next_epsilon(double left, double worth_a_cut) {
    if (left > worth_a_cut) return objective_.smoothing;
    if (reductions_++ > 0) {
      if (steps_here_ == 1) factor_of_cut_ = std::max(0.05, factor_of_cut_ / 2);
      if (steps_here_ > 2) factor_of_cut_ = std::min(0.5, 1.5 * factor_of_cut_);
    }
    steps_here_ = 0;
    return factor_of_cut_ * objective_.smoothing;
  }

  // Quasi-Newton steps cost one pass each. They are worth it while most examples are active, so that a
  // Hessian product would cost a pass as well, and as long as they shrink what is left to gain by the
  // next one; then never again. (The gap itself falls late where λ is small.)
  bool prefers_quasi() {
    if (!quasi_) return false;
    double active = 0, largest = 0;
    for (const double k : now_.kappa) largest = std::max(largest, k);
    for (const double k : now_.kappa) active += k > kNegligibleKappa * largest;
    const std::size_t steps = decrements_.size();
    const bool slow = steps > kTrial && decrements_.back() > decrements_[steps - 1 - kTrial] / kTrialGain;
    quasi_ = !slow && active > kDenseShare * static_cast<double>(now_.kappa.size());
    return quasi_;
  }

  // One step of L-BFGS whose first matrix is a factored estimate of the Hessian, made anew from time to
  // time. What is left at this ε is what the step itself promises: the proof comes late where λ is small.
  void quasi_step(double newton_gap, double worth_a_cut) {
    if (!factor_ || factor_age_ >= (sketches() ? kSketchLife : kFactorLife)) {
      factor_.reset();  // its memory may be wanted
      factor_ = estimate(Hessian(objective_, now_, kNegligibleKappa));
      factor_age_ = 0;
      pairs_.clear();
    }
    ++factor_age_;
    const Step gradient{now_.gradient, objective_.intercept() ? now_.gradient_b : 0.0};
    Step p = two_loops(gradient);
    if (!objective_.intercept()) p.b = 0;
    const double slope = gradient.dot(p);
    decrements_.push_back(-slope);
    const double epsilon = next_epsilon(std::min(newton_gap, -slope), worth_a_cut);
    const bool cut = epsilon != objective_.smoothing;
    objective_.smoothing = epsilon;
    std::swap(before_, now_);
    const Evaluation& before = before_;
    visit(before.w + p.w, before.b + p.b);
    if (!(now_.value <= before.value + 1e-4 * slope)) {
      const Vector2 best = line_search(before, p);
      p.w *= best(0);
      p.b = best(0) * p.b + best(1);
      visit(before.w + p.w, before.b + p.b);
    }
    if (cut) return;  // the difference of gradients is not one of points alone
    const Step y{now_.gradient - before.gradient, objective_.intercept() ? now_.gradient_b - before.gradient_b : 0.0};
    if (!(p.dot(y) > 1e-14 * p.norm() * y.norm())) return;
    pairs_.push_back({p, y, {}, 1 / p.dot(y)});
    if (pairs_.size() > kMemory) pairs_.erase(pairs_.begin());
  }

  // −Hg for the inverse Hessian H that L-BFGS makes of the pairs and γF⁻¹. A sketch F is too small by a factor,
  // for its few examples speak for many features: γ is what suits the last pair. F⁻¹g is the only product with
  // F⁻¹; those with y are differences of it.
  Step two_loops(const Step& gradient) {
    const Step solved = factor_->solve(gradient);
    if (!pairs_.empty()) {
      Pair& last = pairs_.back();
      if (last.solved.w.size() == 0) last.solved = {solved.w - solved_.w, solved.b - solved_.b};
      const double curvature = last.y.dot(last.solved);  // rounding may leave nothing of it near the optimum
      if (sketches() && curvature > 0) gamma_ = 1 / (last.inverse * curvature);
    }
    solved_ = solved;
    Step q = gradient, p = solved;
    std::vector<double> alpha(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      alpha[k] = pairs_[k].inverse * pairs_[k].s.dot(q);
      q.add(-alpha[k], pairs_[k].y);
      p.add(-alpha[k], pairs_[k].solved);
    }
    p = {gamma_ * p.w, gamma_ * p.b};
    for (std::size_t k = 0; k < pairs_.size(); ++k)
      p.add(alpha[k] - pairs_[k].inverse * pairs_[k].y.dot(p), pairs_[k].s);
    return {-p.w, -p.b};
  }

  // Whether there are too many features for a dense estimate of the Hessian.
  bool sketches() const { return objective_.features() > kMostDense; }

  // Examples for a dense estimate: as many as cost about two passes, but 1.5 n to 6 n.
  Index rows_for_dense() const {
    const auto n = static_cast<double>(objective_.features());
    double outer = 1, numbers = objective_.data().means().numbers_per_example();
    for (const auto& term : objective_.data().covariance()) {
      outer += static_cast<double>(std::max<Index>(0, term.kind->rank(0)));
      numbers += term.kind->numbers_per_example();
    }
    const double affordable = 60 * static_cast<double>(objective_.examples()) * numbers / (n * n * outer);
    return static_cast<Index>(std::max(500.0, std::min(6 * n, std::max(1.5 * n, affordable))));
  }

  // Whether a sketch that leaves nothing out is smaller than the dense matrix: examples are much fewer
  // than features, as with images.
  bool few_rows(const Hessian& hessian) const {
    if (objective_.features() <= kAlwaysDense) return false;
    Index each = 1;
    for (const auto& term : objective_.data().covariance()) {
      if (term.kind->dense()) return false;
      each += std::max<Index>(0, term.kind->rank(0));
    }
    return 2 * each * hessian.active() < std::min(objective_.features(), 2 * kMostRows);
  }

  // The estimate of the Hessian over (w, b); without an intercept, b is cut off.
  std::unique_ptr<Preconditioner> estimate(const Hessian& hessian) const {
    const Index n = objective_.features();
    const auto seed = static_cast<std::uint64_t>(result_.iterations);
    const double tiny = 1e-12 * mean_weight();
    if (sketches() || few_rows(hessian)) {
      Hessian::Sketch sketch = hessian.sketch(std::min(kMostRows, kMostNumbers / n), seed);
      // b has no penalty of its own: let D carry a share of what the rows say of it.
      sketch.diagonal(n) = objective_.intercept() ? 0.01 * sketch.rows.col(n).squaredNorm() + tiny : 1.0;
      if (!objective_.intercept()) sketch.rows.col(n).setZero();
      return std::make_unique<SketchFactor>(std::move(sketch), objective_.threads());
    }
    Matrix m = hessian.dense(rows_for_dense(), seed);
    m(n, n) += tiny;
    if (!objective_.intercept()) {
      m.row(n).setZero();
      m.col(n).setZero();
      m(n, n) = 1;
    }
    return std::make_unique<DenseFactor>(m);
  }

  // One Newton step from now_, to the path's point for `epsilon`.
  void newton_step(double epsilon, double newton_gap, double target) {
    const double old_epsilon = objective_.smoothing;
    const Hessian hessian(objective_, now_, kNegligibleKappa);
    const double share = static_cast<double>(hessian.active()) / static_cast<double>(objective_.examples());
    Step rhs{-now_.gradient, objective_.intercept() ? -now_.gradient_b : 0.0};
    if (epsilon != old_epsilon) {
      Vector h;
      double h_b;
      hessian.smoothing_derivative(h, h_b);
      passes_ += share;
      rhs.w -= (epsilon - old_epsilon) * h;
      if (objective_.intercept()) rhs.b -= (epsilon - old_epsilon) * h_b;
    }
    const double worth = std::max(target, 0.1 * now_.smoothed_share * epsilon / old_epsilon);
    const double enough = std::sqrt(2 * objective_.lambda() * 0.1 * worth);
    const Step p = conjugate_gradients(hessian, rhs, enough, share, epsilon != old_epsilon);
    if (result_.stop != Stop::converged) return;

    objective_.smoothing = epsilon;
    std::swap(before_, now_);
    const Evaluation& before = before_;
    visit(before.w + p.w, before.b + p.b);
    if (accepts(before, hessian, p, newton_gap)) return;
    // The unit step is too long (or, after a cut of ε, no descent at all: then stay and turn).
    const Vector2 best = first_slope_ < 0 ? line_search(before, p) : Vector2(0, 0);
    visit(before.w + best(0) * p.w, before.b + best(0) * p.b + best(1));
  }

  Step conjugate_gradients(const Hessian& hessian, const Step& rhs, double enough, double share, bool cut) {
    const Index n = objective_.features();
    const bool intercept = objective_.intercept();
    const double tiny = 1e-12 * mean_weight();
    // An old factor will do only while κ has hardly moved; a cut of ε moves it, and most on hinge-like data.
    const bool cheap = !sketches() && hessian.active() <= rows_for_dense();
    if (!factor_ || cut || cheap || last_products_ > kManyProducts) {
      factor_.reset();  // its memory may be wanted
      factor_ = estimate(hessian);
    }
    const Preconditioner& factor = *factor_;
    last_products_ = 0;
    Step x{Vector::Zero(n), 0}, r = rhs, z = factor.solve(r), p = z, hp;
    const auto active = static_cast<std::size_t>(hessian.active());
    cross_along_.assign(active, 0.0);
    double rz = r.dot(z);
    const double stop = std::max(enough, kResidual * r.norm());
    for (int k = 0; k < kMostProducts; ++k) {
      hessian.times(p.w, p.b, hp.w, hp.b);
      ++last_products_;
      hp.b = intercept ? hp.b + tiny * p.b : 0.0;
      passes_ += share;
      const double curvature = p.dot(hp);
      if (!(curvature > 0)) break;
      const double alpha = rz / curvature;
      x.w += alpha * p.w;
      x.b += alpha * p.b;
      for (std::size_t i = 0; i < active; ++i) cross_along_[i] += alpha * hessian.last_cross()[i];
      r.w -= alpha * hp.w;
      r.b -= alpha * hp.b;
      if (r.norm() <= stop || interrupted()) break;
      z = factor.solve(r);
      const double next = r.dot(z);
      p.w = z.w + next / rz * p.w;
      p.b = z.b + next / rz * p.b;
      rz = next;
    }
    return x;
  }

  // Did the unit step (now_) descend on the objective of the new ε without going far too far?
  bool accepts(const Evaluation& before, const Hessian& hessian, const Step& p, double newton_gap) {
    const double after_gap = now_.value - now_.dual - now_.smoothed_share;
    const double last_slope = now_.gradient.dot(p.w) + (objective_.intercept() ? now_.gradient_b * p.b : 0.0);
    const double value = objective_.value(before.margins, before.w.squaredNorm(), before.b);
    first_slope_ = slope_at_start(before, hessian, p);
    // Near the optimum the gap tells more than the value; far from it, where the dual value is very
    // negative, it tells nothing.
    if (after_gap <= 0.3 * newton_gap && (newton_gap <= value || now_.value <= value)) return true;
    return now_.value <= value * (1 + 1e-12) && last_slope <= 0.5 * std::abs(first_slope_);
  }

  // d/dt J(w + t p, b + t p_b) at t = 0 with the new ε: all from numbers that are known already, since
  // only active examples have κ > 0, and their wᵀΣp was summed up by the conjugate gradients.
  double slope_at_start(const Evaluation& before, const Hessian& hessian, const Step& p) const {
    const Gaussians& data = objective_.data();
    const double extra = objective_.smoothing * objective_.smoothing;
    double sum = 0;
    std::size_t next = 0;
    for (Index i = 0; i < data.examples(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double d = 1 - data.label(i) * (before.margins.mean[k] + before.b);
      const ExpectedHinge h = expected_hinge(d, std::sqrt(before.margins.variance[k] + extra));
      double cross = 0;
      if (next < hessian.positions().size() && hessian.positions()[next] == i) cross = cross_along_[next++];
      const double mean = now_.margins.mean[k] - before.margins.mean[k] + p.b;
      sum += data.weight(i) * (h.kappa * cross - data.label(i) * h.cdf * mean);
    }
    return objective_.lambda() * before.w.dot(p.w) + sum / static_cast<double>(data.examples());
  }

  // The best t and β for J(w + t p, b + t p_b + β), from margins alone. wᵀΣ_i p of all examples comes
  // from the variances at w + p and w − p: one reading of the data more.
  Vector2 line_search(const Evaluation& before, const Step& p) {
    const Margins back = objective_.margins(before.w - p.w);
    passes_ += 1;
    const Ray ray(objective_, before, now_.margins, back, p);
    const Ray::Point here = ray.at(0, 0);
    const double slope = here.gradient(0);
    // First t alone: Newton on the slope inside a bracket that grows until the slope has turned.
    double low = 0, high = std::numeric_limits<double>::infinity(), t = 1;
    for (int k = 0; k < 60; ++k) {
      const Ray::Point point = ray.at(t, 0);
      if (std::abs(point.gradient(0)) <= 1e-2 * std::abs(slope) && point.value <= here.value) break;
      (point.gradient(0) > 0 ? high : low) = t;
      const double newton = t - point.gradient(0) / point.hessian(0, 0);
      if (high == std::numeric_limits<double>::infinity()) {
        t = newton > t ? std::min(newton, 4 * t) : 2 * t;
      } else {
        t = newton > low && newton < high ? newton : (low + high) / 2;
      }
    }
    Vector2 x(t, 0);
    return objective_.intercept() ? refine(ray, x) : x;
  }

  // Damped Newton in both: t is scarce where b is far off.
  static Vector2 refine(const Ray& ray, Vector2 x) {
    Ray::Point now = ray.at(x(0), x(1));
    for (int k = 0; k < 20; ++k) {
      const Vector2 step = -now.hessian.ldlt().solve(now.gradient);
      const double gain = -now.gradient.dot(step);
      if (!(gain > 1e-12 * std::abs(now.value))) break;
      double scale = 1;
      Ray::Point next = ray.at(x(0) + step(0), x(1) + step(1));
      while (!(next.value <= now.value - 1e-4 * scale * gain) && scale > 1e-6) {
        scale *= 0.3;
        next = ray.at(x(0) + scale * step(0), x(1) + scale * step(1));
      }
      if (scale <= 1e-6) break;
      x += scale * step;
      now = next;
    }
    return x;
  }

  double mean_weight() const {
    double sum = 0;
    for (Index i = 0; i < objective_.examples(); ++i) sum += objective_.data().weight(i);
    return sum / static_cast<double>(objective_.examples());
  }

  Objective objective_;  // a copy of the view, whose smoothing we change
  const Options& options_;
  const Monitor& monitor_;
  const Clock clock_;
  Evaluation now_, before_;  // and the point before, in whose memory the next evaluation goes
  Result result_;
  double bound_ = 0, trivial_b_ = 1, passes_ = 0, last_call_ = 0, first_slope_ = 0;
  struct Pair {
    Step s, y, solved;  // difference of points, of gradients, F⁻¹y
    double inverse;     // 1/(s·y)
  };
  std::vector<Pair> pairs_;
  Step solved_;       // F⁻¹g at the last quasi-Newton step
  double gamma_ = 1;  // of γF⁻¹
  std::unique_ptr<Preconditioner> factor_;
  std::vector<double> decrements_;  // of the quasi-Newton steps
  std::size_t factor_age_ = 0;
  double factor_of_cut_ = 0.1;  // of ε
  int steps_here_ = 0;          // since the last cut
  int reductions_ = 0, last_products_ = kManyProducts + 1;
  bool quasi_ = true;
  std::vector<double> cross_along_;  // wᵀΣp of the active examples
};

}  // namespace

Result solve_newton(const Objective& objective, const Options& options, const Monitor& monitor, const Vector* start_w,
                    double start_b) {
  return Newton(objective, options, monitor).run(start_w, start_b);
}

}  // namespace svmgsu
