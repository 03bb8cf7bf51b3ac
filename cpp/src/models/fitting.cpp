#include "models/fitting.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <numeric>
#include <system_error>

#include "models/folds.hpp"
#include "models/prediction.hpp"
#include "support/clock.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace svmgsu {
namespace {

constexpr double kDefaultLambda = 1e-2;      // where nothing can be held out
constexpr double kPairTolerance = 0.1;       // of the tolerance: coupled probabilities compare all pairs
constexpr double kFoldTolerance = 1e-3;      // held-out scores need no more: their noise is larger
constexpr double kSmall = 20'000;            // numbers, below which threads take longer to start than a fit takes
constexpr double kLeastSeconds = 1e-3;       // of a subproblem
constexpr double kAlike = 1e-12;             // a difference of scores
constexpr std::size_t kLateSample = 20'000;  // scores that probabilities are fitted to when the time is over
constexpr int kRounds = 50;                  // of weights and scatter in turn
constexpr double kSettled = 1e-6;            // relative change of the scatter
// Shares of max_seconds that are kept for what comes later.
constexpr double kForRefit = 0.25, kForFolds = 0.3, kForCalibration = 0.1;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> take(const std::vector<T>& of, const Rowlist& rows) {
  std::vector<T> out;
  out.reserve(rows.size());
  for (const Index i : rows) out.push_back(of[at(i)]);
  return out;
}

Rowlist numbered(std::size_t count) {
  Rowlist out(count);
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

double sum_of(const Numbers& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Weights with mean 1: a common factor changes nothing.
Numbers scaled(Numbers weights) {
  const double mean = sum_of(weights) / static_cast<double>(weights.size());
  if (mean > 0)
    for (double& c : weights) c /= mean;
  return weights;
}

// The rows that are in a fold, or in another one; some are in none.
Rowlist in_fold(const Rowlist& fold_of, Index fold, bool inside, const Rowlist& rows) {
  Rowlist out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (fold_of[i] >= 0 && (fold_of[i] == fold) == inside) out.push_back(rows[i]);
  return out;
}

// The τ ≥ 0 that maximises the likelihood of residuals N(0, τ² + e²), given their squares. The slope of the
// log-likelihood in τ² is ½ Σ c (D² − v)/v² with v = τ² + e². It is positive below some solution and negative above the
// largest square, so that bisection finds a root between.
double likeliest_scatter(const Numbers& squares, const Numbers& errors, const Numbers& weights) {
  const auto slope = [&](double t) {
    double sum = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const double v = t + errors[i] * errors[i];
      sum += weights[i] * ((squares[i] - v) / (v * v));
    }
    return sum;
  };
  double low = 0, high = *std::max_element(squares.begin(), squares.end());
  if (!(high > 0) || slope(0) <= 0) return 0;
  for (double middle = high / 2; low < middle && middle < high; middle = (low + high) / 2)
    (slope(middle) > 0 ? low : high) = middle;
  return std::sqrt((low + high) / 2);
}

const char* worst_status(const std::vector<Result>& results) {
  for (const Stop stop : {Stop::monitor, Stop::time, Stop::iterations, Stop::stalled, Stop::rounding})
    for (const Result& result : results)
      if (result.stop == stop) return status_of(stop);
  return status_of(Stop::converged);
}

class Fit {
 public:
  Fit(const FitSource& source, const FitTask& task, const FitOptions& options, const FitHooks& hooks)
      : source_(source),
        task_(task),
        options_(options),
        hooks_(hooks),
        regression_(task.classes == 0),
        pairs_(task.classes == 2 || options.multi_class == MultiClass::ovo),
        count_(task.classes <= 2 ? 1
               : pairs_          ? count_pairs(task.classes)
                                 : task.classes),
        threads_(resolve_threads(options.threads)),
        all_(numbered(at(source.samples))),
        trained_(task.weights) {
    if (!task.factors.empty())
      for (std::size_t i = 0; i < trained_.size(); ++i) trained_[i] *= task.factors[at(task.codes[i])];
    if (options_.lambdas.empty()) options_.lambdas = {options_.lambda};
    if (options_.cov_scales.empty()) options_.cov_scales = {options_.cov_scale};
    if (!options_.loss) options_.loss = "hinge";
    const std::string loss = options_.loss->name();
    likelihood_ = !task.errors.empty() && loss == "squared";
    own_ = options.probabilities == Probabilities::automatic && loss == "logistic";
    held_out_ = !own_ && options.probabilities <= Probabilities::held_out;
    const double share = pairs_ && !regression_ ? 2 / static_cast<double>(task.classes) : 1;  // in a subproblem
    small_ = source.in_memory && !regression_ && share * static_cast<double>(source.samples * source.features) < kSmall;
  }

  // Takes the λ and the scale of covariances with the best held-out score.
  void search(FitReport& report) {
    const Rowlist fold_of = folds_of_all();
    const Numbers &lambdas = options_.lambdas, &scales = options_.cov_scales;
    if (fold_of.empty()) {  // there is nothing to hold out
      const auto [least, most] = std::minmax_element(lambdas.begin(), lambdas.end());
      report.lambda = std::clamp(kDefaultLambda, *least, *most);
      report.cov_scale = *std::min_element(scales.begin(), scales.end(),
                                           [](double a, double b) { return std::abs(a - 1) < std::abs(b - 1); });
      return;
    }
    report.folds = 1 + *std::max_element(fold_of.begin(), fold_of.end());
    report.scores.assign(lambdas.size() * scales.size() * at(report.folds), kNaN);
    Rowlist descending = numbered(lambdas.size());
    std::stable_sort(descending.begin(), descending.end(),
                     [&](Index a, Index b) { return lambdas[at(a)] > lambdas[at(b)]; });
    const auto each_fold = static_cast<Index>(scales.size());
    each(report.folds * each_fold, true, [&](Index job, int threads) {
      const Index fold = job / each_fold;
      const std::size_t scale = at(job % each_fold);
      const Rowlist known = in_fold(fold_of, fold, false, all_), held = in_fold(fold_of, fold, true, all_);
      Fitted last;
      // Each fit starts from that of the next larger λ.
      for (const Index m : descending) {
        const double seconds = left(kForRefit);
        if (seconds <= 0 && (job > 0 || !last.results.empty())) return;
        last = solve(known, asked(lambdas[at(m)], seconds, threads), scales[scale], last.results, false);
        if (failed_) return;
        report.scores[(scale * lambdas.size() + at(m)) * at(report.folds) + at(fold)] = score(last, held);
      }
    });
    choose(report);
  }

  void run(FitReport& report) {
    const bool probabilities = !regression_ && options_.probabilities != Probabilities::none;
    const double kept = !probabilities ? 0 : held_out_ ? kForFolds : kForCalibration;
    Fitted fitted = solve(all_, asked(report.lambda, left(kept), threads_), report.cov_scale, task_.start, true);
    report.results = std::move(fitted.results);
    report.scatter = fitted.scatter;
    report.scatter_before = fitted.scatter_before;
    report.status = worst_status(report.results);
    if (probabilities) calibrate(report);
  }

 private:
  struct Fitted {
    std::vector<Result> results;
    double scatter = kNaN, scatter_before = kNaN;
  };

  // Seconds until the deadline, less a share for later steps.
  double left(double kept = 0) const { return std::max(0.0, (1 - kept) * options_.max_seconds - clock_.seconds()); }

  Options asked(double lambda, double seconds, int threads) const {
    Options out = options_;
    out.lambda = lambda;
    out.max_seconds = seconds;
    out.threads = threads;
    return out;
  }

  Index at_a_time(Index count, bool together) const {
    return together && source_.in_memory ? std::min<Index>(threads_, count) : 1;
  }

  // body(i, threads) of each i; several at a time where the samples are in memory. What one throws stops the others.
  template <class Body>
  void each(Index count, bool together, const Body& body) {
    const Index team = at_a_time(count, together);
    FirstFailure failure;
    std::atomic<Index> next{0};
    const auto stopping = [&](Index i, const auto& step) {
      failure.run(i, step);
      if (failure.before(count + 1)) failed_ = true;
    };
    const auto work = [&] {
      for (Index i = next++; i < count && !failed_; i = next++)
        stopping(i, [&] {
          if (hooks_.check) hooks_.check();
          body(i, threads_ / static_cast<int>(team));
        });
    };
    std::vector<std::future<void>> others;
    try {
      for (Index k = 1; k < team; ++k) others.push_back(std::async(std::launch::async, work));
    } catch (const std::system_error&) {  // as many threads as there are
    }
    work();
    for (const std::future<void>& other : others)
      while (other.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        stopping(count, hooks_.check ? hooks_.check : [] {});
    failure.rethrow();
  }

  // The two classes of a pair, of which the second is positive; see classification.hpp for their order.
  std::pair<Index, Index> pair(Index k) const {
    Index i = 0;
    for (; k >= task_.classes - 1 - i; ++i) k -= task_.classes - 1 - i;
    return {i, i + 1 + k};
  }

  // +1 for rows of the positive class of a subproblem, −1 for the others.
  Numbers signs(Index k, const Rowlist& rows) const {
    const Index positive = pairs_ ? pair(k).second : k;
    Numbers out;
    out.reserve(rows.size());
    for (const Index i : rows) out.push_back(task_.codes[at(i)] == positive ? 1 : -1);
    return out;
  }

  // Those of some rows that belong to a subproblem.
  Rowlist rows_of(Index k, const Rowlist& rows) const {
    if (count_ == 1 || !pairs_) return rows;
    const auto [negative, positive] = pair(k);
    Rowlist out;
    for (const Index i : rows)
      if (task_.codes[at(i)] == negative || task_.codes[at(i)] == positive) out.push_back(i);
    return out;
  }

  const Rowlist* some(const Rowlist& rows) const { return rows.size() == all_.size() ? nullptr : &rows; }

  // The weights of a subproblem. Balanced classes have balanced sides, too: one class weighs as much as the rest.
  Numbers side_weights(const Rowlist& rows, const Numbers& signs) const {
    Numbers out = take(trained_, rows);
    if (!options_.balanced || pairs_) return out;
    double mass[2] = {0, 0};
    for (std::size_t i = 0; i < out.size(); ++i) mass[signs[i] > 0] += out[i];
    if (mass[0] > 0 && mass[1] > 0)
      for (std::size_t i = 0; i < out.size(); ++i) out[i] *= (mass[0] + mass[1]) / (2 * mass[signs[i] > 0]);
    return out;
  }

  // The squared loss is a likelihood, so that a target with error e has the weight 1/(τ² + e²), where τ is the scatter
  // of the relation itself. Other losses grow like |D|, and the weight is 1/e.
  Numbers target_weights(const Rowlist& rows, double scatter) const {
    Numbers out = take(task_.weights, rows);
    if (!task_.errors.empty())
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double e = task_.errors[at(rows[i])];
        out[i] /= likelihood_ ? e * e + scatter * scatter : e;
      }
    return scaled(std::move(out));
  }

  // `loud`: on all samples, so that the caller hears of it.
  Result solve_some(Index k, const Rowlist& rows, Numbers targets, Numbers weights, Options options, double scale,
                    const Result* start, bool loud) {
    options.batch = std::min(options.batch, static_cast<Index>(rows.size()));
    if (loud && start) options.start_epsilon = start->epsilon;
    const Monitor monitor = [&](const Progress& progress) {
      if (hooks_.check) hooks_.check();
      if (loud && progress.w && !progress.w->isZero(0)) source_.keep(k, *progress.w, progress.b, progress.epsilon);
      if (loud && hooks_.report && !hooks_.report(progress)) stopped_ = true;
      return !stopped_ && !failed_;
    };
    SubProblem problem{some(rows), std::move(targets), std::move(weights), regression_, scale};
    Result result = source_.solve(std::move(problem), options, monitor, start);
    if (loud && !result.w.isZero(0)) source_.keep(k, result.w, result.b, result.epsilon);
    return result;
  }

  Result solve_one(Index k, const Rowlist& among, const Options& options, double scale, const Result* start,
                   bool loud) {
    const Rowlist rows = rows_of(k, among);
    if (rows.empty()) return nothing(Stop::converged);  // neither class of a pair is there
    const Numbers targets = signs(k, rows);
    return solve_some(k, rows, targets, scaled(side_weights(rows, targets)), options, scale, start, loud);
  }

  // The point w = 0; no loss is below 0, so that its value bounds the gap.
  Result nothing(Stop stop) const {
    Result out;
    out.w = Vector::Zero(source_.features);
    out.stop = stop;
    const double one = 1, zero = 0;
    double slope = 0, curvature = 0;
    if (stop == Stop::time) options_.loss->gradient(1, &one, &zero, &out.objective, &slope, &curvature);
    out.gap = out.objective;
    return out;
  }

  // All subproblems on some rows, which share the time.
  Fitted solve(const Rowlist& rows, const Options& options, double scale, const std::vector<Result>& start, bool loud) {
    if (regression_) return solve_values(rows, options, scale, start.empty() ? nullptr : &start[0], loud);
    Fitted out;
    out.results.resize(at(count_));
    const Clock clock;
    const bool together = loud && !small_;
    each(count_, together, [&](Index k, int threads) {
      Options own = options;
      if (together) own.threads = threads;
      if (count_ > 1) {
        const double seconds = options.max_seconds - clock.seconds();
        if (seconds <= 0) {
          out.results[at(k)] = nothing(Stop::time);
          return;
        }
        const Index team = at_a_time(count_, together);
        const auto turns = static_cast<double>((count_ - k + team - 1) / team);  // that share what is left of the time
        own.max_seconds = std::max(seconds / turns, kLeastSeconds);
        if (pairs_) own.tolerance *= kPairTolerance;
      }
      out.results[at(k)] = solve_one(k, rows, own, scale, start.empty() ? nullptr : &start[at(k)], loud);
    });
    return out;
  }

  // A regression; where errors of the targets make a likelihood, weights and scatter are fitted in turn. Each fit is
  // exact for its weights.
  Fitted solve_values(const Rowlist& rows, Options options, double scale, const Result* start, bool loud) {
    const Numbers targets = take(task_.targets, rows);
    const double seconds = options.max_seconds, mean = sum_of(targets) / static_cast<double>(targets.size());
    const Clock clock;
    Fitted out;
    out.scatter = 0;
    if (likelihood_) {
      for (const double t : targets) out.scatter += (t - mean) * (t - mean) / static_cast<double>(targets.size());
      out.scatter = std::sqrt(out.scatter);
    }
    for (int round = 0; round < kRounds; ++round) {
      options.max_seconds = std::max(0.0, seconds - clock.seconds());
      Result found = solve_some(0, rows, targets, target_weights(rows, out.scatter), options, scale, start, loud);
      const bool limit = found.stop == Stop::time || found.stop == Stop::iterations;
      if (round && limit && found.w.isZero(0)) {  // no time was left for a point of this round
        out.results[0].stop = Stop::time;
        break;
      }
      found.epsilon = 0;  // the next round is another problem
      out.results.assign(1, std::move(found));
      const double before = out.scatter;
      out.scatter = scatter_of(out.results[0], rows, targets, options.threads);
      if (!likelihood_ || std::abs(out.scatter - before) <= kSettled * std::max(out.scatter, before)) break;
      if (limit || out.results[0].stop == Stop::monitor) break;
      if (clock.seconds() >= seconds) {
        out.results[0].stop = Stop::time;
        out.scatter_before = before;
        break;
      }
      start = &out.results[0];
    }
    return out;
  }

  // The scatter of targets around a model: root mean square, or of the largest likelihood.
  double scatter_of(const Result& model, const Rowlist& rows, const Numbers& targets, int threads) const {
    Numbers squares = scored(model, rows, true, threads).margin;
    for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = (targets[i] - squares[i]) * (targets[i] - squares[i]);
    if (likelihood_) return likeliest_scatter(squares, take(task_.errors, rows), take(task_.weights, rows));
    const Numbers weights = target_weights(rows, 0);
    return std::sqrt(std::inner_product(squares.begin(), squares.end(), weights.begin(), 0.0) / sum_of(weights));
  }

  RowScores scored(const Result& model, const Rowlist& rows, bool test_noise, int threads) const {
    RowScores out = source_.margins(model.w, some(rows), test_noise, threads);
    for (double& f : out.margin) f += model.b;
    out.rows = rows;
    return out;
  }

  // Folds of all rows for a search. Groups stay together. Else rows are dealt out in the order of their projections on
  // a random direction, class by class, and those of a regression in the order of their targets; equal ones to the same
  // fold. So the folds depend neither on the order of the rows nor on whether one is there twice or has weight 2.
  Rowlist folds_of_all() const {
    const Rowlist codes = regression_ ? Rowlist(all_.size(), 0) : task_.codes;
    const Index classes = std::max<Index>(1, task_.classes);
    if (!task_.groups.empty()) return folds_of_groups(task_.groups, codes, classes, trained_);
    SplitMix64 random(0);
    Vector direction(source_.features);
    for (Index j = 0; j < source_.features; ++j)
      direction(j) =
          task_.direction.empty() ? static_cast<double>(random() >> 11) * 0x1p-53 - 0.5 : task_.direction[at(j)];
    Numbers keys = source_.margins(direction, nullptr, true, threads_).margin;
    if (regression_) {
      std::vector<std::pair<double, double>> each;
      for (std::size_t i = 0; i < keys.size(); ++i) each.emplace_back(task_.targets[i], keys[i]);
      auto sorted = each;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), each[i]) - sorted.begin());
    }
    return folds_by_key(keys, codes, classes, trained_);
  }

  // Of held-out rows, with the covariances that were given, by weight: the expected accuracy (the mean over the
  // subproblems), or minus the expected squared error.
  double score(const Fitted& model, const Rowlist& held) const {
    double sum = 0;
    int found = 0;
    for (Index k = 0; k < count_; ++k) {
      const Rowlist rows = rows_of(k, held);
      const Numbers weights = regression_ ? target_weights(rows, model.scatter) : take(trained_, rows);
      const Numbers targets = regression_ ? take(task_.targets, rows) : signs(k, rows);
      if (!(sum_of(weights) > 0)) continue;  // neither class of a pair is held out
      const RowScores scores = scored(model.results[at(k)], rows, true, 1);
      double good = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double t = targets[i], f = scores.margin[i], v = scores.variance[i];
        good += weights[i] * (regression_ ? -(t - f) * (t - f) - v : probability_right(t * f, std::sqrt(v)));
      }
      sum += good / sum_of(weights);
      ++found;
    }
    return sum / found;
  }

  // The candidate with the best mean score among those that were scored in most folds; among equals the largest λ, then
  // the scale nearest to 1.
  void choose(FitReport& report) const {
    Index most = 0;
    double best = -std::numeric_limits<double>::infinity();
    for (Index c = 0; c < static_cast<Index>(report.scores.size()) / report.folds; ++c) {
      Index tried = 0;
      double sum = 0;
      for (Index fold = 0; fold < report.folds; ++fold) {
        const double found = report.scores[at(c * report.folds + fold)];
        tried += !std::isnan(found);
        sum += std::isnan(found) ? 0 : found;
      }
      report.tried += tried;
      const double mean = sum / static_cast<double>(std::max<Index>(1, tried));
      const double lambda = options_.lambdas[at(c) % options_.lambdas.size()];
      const double scale = options_.cov_scales[at(c) / options_.lambdas.size()];
      const bool preferred =
          std::make_pair(-lambda, std::abs(scale - 1)) < std::make_pair(-report.lambda, std::abs(report.cov_scale - 1));
      if (tried < most || (tried == most && mean < best + (preferred ? -kAlike : kAlike))) continue;
      report.lambda = lambda;
      report.cov_scale = scale;
      report.best = c;
      most = tried;
      best = mean;
    }
  }

  // Scores and variances are those that prediction will see: of samples without test-time noise. Rows count by their
  // own weights; class weights shape the hyperplanes, not the probabilities. The calibration of many subproblems ends
  // at the deadline, that of one always fits.
  void calibrate(FitReport& report) {
    const auto late = [&] { return count_ > 1 && left() <= 0; };
    std::vector<RowScores> scores(at(count_));
    each(count_, !small_, [&](Index k, int threads) {
      if (!late()) scores[at(k)] = scored(report.results[at(k)], rows_of(k, all_), false, threads);
    });
    // Whoever stopped the fit does not want to wait for the folds.
    if (held_out_ && !stopped_ && !late()) hold_out(report, scores);
    each(count_, false, [&](Index k, int) {
      report.out_of_time = report.out_of_time || late();
      if (!report.out_of_time) report.calibration.push_back(calibrated(k, scores[at(k)]));
    });
    if (report.out_of_time) report.calibration.clear();
  }

  Calibration calibrated(Index k, const RowScores& scores) const {
    const Numbers side = signs(k, scores.rows);
    Rowlist chosen = numbered(side.size());
    if (chosen.size() > kLateSample && left() <= 0) {
      // Evenly spaced among the rows sorted by class, which keeps the class priors, and both classes.
      std::stable_sort(chosen.begin(), chosen.end(), [&](Index a, Index b) { return side[at(a)] < side[at(b)]; });
      for (std::size_t i = 0; i < kLateSample; ++i) chosen[i] = chosen[i * (chosen.size() - 1) / (kLateSample - 1)];
      chosen.resize(kLateSample);
    }
    Scored used;
    for (const Index i : chosen) {
      const double weight = task_.weights[at(scores.rows[at(i)])];
      if (!(weight > 0)) continue;
      used.weights.push_back(weight);
      used.margins.push_back(scores.margin[at(i)]);
      used.signs.push_back(side[at(i)]);
      if (source_.uncertain) used.variances.push_back(scores.variance[at(i)]);
    }
    return own_ ? own_calibration(used, log_prior_odds(side, side_weights(scores.rows, side))) : fit_calibration(used);
  }

  // Replaces training scores by those of models that have not seen the row, nor its group. Where a side cannot be
  // divided (one row, one group, one decision value for all), or no fold is trained in time, they stay.
  void hold_out(FitReport& report, std::vector<RowScores>& scores) {
    const bool grouped = !task_.groups.empty(), late = left() <= 0;
    if (late) report.late = numbered(at(count_));
    const Rowlist of_groups =
        grouped && !late ? folds_of_groups(task_.groups, task_.codes, task_.classes, trained_) : Rowlist();
    report.undivided = grouped && !late && of_groups.empty();
    if (late || report.undivided) return;
    std::vector<Rowlist> folds;
    std::vector<std::pair<Index, Index>> jobs;  // a subproblem and a fold
    for (Index k = 0; k < count_; ++k) {
      const Rowlist& rows = scores[at(k)].rows;
      Rowlist side;
      for (const double sign : signs(k, rows)) side.push_back(sign > 0);
      // Dealt out in the order of the scores: a copy of a sample is never held out from itself.
      folds.push_back(grouped ? take(of_groups, rows)
                              : folds_by_key(scores[at(k)].margin, side, 2, take(trained_, rows)));
      for (Index fold = 0; fold < kMostFolds; ++fold)  // groups of other classes alone have nothing of a pair
        if (std::count(folds[at(k)].begin(), folds[at(k)].end(), fold)) jobs.emplace_back(k, fold);
    }
    std::vector<RowScores> found(jobs.size());
    each(static_cast<Index>(jobs.size()), !small_, [&](Index job, int threads) {
      const auto [k, fold] = jobs[at(job)];
      const double seconds = left(kForCalibration);
      if (seconds <= 0) return;
      Options options = asked(report.lambda, seconds, threads);
      if (!small_) options.tolerance = std::max(options.tolerance, kFoldTolerance);
      const Rowlist &rows = scores[at(k)].rows, known = in_fold(folds[at(k)], fold, false, rows);
      const Result result = solve_one(k, known, options, report.cov_scale, &report.results[at(k)], false);
      if (result.stop == Stop::time) return;  // it began at the full model, which has seen the samples
      found[at(job)] = scored(result, in_fold(folds[at(k)], fold, true, rows), false, threads);
    });
    std::vector<RowScores> joined(scores.size());
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      RowScores& to = joined[at(jobs[job].first)];
      const auto append = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
      append(to.rows, found[job].rows);
      append(to.margin, found[job].margin);
      append(to.variance, found[job].variance);
    }
    for (Index k = 0; k < count_; ++k)
      if (!joined[at(k)].rows.empty())
        scores[at(k)] = std::move(joined[at(k)]);
      else if (!folds[at(k)].empty())
        report.late.push_back(k);
  }

  const FitSource& source_;
  const FitTask& task_;
  FitOptions options_;
  const FitHooks& hooks_;
  const bool regression_, pairs_;
  const Index count_;  // of subproblems
  const int threads_;
  const Clock clock_;
  const Rowlist all_;
  Numbers trained_;  // weights with those of the classes
  bool likelihood_, own_, held_out_, small_;
  std::atomic<bool> stopped_{false}, failed_{false};
};

}  // namespace

