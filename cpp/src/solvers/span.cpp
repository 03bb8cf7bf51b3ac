#include "solvers/span.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engines/source.hpp"
#include "solvers/choices.hpp"
#include "solvers/newton.hpp"
#include "support/clock.hpp"
#include "support/linalg.hpp"
#include "support/poll.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {
namespace {

bool is_isotropic(const Covariance& kind) {
  return kind.layout() == Covariance::Layout::isotropic && !kind.is_shared();
}

bool suits_span(const Engine& objective) {
  const Gaussians* const data = objective.source().whole();
  if (!data || data->means().sparse() || objective.features() <= choices::kAlwaysDense) return false;
  const Index rows = rows_of_span(*data, true);
  if (rows < 0 || rows > choices::kMostDense || rows >= objective.features()) return false;
  const bool descends = objective.loss().name() == std::string("hinge") && rows_of_span(*data, false) >= 0;
  return !descends;
}

// The samples in the basis Q of their span: rows = RᵀQᵀ.
class Span {
 public:
  explicit Span(const Engine& objective) : data_(*objective.source().whole()) {
    SpanRows of = gather_span(objective);
    const Index count = data_.samples(), size = of.rows.rows();
    basis_ = linalg::Basis(std::move(of.rows));
    const Matrix coordinates = basis_.triangle();
    means_.resize(count, size);
    factors_.resize(size - count, size);
    for (Index i = 0; i < count; ++i) {
      const Index first = of.start[static_cast<std::size_t>(i)], end = of.start[static_cast<std::size_t>(i) + 1];
      means_.row(i) = coordinates.row(first);
      start_.push_back(first - i);
      for (Index j = first + 1; j < end; ++j) factors_.row(j - i - 1) = coordinates.row(j);
    }
    start_.push_back(size - count);
  }

  Gaussians data() {
    const Index count = data_.samples();
    std::vector<CovarianceSum::Term> terms;
    if (factors_.rows() > 0)
      terms.push_back({LowRank({factors_.data(), factors_.rows(), factors_.cols()}, start_.data(), count), 1.0});
    variances_.reserve(data_.covariance().size());
    for (const auto& term : data_.covariance()) {
      if (!is_isotropic(term.kind)) continue;
      variances_.emplace_back(static_cast<std::size_t>(count), 0.0);
      const double one = 1;
      for (Index i = 0; i < count; ++i)
        term.kind.add_product(data_.ids()[static_cast<std::size_t>(i)], term.scale, &one, 1,
                              &variances_.back()[static_cast<std::size_t>(i)]);
      terms.push_back({Isotropic({variances_.back().data(), count, 1}), 1.0});
    }
    return {Rows(means_.data(), count, means_.cols()), CovarianceSum(std::move(terms))};
  }

  Vector to_span(const Vector& w) const { return basis_.coordinates(w); }
  Vector from_span(const Vector& w) const { return basis_.combine(w); }

 private:
  const Gaussians& data_;
  linalg::Basis basis_;
  Matrix means_, factors_;    // coordinates
  std::vector<Index> start_;  // of each sample's factors
  std::vector<std::vector<double>> variances_;
};

}  // namespace

Index rows_of_span(const Gaussians& data, bool isotropic_allowed) {
  Index rows = data.samples();
  for (const auto& term : data.covariance()) {
    if (isotropic_allowed && is_isotropic(term.kind)) continue;
    for (const Index id : data.ids()) {
      const Index rank = term.kind.rank(id);
      if (rank < 0) return -1;
      rows += rank;
    }
  }
  return rows;
}

SpanRows gather_span(const Engine& objective) {
  const Gaussians& data = *objective.source().whole();
  SpanRows result;
  result.rows.setZero(rows_of_span(data, true), objective.features());
  Index at = 0;
  for (const Index id : data.ids()) {
    const double one = 1;
    result.start.push_back(at);
    data.means().add(Batch{&id, 1}, &one, result.rows.row(at).data());
    if (objective.origin().size()) result.rows.row(at) -= objective.origin().transpose();
    ++at;
    for (const auto& term : data.covariance()) {
      const Index rank = is_isotropic(term.kind) ? 0 : term.kind.rank(id);
      if (rank > 0) term.kind.factors(id, term.scale, result.rows.row(at).data());
      at += rank;
    }
  }
  result.start.push_back(at);
  return result;
}

std::optional<Result> solve_in_span(const Engine& objective, const Options& options, const Monitor& monitor,
                                    const Vector* start_w, double start_b) {
  if (!suits_span(objective)) return std::nullopt;
  const Clock clock;
  const auto rest_of = [&](double epsilon) {
    Options rest = options;
    rest.start_epsilon = epsilon;
    rest.max_seconds = std::max(0.0, options.max_seconds - clock.seconds());
    return rest;
  };
  std::optional<Span> made;
  try {
    const Engine::Trivial trivial = objective.trivial();
    const auto zero = std::make_shared<const Vector>(Vector::Zero(objective.features()));
    double last_call = 0;
    const Watch watch([&] {
      const double seconds = clock.seconds();
      if (seconds > options.max_seconds) return false;
      if (!monitor || seconds - last_call < choices::kSecondsBetweenCalls) return true;
      last_call = seconds;
      Progress progress{0, trivial.value, trivial.value, seconds, 0};
      progress.w = zero;
      progress.b = trivial.b;
      return monitor(progress);
    });
    made.emplace(objective);
  } catch (const Interrupted&) {
    // Told to stop before there was a basis: the solver says so at its first look.
    return solve_newton(objective, rest_of(options.start_epsilon), monitor, start_w, start_b);
  }
  Span& span = *made;
  const std::shared_ptr<const Loss> loss(std::shared_ptr<void>(), &objective.loss());  // the objective outlives us
  const Engine inner(TrainingSet(span.data(), objective.targets()), objective.lambda(), objective.threads(),
                     objective.intercept(), loss);
  Vector start;
  if (start_w) start = span.to_span(*start_w);
  const Monitor outside = [&](Progress progress) {
    if (progress.w) progress.w = std::make_shared<const Vector>(span.from_span(*progress.w));
    return monitor(progress);
  };
  Result result = solve_newton(inner, rest_of(options.start_epsilon), monitor ? outside : monitor,
                               start_w ? &start : nullptr, start_b);
  const double bound = result.objective - result.gap;
  result.w = span.from_span(result.w);
  // The basis has rounded the data: what J is, and what the bound may be wrong by, is said by the data themselves.
  const Certificate here = objective.evaluate(result.w, result.b, result.epsilon).certificate;
  result.objective = here.value;
  result.gap = std::max(0.0, here.value + here.above - std::max(here.bound, bound - choices::kLongerSums * here.below));
  if (!result.history.empty()) {
    Progress last = result.history.back();
    last.objective = result.objective;
    last.gap = result.gap;
    last.passes += 1;
    result.history.push_back(last);
  }
  if (result.stop != Stop::converged || result.gap <= options.tolerance * result.objective) return result;
  // Rounding of the basis is too much for what was asked: the data themselves have the last word.
  return solve_newton(objective, rest_of(result.epsilon), monitor, &result.w, result.b);
}

}  // namespace svmgsu
