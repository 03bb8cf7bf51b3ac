#include "svmgsu/models/fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "models/folds.hpp"
#include "models/prediction.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "svmgsu/engines/objective.hpp"
#include "svmgsu/losses/loss.hpp"
#include "svmgsu/models/classification.hpp"

namespace svmgsu {
namespace {

constexpr double kDefaultLambda = 1e-2;  // where nothing can be held out
constexpr double kPairTolerance = 0.1;   // of the tolerance: coupled probabilities compare all pairs
constexpr double kFoldTolerance = 1e-3;  // held-out scores need no more: their noise is larger
constexpr double kSmall = 20'000;        // numbers, below which folds are solved as well as all samples are
constexpr double kLargestCount = 1e6;    // of weights that are multiples of one number,
constexpr int kLargestDivisor = 12;      // by which the smallest of them is divided
constexpr double kForFit = 0.7;          // of max_seconds; the rest is for probabilities

using Numbers = std::vector<double>;
using Rowlist = std::vector<Index>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

Rowlist all_rows(Index count) {
  Rowlist out(at(count));
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

template <class T>
std::vector<T> take(const std::vector<T>& of, const Rowlist& rows) {
  std::vector<T> out;
  out.reserve(rows.size());
  for (const Index i : rows) out.push_back(of[at(i)]);
  return out;
}

// Weights with mean 1: a common factor changes nothing.
Numbers scaled(Numbers weights) {
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  if (mean > 0)
    for (double& c : weights) c /= mean;
  return weights;
}

void require_count(std::size_t found, Index wanted, const char* name, const char* of = " samples") {
  require(found == at(wanted),
          std::string(name) + ": " + std::to_string(found) + " for " + std::to_string(wanted) + of);
}

Numbers checked_weights(const FitOptions& options, Index count) {
  if (options.weights.empty()) return Numbers(at(count), 1.0);
  require_count(options.weights.size(), count, "weights");
  double largest = 0;
  for (std::size_t i = 0; i < options.weights.size(); ++i) {
    const double c = options.weights[i];
    require(c >= 0 && std::isfinite(c),
            "weights: sample " + std::to_string(i) + " has " + to_text(c) + "; weights must be >= 0 and finite");
    largest = std::max(largest, c);
  }
  require(largest > 0, "weights: all are zero");
  // Weights are relative. Multiples of one number are taken as counts: the smoothing of probabilities shall see a
  // sample of weight 2 as two. Others are scaled so that the positive ones have mean 1.
  Numbers out = options.weights;
  double least = 1, sum = 0, positive = 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (double& c : out) {
    c = std::ldexp(c, -exponent);  // exact, and no sum overflows
    if (!(c > 0)) continue;
    least = std::min(least, c);
    sum += c;
    positive += 1;
  }
  for (int divisor = 1; divisor <= kLargestDivisor && 1 / least <= kLargestCount; ++divisor) {
    const double unit = least / divisor;
    if (std::all_of(out.begin(), out.end(),
                    [&](double c) { return std::abs(c / unit - std::rint(c / unit)) <= 1e-15 * (c / unit); })) {
      for (double& c : out) c = std::rint(c / unit);
      return out;
    }
  }
  for (double& c : out) c *= positive / sum;
  return out;
}

// The rows of each fold.
std::vector<Rowlist> lists(const std::vector<Index>& fold_of, const Rowlist& rows) {
  std::vector<Rowlist> out;
  for (std::size_t i = 0; i < fold_of.size(); ++i) {
    if (fold_of[i] < 0) continue;
    if (at(fold_of[i]) >= out.size()) out.resize(at(fold_of[i]) + 1);
    out[at(fold_of[i])].push_back(rows[i]);
  }
  return out;
}

// `rows` without those of a fold; both are sorted.
Rowlist without(const Rowlist& rows, const Rowlist& fold) {
  Rowlist out;
  std::set_difference(rows.begin(), rows.end(), fold.begin(), fold.end(), std::back_inserter(out));
  return out;
}

struct RowScores {
  Numbers margin, variance;
};

class Fit {
 public:
  Fit(const Gaussians& data, const FitOptions& options, const Monitor& monitor)
      : Fit(data, options, monitor, checked_weights(options, data.samples())) {}
  Fit(const Gaussians& data, const FitOptions& options, const Monitor& monitor, Numbers weights)
      : data_(data), options_(options), monitor_(monitor), weights_(std::move(weights)) {
    if (!options.groups.empty()) require_count(options.groups.size(), data.samples(), "groups");
    if (!options.names.empty()) require_count(options.names.size(), data.features(), "names", " features");
    for (const double lambda : options.lambdas)
      require(lambda > 0 && std::isfinite(lambda), "lambdas: must be positive and finite, got " + to_text(lambda));
    if (options.check) check(data, options.threads);
    if (!options_.loss) options_.loss = "hinge";
  }

  Model classifier(std::vector<std::string> labels, std::vector<Index> codes, const std::string& type) {
    require_count(codes.size(), data_.samples(), "labels");
    require(labels.size() > 1, "labels: one class only; training needs samples of two");
    codes_ = std::move(codes);
    classes_ = static_cast<Index>(labels.size());
    Model model;
    model.labels = labels;
    model.label_type = type;
    model.multi_class = options_.multi_class;
    weigh(model);
    if (!options_.lambdas.empty()) options_.lambda = chosen();
    const Index planes = model.hyperplanes();
    model.w = Matrix::Zero(planes, data_.features());
    model.b = Vector::Zero(planes);
    for (Index k = 0; k < planes; ++k)
      keep(solve_one(k, all_rows(data_.samples()), nullptr, share(k, planes)), k, model);
    describe(model, Task::classification);
    if (options_.probabilities != Probabilities::none)
      for (Index k = 0; k < planes; ++k) model.calibration.push_back(calibrated(model, k));
    return model;
  }

  Model regression(const Numbers& targets) {
    require_count(targets.size(), data_.samples(), "targets");
    targets_ = targets;
    trained_ = weights_;
    if (!options_.lambdas.empty()) options_.lambda = chosen();
    Model model;
    model.labels.clear();
    model.w = Matrix::Zero(1, data_.features());
    model.b = Vector::Zero(1);
    keep(solve_one(0, all_rows(data_.samples()), nullptr, left()), 0, model);
    describe(model, Task::regression);
    const RowScores scores = scored(model.w.row(0).transpose(), model.b(0), all_rows(data_.samples()));
    double sum = 0, mass = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      sum += weights_[i] * (targets[i] - scores.margin[i]) * (targets[i] - scores.margin[i]);
      mass += weights_[i];
    }
    model.scatter = std::sqrt(sum / mass);
    return model;
  }

 private:
  double left() const { return std::max(0.0, options_.max_seconds - clock_.seconds()); }
  // Of the time that is left to the fits, as much for each of those that remain.
  double share(Index done, Index count) const {
    if (!std::isfinite(options_.max_seconds)) return options_.max_seconds;
    const double until = options_.probabilities == Probabilities::none ? 1 : kForFit;
    return std::max(1e-3, (until * options_.max_seconds - clock_.seconds()) / static_cast<double>(count - done));
  }

  bool of_pairs() const { return classes_ == 2 || options_.multi_class == MultiClass::ovo; }

  // The two classes of a pair, of which the second is positive; see classification.hpp for their order.
  std::pair<Index, Index> pair(Index k) const {
    Index i = 0;
    for (Index left = k; left >= classes_ - 1 - i; ++i) left -= classes_ - 1 - i;
    const Index before = count_pairs(classes_) - count_pairs(classes_ - i);
    return {i, i + 1 + k - before};
  }

  // +1 and −1 for the two sides of a subproblem, 0 for samples of neither.
  double sign(Index k, Index i) const {
    const Index code = codes_[at(i)];
    if (!of_pairs()) return code == k ? 1 : -1;
    const auto [negative, positive] = pair(k);
    return code == positive ? 1 : code == negative ? -1 : 0;
  }

  Rowlist rows_of(Index k, const Rowlist& rows) const {
    if (codes_.empty()) return rows;
    Rowlist out;
    for (const Index i : rows)
      if (sign(k, i) != 0) out.push_back(i);
    return out;
  }

  void weigh(Model& model) {
    trained_ = weights_;
    if (!options_.balanced && options_.class_weight.empty()) return;
    Numbers factors(at(classes_), 1.0), total(at(classes_), 0.0);
    for (std::size_t i = 0; i < codes_.size(); ++i) total[at(codes_[i])] += weights_[i];
    for (const auto& [label, factor] : options_.class_weight) {
      const auto found = std::find(model.labels.begin(), model.labels.end(), label);
      require(found != model.labels.end(), "class_weight: there is no class '" + label + "'");
      require(factor > 0 && std::isfinite(factor), "class_weight: must be positive and finite, got " + to_text(factor));
      factors[static_cast<std::size_t>(found - model.labels.begin())] = factor;
    }
    if (options_.balanced)
      for (std::size_t c = 0; c < factors.size(); ++c) factors[c] /= std::max(total[c], 1e-300);
    const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(classes_);
    model.class_weight = Vector(classes_);
    for (Index c = 0; c < classes_; ++c) model.class_weight(c) = factors[at(c)] / mean;
    for (std::size_t i = 0; i < codes_.size(); ++i) trained_[i] *= factors[at(codes_[i])] / mean;
  }

  Result solve_one(Index k, const Rowlist& among, const Result* start, double seconds) const {
    const Rowlist rows = rows_of(k, among);
    Options options = options_;
    options.check = false;
    options.max_seconds = seconds;
    if (start && !small()) options.tolerance = std::max(options.tolerance, kFoldTolerance);
    if (!targets_.empty())
      return solved(rows, Targets::values(take(targets_, rows), scaled(take(weights_, rows))), options, start);
    if (classes_ > 2 && of_pairs() && !start) options.tolerance *= kPairTolerance;
    Numbers signs;
    for (const Index i : rows) signs.push_back(sign(k, i));
    return solved(rows, Targets::labels(signs, scaled(side_weights(rows, signs))), options, start);
  }

  // The weights of a subproblem. Balanced classes have balanced sides, too: one class weighs as much as the rest.
  Numbers side_weights(const Rowlist& rows, const Numbers& signs) const {
    Numbers out = take(trained_, rows);
    double mass[2] = {0, 0};
    for (std::size_t i = 0; i < out.size(); ++i) mass[signs[i] > 0] += out[i];
    require(mass[0] > 0 && mass[1] > 0, "weights: a class has no weight; training needs samples of every class");
    if (options_.balanced && !of_pairs())
      for (std::size_t i = 0; i < out.size(); ++i) out[i] *= (mass[0] + mass[1]) / (2 * mass[signs[i] > 0]);
    return out;
  }

  bool small() const {
    const double share = codes_.empty() || !of_pairs() ? 1 : 2 / static_cast<double>(classes_);
    return share * static_cast<double>(data_.samples() * data_.features()) < kSmall;
  }

  Result solved(const Rowlist& rows, Targets targets, const Options& options, const Result* start) const {
    const Objective objective(TrainingSet(data_.some(rows), std::move(targets)), options.lambda, options.threads,
                              options.intercept, options.loss);
    return solve(objective, options, monitor_, start ? &start->w : nullptr, start ? start->b : 0);
  }

  void keep(Result result, Index k, Model& model) {
    model.w.row(k) = result.w.transpose();
    model.b(k) = result.b;
    model.objective = (k ? model.objective : 0) + result.objective;
    model.gap = (k ? model.gap : 0) + result.gap;
    model.iterations = std::max(model.iterations, result.iterations);
    if (model.status.empty() || model.status == "converged") model.status = result.status();
    results_.push_back(std::move(result));
  }

  void describe(Model& model, Task task) const {
    model.task = task;
    model.lambda = options_.lambda;
    model.loss = options_.loss->name();
    model.loss_parameter = options_.loss->parameter();
    model.names = options_.names;
  }

  RowScores scored(const Vector& w, double b, const Rowlist& rows) const {
    const Planes plane{w.data(), &b, 1, data_.features()};
    const Margins found = margins(plane, data_.some(rows), options_.threads);
    const auto numbers = [](const Matrix& column) { return Numbers(column.data(), column.data() + column.size()); };
    return {numbers(found.mean), numbers(found.variance)};
  }

  Calibration calibrated(const Model& model, Index k) const {
    const Rowlist rows = rows_of(k, all_rows(data_.samples()));
    const RowScores seen = scored(model.w.row(k).transpose(), model.b(k), rows);
    const bool own = model.loss == "logistic" && options_.probabilities == Probabilities::held_out;
    Scored known;
    known.weights = take(weights_, rows);
    known.margins = seen.margin;
    known.variances = seen.variance;
    for (const Index i : rows) known.signs.push_back(sign(k, i));
    if (data_.covariance().empty()) known.variances.clear();
    if (own) return own_calibration(known, svmgsu::log_prior_odds(known.signs, side_weights(rows, known.signs)));
    if (options_.probabilities == Probabilities::held_out) hold_out(k, rows, seen.margin, known);
    return fit_calibration(known);
  }

  // Replaces training scores by those of models that have not seen the sample, where a fold is trained in time.
  void hold_out(Index k, const Rowlist& rows, const Numbers& margin, Scored& known) const {
    std::vector<Index> place(at(data_.samples()), -1), sides;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      place[at(rows[i])] = static_cast<Index>(i);
      sides.push_back(known.signs[i] > 0);
    }
    const bool groups = !options_.groups.empty();
    const std::vector<Rowlist> folds =
        groups ? group_folds() : lists(folds_by_key(margin, sides, 2, take(trained_, rows)), rows);
    for (const Rowlist& part : folds) {
      const Rowlist fold = rows_of(k, part);
      const Rowlist others = without(rows, fold);
      // Groups of other classes alone have nothing to hold out of this pair.
      if (fold.empty() || left() <= 0) continue;
      const Result result = solve_one(k, others, &results_[at(k)], left());
      if (result.stop == Stop::time) continue;  // it began at the full model, which has seen the samples
      const RowScores scores = scored(result.w, result.b, fold);
      for (std::size_t i = 0; i < fold.size(); ++i) {
        known.margins[at(place[at(fold[i])])] = scores.margin[i];
        if (!known.variances.empty()) known.variances[at(place[at(fold[i])])] = scores.variance[i];
      }
    }
  }

