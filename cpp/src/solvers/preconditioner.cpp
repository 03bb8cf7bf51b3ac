#include "solvers/preconditioner.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kernels.hpp"
#include "solvers/choices.hpp"
#include "support/linalg.hpp"
#include "support/poll.hpp"

namespace svmgsu {
namespace {

using namespace choices;

// A Cholesky factor, in units that make the diagonal one.
class DenseFactor final : public Preconditioner {
 public:
  explicit DenseFactor(const Matrix& h) {
    scale_ = h.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    const Matrix scaled = scale_.asDiagonal() * h * scale_.asDiagonal();
    for (double jitter = 1e-14; jitter < 1; jitter *= 100) {
      Matrix shifted = scaled;
      shifted.diagonal().array() += jitter;
      if (factor_.compute(std::move(shifted))) return;
    }
    factor_.compute(Matrix::Identity(h.rows(), h.cols()));
  }
  using Preconditioner::solve;
  using Preconditioner::times;
  Vector solve(const Vector& r) const override { return scale_.cwiseProduct(factor_.solve(scale_.cwiseProduct(r))); }
  Vector times(const Vector& v) const override { return factor_.times(v.cwiseQuotient(scale_)).cwiseQuotient(scale_); }

 private:
  Vector scale_;
  linalg::Cholesky factor_;
};

// D + RᵀR with few rows R or none, by Woodbury: only a matrix of rows × rows is factored.
class SketchFactor final : public Preconditioner {
 public:
  SketchFactor(Hessian::Sketch sketch, int threads) : root_(sketch.diagonal.cwiseSqrt().cwiseInverse()) {
    y_ = std::move(sketch.rows);
    if (y_.rows() == 0) return;
    y_.array().rowwise() *= root_.transpose().array();
    Matrix gram = Matrix::Identity(y_.rows(), y_.rows());
    add_products(y_, threads, gram);
    factor_.compute(std::move(gram));
    for (Index i = 0; i < y_.rows(); ++i) rows_.push_back(y_.row(i).data());
  }
  using Preconditioner::solve;
  using Preconditioner::times;
  Vector solve(const Vector& r) const override {
    const int count = static_cast<int>(rows_.size());
    Vector scaled = root_.cwiseProduct(r), inner(count);
    if (count == 0) return root_.cwiseProduct(scaled);
    kernels::row_dots(rows_.data(), count, scaled.size(), scaled.data(), inner.data());
    inner = -factor_.solve(inner);
    kernels::add_rows(rows_.data(), count, scaled.size(), inner.data(), scaled.data());
    return root_.cwiseProduct(scaled);
  }
  Vector times(const Vector& v) const override {
    const int count = static_cast<int>(rows_.size());
    Vector scaled = v.cwiseQuotient(root_), inner(count);
    kernels::row_dots(rows_.data(), count, scaled.size(), scaled.data(), inner.data());
    kernels::add_rows(rows_.data(), count, scaled.size(), inner.data(), scaled.data());
    return scaled.cwiseQuotient(root_);
  }

