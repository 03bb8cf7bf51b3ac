#include "svmgsu/models/fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/fitting.hpp"
#include "svmgsu/losses/loss.hpp"

namespace svmgsu {
namespace {

constexpr double kLargestCount = 1e6;  // of weights that are multiples of one number,
constexpr int kLargestDivisor = 12;    // by which the smallest of them is divided

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

// The model of a task, whose rows are those of `data`.
Model model_of(const Gaussians& data, const FitTask& task, const FitOptions& options, const Monitor& monitor) {
  if (!options.names.empty()) require_count(options.names.size(), data.features(), "names", " features");
  for (const double lambda : options.lambdas)
    require(lambda > 0 && std::isfinite(lambda), "lambdas: must be positive and finite, got " + to_text(lambda));
  for (const double scale : options.cov_scales)
    require(scale >= 0 && std::isfinite(scale), "cov_scales: must be >= 0 and finite, got " + to_text(scale));
  if (options.check) check(data, options.threads);
  const FitReport report = fit_task(FitMemory(data, data), task, options, {monitor, {}});
  const auto count = static_cast<Index>(report.results.size());
  Model model;
  model.w = Matrix::Zero(count, data.features());
  model.b = Vector::Zero(count);
  model.objective = model.gap = 0;
  for (Index k = 0; k < count; ++k) {
    const Result& result = report.results[at(k)];
    model.w.row(k) = result.w.transpose();
    model.b(k) = result.b;
    model.objective += result.objective;
    model.gap += result.gap;
    model.iterations = std::max(model.iterations, result.iterations);
  }
  model.status = report.status;
  model.calibration = report.calibration;
  model.scatter = report.scatter;
  model.task = task.classes ? Task::classification : Task::regression;
  model.multi_class = options.multi_class;
  model.lambda = report.lambda;
  if (options.loss) {
    model.loss = options.loss->name();
    model.loss_parameter = options.loss->parameter();
  }
  model.names = options.names;
  return model;
}

// The factors of the weights of classes; none where they are all alike.
Numbers class_factors(const std::vector<std::string>& labels, const FitTask& task, const FitOptions& options) {
  Numbers factors(labels.size(), 1.0), total(labels.size(), 0.0);
  for (const auto& [label, factor] : options.class_weight) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    require(found != labels.end(), "class_weight: there is no class '" + label + "'");
    require(factor > 0 && std::isfinite(factor), "class_weight: must be positive and finite, got " + to_text(factor));
    factors[static_cast<std::size_t>(found - labels.begin())] = factor;
  }
  for (std::size_t i = 0; i < task.codes.size(); ++i) total[at(task.codes[i])] += task.weights[i];
  for (std::size_t c = 0; c < factors.size(); ++c) {
    require(total[c] > 0, "weights: class '" + labels[c] + "' has no weight; training needs samples of every class");
    if (options.balanced) factors[c] /= total[c];
  }
  const double mean = std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  for (double& factor : factors) factor /= mean;
  return options.balanced || !options.class_weight.empty() ? factors : Numbers();
}

Model classifier(const Gaussians& data, std::vector<std::string> labels, FitTask task, const std::string& type,
                 const FitOptions& options, const Monitor& monitor) {
  require_count(task.codes.size(), data.samples(), "labels");
  require(labels.size() > 1, "labels: one class only; training needs samples of two");
  if (!task.groups.empty()) require_count(task.groups.size(), data.samples(), "groups");
  task.classes = static_cast<Index>(labels.size());
  task.factors = class_factors(labels, task, options);
  Model model = model_of(data, task, options, monitor);
  model.labels = std::move(labels);
  model.label_type = type;
  model.class_weight = Eigen::Map<const EigenVector>(task.factors.data(), static_cast<Index>(task.factors.size()));
  return model;
}

// The different labels in order, and the place of each sample's among them.
template <class Label, class Text>
Model fit_labels(const Gaussians& data, const std::vector<Label>& labels, const FitOptions& options,
                 const Monitor& monitor, const std::string& type, Text text) {
  std::vector<Label> classes = labels;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  FitTask task;
  task.weights = checked_weights(options, data.samples());
  task.groups = options.groups;
  for (const Label& label : labels)
    task.codes.push_back(std::lower_bound(classes.begin(), classes.end(), label) - classes.begin());
  std::vector<std::string> names;
  for (const Label& label : classes) names.push_back(text(label));
  return classifier(data, std::move(names), std::move(task), type, options, monitor);
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
  if (for_regression(options)) {
    FitTask task;
    task.targets = labels;
    task.errors = options.target_std;
    task.weights = checked_weights(options, data.samples());
    task.groups = options.groups;
    require_count(labels.size(), data.samples(), "targets");
    if (!task.groups.empty()) require_count(task.groups.size(), data.samples(), "groups");
    if (!task.errors.empty()) require_count(task.errors.size(), data.samples(), "target_std");
    for (std::size_t i = 0; i < task.errors.size(); ++i)
      require(task.errors[i] > 0 && std::isfinite(task.errors[i]),
              "target_std: sample " + std::to_string(i) + " has " + to_text(task.errors[i]) + "; errors must be > 0");
    Model model = model_of(data, task, options, monitor);
    model.labels.clear();
    return model;
  }
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
  Rowlist order(classes.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return classes[at(a)] < classes[at(b)]; });
  // A sample stands for as many rows as it has possible classes. They share its arrays, and are a group.
  FitTask task;
  Rowlist samples;
  for (Index i = 0; i < data.samples(); ++i)
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double p = probabilities(i, order[k]) / sums(i);
      if (p == 0) continue;
      samples.push_back(i);
      task.codes.push_back(static_cast<Index>(k));
      task.weights.push_back(weights[at(i)] * p);
      task.groups.push_back(options.groups.empty() ? i : options.groups[at(i)]);
    }
  if (options.groups.empty() && samples.size() == at(data.samples())) task.groups.clear();  // no label is uncertain
  std::vector<std::string> labels;
  for (std::size_t k = 0; k < order.size(); ++k) {
    labels.push_back(classes[at(order[k])]);
    require(std::find(task.codes.begin(), task.codes.end(), static_cast<Index>(k)) != task.codes.end(),
            "probabilities: class '" + labels[k] + "' has none > 0");
  }
  return classifier(data.some(samples), std::move(labels), std::move(task), "str", options, monitor);
}

std::vector<double> lambda_grid() {
  std::vector<double> out;
  for (int k = 0; k < 10; ++k) out.push_back(std::pow(10.0, 1 - 5.0 * k / 9));
  return out;
}

}  // namespace svmgsu