  // One class for all samples of a regression.
  std::vector<Index> codes() const { return codes_.empty() ? std::vector<Index>(targets_.size(), 0) : codes_; }
  Index codes_count() const { return codes_.empty() ? 1 : classes_; }

  std::vector<Rowlist> group_folds() const {
    return lists(folds_of_groups(options_.groups, codes(), codes_count(), trained_), all_rows(data_.samples()));
  }

  // Numbers that order the samples whatever their order in the arrays: the place of the target, if there is one, and of
  // the means' projection on a random direction.
  Numbers keys() const {
    SplitMix64 random(0);
    Vector direction(data_.features());
    for (double& x : direction) x = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    Numbers out = scored(direction, 0, all_rows(data_.samples())).margin;
    if (targets_.empty()) return out;
    std::vector<std::pair<double, double>> pairs;
    for (std::size_t i = 0; i < out.size(); ++i) pairs.emplace_back(targets_[i], out[i]);
    std::vector<std::pair<double, double>> sorted = pairs;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), pairs[i]) - sorted.begin());
    return out;
  }

  // The λ with the best held-out score; of equal ones the largest.
  double chosen() {
    Numbers lambdas = options_.lambdas;
    std::sort(lambdas.rbegin(), lambdas.rend());
    const Rowlist rows = all_rows(data_.samples());
    const std::vector<Rowlist> folds =
        options_.groups.empty() ? lists(folds_by_key(keys(), codes(), codes_count(), trained_), rows) : group_folds();
    if (folds.empty()) return std::clamp(kDefaultLambda, lambdas.back(), lambdas.front());
    Numbers score(lambdas.size(), 0.0);
    for (const Rowlist& fold : folds) {
      const Rowlist others = without(rows, fold);
      const Index count = targets_.empty() ? (of_pairs() ? count_pairs(classes_) : classes_) : 1;
      for (Index k = 0; k < count; ++k) {
        const Rowlist known = rows_of(k, others), held = rows_of(k, fold);
        if (held.empty()) continue;
        Result last;
        for (std::size_t m = 0; m < lambdas.size(); ++m) {
          options_.lambda = lambdas[m];
          last = solve_one(k, known, m ? &last : nullptr, left());
          score[m] += judged(k, last, held) / static_cast<double>(count);
        }
      }
    }
    const auto best = std::max_element(score.begin(), score.end());
    return lambdas[static_cast<std::size_t>(best - score.begin())];
  }

  // The expected accuracy of held-out samples, or minus their expected squared error, by weight.
  double judged(Index k, const Result& result, const Rowlist& rows) const {
    const RowScores scores = scored(result.w, result.b, rows);
    double sum = 0, mass = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double c = trained_[at(rows[i])];
      mass += c;
      if (targets_.empty()) {
        sum += c * probability_right(sign(k, rows[i]) * scores.margin[i], std::sqrt(scores.variance[i]));
      } else {
        const double residual = targets_[at(rows[i])] - scores.margin[i];
        sum -= c * (residual * residual + scores.variance[i]);
      }
    }
    return mass > 0 ? sum / mass : 0;
  }

  const Gaussians& data_;
  FitOptions options_;
  const Monitor& monitor_;
  Clock clock_;
  Numbers weights_, trained_, targets_;
  std::vector<Index> codes_;
  Index classes_ = 0;
  std::vector<Result> results_;
};

