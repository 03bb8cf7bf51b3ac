#include "svmgsu/models/model.hpp"

#include <cmath>
#include <unordered_map>

#include "models/prediction.hpp"

namespace svmgsu {

namespace {

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

Model::Model(const Vector& weights, double intercept, double lambda_, const std::string& loss_)
    : w(weights.transpose()), b(Vector::Constant(1, intercept)), lambda(lambda_), loss(loss_) {
  require(weights.size() > 0 && weights.allFinite(), "weights: at least one, and all finite, are wanted");
  require(std::isfinite(intercept), "intercept: must be finite");
  require(lambda_ >= 0 && std::isfinite(lambda_), "lambda: must be >= 0 and finite, got " + to_text(lambda_));
  require_task(*make_loss(loss_), Task::classification);
}

Planes Model::planes() const {
  require(b.size() == w.rows(), "b: one number for each row of w is wanted");
  return {w.data(), b.data(), w.rows(), w.cols()};
}

Matrix Model::decisions(const Gaussians& data, int threads) const { return decision_values(planes(), data, threads); }

Matrix Model::probabilities(const Gaussians& data, const Matrix* prior, int threads) const {
  return svmgsu::probabilities(*this, planes(), data, prior, threads);
}

std::vector<Index> Model::predict(const Gaussians& data, int threads) const {
  return svmgsu::predict(*this, planes(), data, threads);
}

Estimates Model::estimate(const Gaussians& data, int threads) const {
  require(task == Task::regression, "task: the model is a classifier");
  require(w.rows() == 1, "w: a regression has one row, and this has " + std::to_string(w.rows()));
  return {decisions(data, threads).col(0), margins(planes(), data, threads).variance.col(0).cwiseSqrt()};
}

Model Model::regression(const Vector& weights, double intercept, double lambda, const std::string& loss) {
  require_task(*make_loss(loss), Task::regression);
  Model model(weights, intercept, lambda, "hinge");
  model.task = Task::regression;
  model.loss = loss;
  model.labels.clear();
  return model;
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
