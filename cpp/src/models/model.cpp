#include "svmgsu/models/model.hpp"

#include <cmath>
#include <unordered_map>

#include "svmgsu/models/coupling.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

std::vector<double> decision_values(const Means& means, const Vector& w, double b, int threads) {
  std::vector<double> out(static_cast<std::size_t>(means.examples()));
  const Index batches = (means.examples() + kMaxBatch - 1) / kMaxBatch;
  const bool tiny = static_cast<double>(means.examples()) * means.numbers_per_example() < 50000;
  parallel_for(batches, tiny ? 1 : threads, [&](Index k) {
    Index id[kMaxBatch];
    const Index first = k * kMaxBatch;
    const int count = static_cast<int>(std::min<Index>(kMaxBatch, means.examples() - first));
    for (int i = 0; i < count; ++i) id[i] = first + i;
    double* values = out.data() + first;
    means.dots(Batch{id, count}, w.data(), values);
    for (int i = 0; i < count; ++i) values[i] += b;
  });
  return out;
}

namespace {

// log σ(z) without overflow.
double log_sigmoid(double z) { return z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z)); }

Index largest(const Vector& values) {
  Index place = 0;
  values.maxCoeff(&place);
  return place;
}

Vector all_log_odds(const Model& model, const Vector& decision, const Vector* variance) {
  require(static_cast<Index>(model.calibration.size()) == decision.size(),
          "calibration: the model has no probabilities");
  require(!variance || variance->size() == decision.size(), "variance: one a decision value is wanted");
  Vector out(decision.size());
  for (Index k = 0; k < decision.size(); ++k) {
    const Calibration& c = model.calibration[static_cast<std::size_t>(k)];
    out(k) = c.log_odds(decision(k), variance ? (*variance)(k) : 0.0);
  }
  return out;
}

// Logarithms of the classes' shares in training.
Vector log_shares(const Model& model) {
  const std::vector<Calibration>& calibration = model.calibration;
  if (calibration.size() == 1) {
    const double base = calibration[0].base;
    Vector both(2);
    both << log_sigmoid(-base), log_sigmoid(base);
    return both;
  }
  Vector out(static_cast<Index>(calibration.size()));
  for (Index k = 0; k < out.size(); ++k) out(k) = calibration[static_cast<std::size_t>(k)].base;
  if (model.multi_class == MultiClass::ovo) {
    Vector classes(static_cast<Index>(model.labels.size()));
    couple(out.data(), classes.size(), classes.data());
    out = classes;
  }
  return out.unaryExpr(&log_sigmoid);
}

// At most five names, in quotes, on one line.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t k = 0; k < names.size() && k < 5; ++k) out += (k ? ", '" : "'") + names[k] + "'";
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return names.size() > 5 ? out + ", ... (" + std::to_string(names.size()) + ")" : out;
}

}  // namespace

std::vector<Index> match_names(const std::vector<std::string>& wanted, const std::vector<std::string>& given) {
  std::unordered_map<std::string, Index> place;
  for (std::size_t k = 0; k < given.size(); ++k)
    require(place.emplace(given[k], static_cast<Index>(k)).second, "X: feature '" + given[k] + "' is there twice");
  std::vector<Index> out;
  std::vector<std::string> missing, unknown;
  for (const std::string& name : wanted) {
    const auto found = place.find(name);
    if (found == place.end()) {
      missing.push_back(name);
      continue;
    }
    out.push_back(found->second);
    place.erase(found);
  }
  for (const std::string& name : given)
    if (place.count(name)) unknown.push_back(name);
  std::string reason;
  if (!missing.empty()) reason = "missing " + listed(missing);
  if (!unknown.empty()) reason += (reason.empty() ? "" : "; ") + ("unknown " + listed(unknown));
  require(reason.empty(), "X: its features are not those of the model: " + reason);
  return out;
}

Model::Model(const Vector& weights, double intercept, double lambda_)
    : w(weights.transpose()), b(Vector::Constant(1, intercept)), lambda(lambda_) {}

Vector Model::decision(const Vector& x) const {
  require(x.size() == w.cols(),
          "x: " + std::to_string(x.size()) + " features, but the model has " + std::to_string(w.cols()));
  return w * x + b;
}

Model Model::regression(const Vector& weights, double intercept, double lambda, const std::string& loss) {
  Model model(weights, intercept, lambda);
  model.task = Task::regression;
  model.loss = loss;
  model.labels.clear();
  return model;
}

Index Model::hyperplanes() const {
  if (task == Task::regression) return 1;
  const auto classes = static_cast<Index>(labels.size());
  return classes > 2 && multi_class == MultiClass::ovr ? classes : count_pairs(classes);
}

Vector Model::class_scores(const Vector& decision, const Vector* variance) const {
  require(decision.size() == hyperplanes() && decision.size() > 1,
          "decision: " + std::to_string(decision.size()) + " values, where the model of " +
              std::to_string(labels.size()) + " classes has " + std::to_string(hyperplanes()));
  const Vector values = calibration.empty() ? decision : all_log_odds(*this, decision, variance);
  if (multi_class == MultiClass::ovr) return values;
  Vector out(static_cast<Index>(labels.size()));
  (calibration.empty() ? vote : couple)(values.data(), out.size(), out.data());
  return out;
}

Vector Model::probabilities(const Vector& decision, const Vector* variance, const Vector* shares) const {
  require(task == Task::classification, "task: a regression has no classes");
  require(!calibration.empty(), "calibration: the model has no probabilities");
  Vector z;
  if (decision.size() == 1) {
    const double odds = all_log_odds(*this, decision, variance)(0);
    z = Vector(2);
    z(0) = -odds, z(1) = odds;
  } else {
    z = class_scores(decision, variance);
  }
  Vector out = z.unaryExpr(&log_sigmoid);  // as logarithms, so that a row of tiny ones can be scaled up
  if (!shares && prior.size()) shares = &prior;
  if (shares) {
    require(shares->size() == out.size() && (shares->array() > 0).all(), "prior: one share > 0 a class is wanted");
    out += shares->array().log().matrix() - log_shares(*this);
  }
  out = (out.array() - out.maxCoeff()).exp();
  return out / out.sum();
}

Index Model::predict(const Vector& decision, const Vector* variance) const {
  require(task == Task::classification, "task: a regression has no classes; its value is that of decision()");
  if (calibration.empty()) return decision.size() == 1 ? Index{decision(0) > 0} : largest(class_scores(decision));
  const Vector chances = probabilities(decision, variance);
  if (!class_weight.size()) return largest(chances);
  require(class_weight.size() == chances.size(), "class_weight: one a class is wanted");
  return largest(chances.cwiseProduct(class_weight));
}

Matrix Model::in_order(const Matrix& rows, const std::vector<std::string>& columns) const {
  require(rows.cols() == static_cast<Index>(columns.size()),
          "columns: " + std::to_string(columns.size()) + " names for " + std::to_string(rows.cols()) + " columns");
  require(!names.empty(), "names: the model has none, so that columns cannot be put in order");
  const std::vector<Index> places = match_names(names, columns);
  Matrix out(rows.rows(), rows.cols());
  for (Index j = 0; j < out.cols(); ++j) out.col(j) = rows.col(places[static_cast<std::size_t>(j)]);
  return out;
}

}  // namespace svmgsu