// The different labels in order, and the place of each sample's among them.
template <class Label, class Text>
Model fit_labels(const Gaussians& data, const std::vector<Label>& labels, const FitOptions& options,
                 const Monitor& monitor, const std::string& type, Text text) {
  std::vector<Label> classes = labels;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  std::vector<Index> codes;
  for (const Label& label : labels)
    codes.push_back(std::lower_bound(classes.begin(), classes.end(), label) - classes.begin());
  std::vector<std::string> names;
  for (const Label& label : classes) names.push_back(text(label));
  return Fit(data, options, monitor).classifier(std::move(names), std::move(codes), type);
}

constexpr double kSoftTolerance = 1e-4;  // of the sum of a sample's class probabilities, which are divided by it

// The sums of the rows of class probabilities, which must be about 1.
Vector checked_sums(const Matrix& probabilities, Index samples, const std::vector<std::string>& classes) {
  require(probabilities.rows() == samples && probabilities.cols() == static_cast<Index>(classes.size()),
          "probabilities: " + std::to_string(probabilities.rows()) + " x " + std::to_string(probabilities.cols()) +
              " for " + std::to_string(samples) + " samples and " + std::to_string(classes.size()) + " classes");
  Vector sums = Vector::Zero(samples);
  for (Index i = 0; i < samples; ++i) {
    for (Index c = 0; c < probabilities.cols(); ++c) {
      require(probabilities(i, c) >= 0, "probabilities: sample " + std::to_string(i) + " has " +
                                            to_text(probabilities(i, c)) + "; they must be >= 0");
      sums(i) += probabilities(i, c);
    }
    require(std::abs(sums(i) - 1) <= kSoftTolerance,
            "probabilities: those of sample " + std::to_string(i) + " sum to " + to_text(sums(i)) + ", not to 1");
  }
  return sums;
}

