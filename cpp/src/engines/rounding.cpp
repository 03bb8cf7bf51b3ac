#include "engines/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace svmgsu {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kLoss = 16;  // units in which L, L′ and L″ are right
constexpr Index kBlock = 256;

// The error of a sum, in units of the sum of its terms' sizes, where no term goes through more than `depth` additions:
// the worst case, or four times its square root, which independent errors hardly ever exceed (Higham and Mary 2019).
double growth(double depth) { return kUnit * std::min(depth, 4 * std::sqrt(depth)); }

double total_depth(const Gaussians& data) {
  double sum_size = static_cast<double>(data.features());
  for (const auto& term : data.covariance()) sum_size += static_cast<double>(term.kind->sum_size());
  const auto count = static_cast<double>(data.examples());
  const auto block = static_cast<double>(block_size(data, data.examples(), 2 * sum_size));
  return block + count / block + 4;
}

// out += Σ_i weight F_i∘F_i of an example's factors.
void add_factor_squares(const Covariance& kind, Index id, double scale, Index n, std::vector<double>& buffer,
                        double* out) {
  const Index rank = std::max<Index>(0, kind.rank(id));
  buffer.resize(static_cast<std::size_t>(rank * n));
  if (rank > 0) kind.factors(id, scale, buffer.data());
  for (Index r = 0; r < rank; ++r)
    for (Index j = 0; j < n; ++j) {
      const double f = buffer[static_cast<std::size_t>(r * n + j)];
      out[j] += f * f;
    }
}

}  // namespace

void Columns::look(const TrainingSet& set, const Vector& origin, int threads) {
  struct Part {
    Vector squares;
    std::vector<double> buffer;
  };
  const Gaussians& data = set.data;
  const Index n = data.features(), count = data.examples();
  const double share = 1.0 / static_cast<double>(count);
  Vector squares = Vector::Zero(n);
  double of_targets = 0, weights = 0;
  ordered_blocks<Part>((count + kBlock - 1) / kBlock,
                       static_cast<double>(count) * numbers_per_example(data) < kSerialNumbers ? 1 : threads,
                       [&](Index block, Part& part) {
                         part.squares.setZero(n);
                         for (Index i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
                           const Index id = data.ids()[static_cast<std::size_t>(i)];
                           const double weight = share * set.targets.weight(i);
                           data.means().add_squares(id, weight, part.squares.data());
                           for (const auto& term : data.covariance())
                             add_factor_squares(*term.kind, id, weight * term.scale, n, part.buffer,
                                                part.squares.data());
                         }
                       },
                       [&](const Part& part) { squares += part.squares; });
  for (Index i = 0; i < count; ++i) {
    const double weight = share * set.targets.weight(i);
    of_targets += weight * set.targets.target(i) * set.targets.target(i);
    weights += weight;
  }
  size = squares.cwiseSqrt();
  if (origin.size()) size += std::sqrt(weights) * origin.cwiseAbs();
  targets = std::sqrt(of_targets);
}

Rounding::Rounding(const TrainingSet& set, const Columns& columns, const Local& total,
                   const std::vector<std::vector<double>>& sums, const Vector& w, double mean_weight,
                   const Vector& moved)
    : dots_(growth(static_cast<double>(w.size()) / 4 + 4)), sums_(growth(total_depth(set.data))) {
  const Index n = w.size();
  const double share = 1.0 / static_cast<double>(set.data.examples());
  const double slopes = std::sqrt(share * total.slope_squares);
  terms_ = share * total.terms;
  offset_ = slopes * columns.targets;
  if (moved.size()) offset_ += slopes * std::sqrt(mean_weight) * moved.cwiseAbs().dot(w.cwiseAbs());
  reach_ = slopes * columns.size;
  Vector diagonal(n);
  const auto& covariance = set.data.covariance();
  for (std::size_t t = 0; t < covariance.size(); ++t) {
    diagonal.setZero();
    covariance[t].kind->expand_diagonal(sums[t].data(), n, share * covariance[t].scale, diagonal.data());
    diagonal = diagonal.cwiseMax(0.0);
    if (covariance[t].kind->dense()) {  // |Σ_jk| ≤ √(Σ_jj Σ_kk)
      const Vector root = diagonal.cwiseSqrt();
      reach_ += root.dot(w.cwiseAbs()) * root;
    } else {
      reach_ += diagonal.cwiseProduct(w.cwiseAbs());
    }
  }
}

double Rounding::of_value(const Vector& w, double penalty) const {
  const double few = kLoss * kUnit;
  return (sums_ + few) * terms_ + (dots_ + few) * (reach_.dot(w.cwiseAbs()) + offset_ + penalty);
}

double Rounding::of_bound(const Vector& g, double lambda, double tau) const {
  // Three sums over examples: the sides' masses, from which ρ comes, and the sums themselves.
  const double each = 3 * sums_ + dots_ + kLoss * kUnit;
  const double first = each * reach_.dot(g.cwiseAbs()), second = each * each * reach_.squaredNorm() / 2;
  return tau * each * terms_ + tau * tau * (first + second + dots_ * g.squaredNorm()) / lambda;
}

}  // namespace svmgsu