FitMemory::FitMemory(const Gaussians& data, const Gaussians& observed) : data_(data), observed_(observed) {
  samples = data.samples();
  features = data.features();
  uncertain = !observed.covariance().empty();
}

Result FitMemory::solve(SubProblem problem, const Options& options, const Monitor& monitor, const Result* start) const {
  Gaussians data = problem.rows ? data_.some(*problem.rows) : data_;
  if (problem.cov_scale != 1) {
    CovarianceSum covariance;
    if (problem.cov_scale > 0) covariance = problem.cov_scale * CovarianceSum(data.covariance());
    data = Gaussians(data.means(), std::move(covariance), &data.ids());
  }
  Targets targets = problem.regression ? Targets::values(std::move(problem.targets), std::move(problem.weights))
                                       : Targets::labels(problem.targets, std::move(problem.weights));
  const Objective objective(TrainingSet(std::move(data), std::move(targets)), options.lambda, options.threads,
                            options.intercept, options.loss);
  return svmgsu::solve(objective, options, monitor, start ? &start->w : nullptr, start ? start->b : 0);
}

RowScores FitMemory::margins(const Vector& w, const Rowlist* rows, bool test_noise, int threads) const {
  const Gaussians& data = test_noise ? data_ : observed_;
  const double b = 0;
  const Planes plane{w.data(), &b, 1, features};
  const Margins found =
      rows ? svmgsu::margins(plane, data.some(*rows), threads) : svmgsu::margins(plane, data, threads);
  const auto numbers = [](const Matrix& column) { return Numbers(column.data(), column.data() + column.size()); };
  return {{}, numbers(found.mean), numbers(found.variance)};
}

FitReport fit_task(const FitSource& source, const FitTask& task, const FitOptions& options, const FitHooks& hooks,
                   bool only_search) {
  FitReport report;
  report.lambda = options.lambda;
  report.cov_scale = options.cov_scale;
  Fit fit(source, task, options, hooks);
  if (!options.lambdas.empty() || !options.cov_scales.empty()) fit.search(report);
  if (!only_search) fit.run(report);
  return report;
}

}  // namespace svmgsu