bool for_regression(const FitOptions& options) {
  if (!options.loss) return false;
  for (const LossInfo& info : known_losses())
    if (info.name == options.loss->name()) return info.task == Task::regression;
  return false;
}

void require_classification(const FitOptions& options) {
  require(!for_regression(options), "loss: it is for regression, and the labels are not numbers to predict");
}

}  // namespace

Model fit(const Gaussians& data, const std::vector<std::string>& labels, const FitOptions& options,
          const Monitor& monitor) {
  require_classification(options);
  return fit_labels(data, labels, options, monitor, "str", [](const std::string& label) { return label; });
}

Model fit(const Gaussians& data, const std::vector<int>& labels, const FitOptions& options, const Monitor& monitor) {
  require_classification(options);
  return fit_labels(data, labels, options, monitor, "int", [](int label) { return std::to_string(label); });
}

Model fit(const Gaussians& data, const std::vector<double>& labels, const FitOptions& options, const Monitor& monitor) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    require(std::isfinite(labels[i]), "labels: sample " + std::to_string(i) + " is not finite");
  if (for_regression(options)) return Fit(data, options, monitor).regression(labels);
  bool whole = true;
  for (const double label : labels) whole = whole && label == std::floor(label) && std::abs(label) < 1e9;
  if (whole) return fit(data, std::vector<int>(labels.begin(), labels.end()), options, monitor);
  return fit_labels(data, labels, options, monitor, "float", [](double label) { return to_text(label); });
}