 private:
  Vector root_;  // D^−½
  Matrix y_;     // R D^−½
  std::vector<const double*> rows_;
  linalg::Cholesky factor_;
};

// Products of two numbers in a matrix product that take the time of a pass.
double products_of_pass(const Engine& objective) {
  return kProducts * static_cast<double>(objective.samples()) * std::max(1.0, objective.source().numbers());
}

double passes_of_dense(const Engine& objective, double active) {
  const auto n = static_cast<double>(objective.features());
  const double rows = std::min(static_cast<double>(rows_for_dense(objective)), active);
  return (rows * (1 + objective.source().rank()) + n) * n * n / products_of_pass(objective);
}

// Samples for a sketch whose making takes a few passes.
Index rows_for_sketch(const Engine& objective) {
  const auto n = static_cast<double>(objective.features());
  const double rows = std::sqrt(kSketchPasses * products_of_pass(objective) / n) / (1 + objective.source().rank());
  return std::min({kMostRows, kMostNumbers / objective.features(), std::max<Index>(1, static_cast<Index>(rows))});
}

Vector vector_of(const Step& step) {
  Vector both(step.w.size() + 1);
  both << step.w, step.b;
  return both;
}

Step step_of(const Vector& both) { return {both.head(both.size() - 1), both(both.size() - 1)}; }

}  // namespace

void add_products(const Matrix& rows, int threads, Matrix& gram) {
  constexpr Index kColumns = 256;  // whose numbers stay in the cache
  Matrix transposed;
  for (Index first = 0; first < rows.cols(); first += kColumns) {
    transposed = rows.middleCols(first, std::min(kColumns, rows.cols() - first)).transpose();
    kernels::add_gram(transposed.data(), transposed.rows(), rows.rows(), 1.0, gram.data(), rows.rows(), threads);
    poll();
  }
}

Step Preconditioner::solve(const Step& r) const { return step_of(solve(vector_of(r))); }
Step Preconditioner::times(const Step& v) const { return step_of(times(vector_of(v))); }

Index rows_for_dense(const Engine& objective) {
  const auto n = static_cast<double>(objective.features());
  const double affordable = 60 * static_cast<double>(objective.samples()) * objective.source().numbers() /
                            (n * n * (1 + objective.source().rank()));
  const double times = static_cast<double>(objective.samples()) / n;
  const double most = std::max(6.0, std::min(80.0, times / 10));  // passes are what costs where samples are many
  return static_cast<Index>(std::max(500.0, std::min(most * n, std::max(1.5 * n, affordable))));
}

bool suits_descent(const Engine& objective) {
  const auto n = static_cast<double>(objective.features());
  const double rank = objective.source().rank();
  if (rank > 0 && static_cast<double>(objective.samples()) * (1 + rank) < n) return true;
  return sketches(objective, Phase::newton) || 4 * objective.source().numbers() < n;
}

bool sketches(const Engine& objective, Phase phase) {
  const Index n = objective.features();
  if (n <= kAlwaysDense || n > kMostDense) return n > kMostDense;
  const double cost = passes_of_dense(objective, static_cast<double>(objective.samples()));
  return cost > (phase == Phase::first ? kMostAtFirst : kMostPasses);
}

double passes_of_factor(const Engine& objective, double active) {
  if (!sketches(objective, Phase::first)) return passes_of_dense(objective, active);
  const auto n = static_cast<double>(objective.features());
  const double rows =
      std::min(static_cast<double>(rows_for_sketch(objective)), active) * (1 + objective.source().rank());
  return (n + rows / 3) * rows * rows / products_of_pass(objective);
}

std::unique_ptr<Preconditioner> make_preconditioner(const Engine& objective, const Hessian& hessian, double ridge_of_b,
                                                    std::uint64_t seed, Phase phase) {
  const Index n = objective.features();
  if (phase == Phase::diagonal) {
    Vector diagonal = hessian.diagonal(kFewSamples, seed);
    diagonal(n) = objective.intercept() ? diagonal(n) + ridge_of_b : 1.0;
    return std::make_unique<SketchFactor>(Hessian::Sketch{std::move(diagonal), Matrix()}, objective.threads());
  }
  if (sketches(objective, phase)) {
    Hessian::Sketch sketch = hessian.sketch(rows_for_sketch(objective), seed);
    // b has no penalty of its own: let D carry a share of what the rows say of it.
    sketch.diagonal(n) = objective.intercept() ? 0.01 * sketch.rows.col(n).squaredNorm() + ridge_of_b : 1.0;
    if (!objective.intercept()) sketch.rows.col(n).setZero();
    return std::make_unique<SketchFactor>(std::move(sketch), objective.threads());
  }
  Matrix m = hessian.dense(rows_for_dense(objective), seed);
  m(n, n) += ridge_of_b;
  if (!objective.intercept()) {
    m.row(n).setZero();
    m.col(n).setZero();
    m(n, n) = 1;
  }
  return std::make_unique<DenseFactor>(m);
}

}  // namespace svmgsu