Model fit(const Gaussians& data, const Matrix& probabilities, const std::vector<std::string>& classes,
          const FitOptions& options, const Monitor& monitor) {
  require_classification(options);
  const Vector sums = checked_sums(probabilities, data.samples(), classes);
  const Numbers weights = checked_weights(options, data.samples());
  if (!options.groups.empty()) require_count(options.groups.size(), data.samples(), "groups");
  Rowlist order = all_rows(static_cast<Index>(classes.size()));
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return classes[at(a)] < classes[at(b)]; });
  // A sample stands for as many rows as it has possible classes. They share its arrays, and are a group.
  FitOptions own = options;
  Rowlist samples, codes;
  Numbers shares;
  own.groups.clear();
  for (Index i = 0; i < data.samples(); ++i)
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double p = probabilities(i, order[k]) / sums(i);
      if (p == 0) continue;
      samples.push_back(i);
      codes.push_back(static_cast<Index>(k));
      shares.push_back(weights[at(i)] * p);
      own.groups.push_back(options.groups.empty() ? i : options.groups[at(i)]);
    }
  if (options.groups.empty() && samples.size() == at(data.samples())) own.groups.clear();  // no label is uncertain
  for (std::size_t k = 0; k < order.size(); ++k)
    require(std::find(codes.begin(), codes.end(), static_cast<Index>(k)) != codes.end(),
            "probabilities: class '" + classes[at(order[k])] + "' has none > 0");
  const Gaussians rows = data.some(samples);
  return Fit(rows, own, monitor, std::move(shares)).classifier(take(classes, order), std::move(codes), "str");
}

std::vector<double> lambda_grid() {
  std::vector<double> out;
  for (int k = 0; k < 10; ++k) out.push_back(std::pow(10.0, 1 - 5.0 * k / 9));
  return out;
}

}  // namespace svmgsu
