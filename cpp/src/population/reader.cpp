#include "population/reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "population/units.hpp"

namespace svmgsu {
namespace {

constexpr double kHalfLog2Pi = 0.91893853320467274178;

}  // namespace

Reader::Reader(const Observations& observed, const Units& units)
    : observed_(observed),
      units_(units),
      m_(observed.data.features()),
      n_(observed.features()),
      rows_(observed.data.means()) {
  require(!rows_.sparse(), "data: sparse values have no population; give them as dense rows");
  require(n_ > 0, "projection: there are no features");
  check_units(units, n_);
  require_finite_projections();
  require_weights();
  for (const auto& term : observed.data.covariance()) diagonal_ &= !term.kind.dense() && term.kind.mean_rank() <= 0;
}

void Reader::require_finite_projections() const {
  if (!projects()) return;
  Matrix noise;
  for (const Index id : observed_.data.ids())
    for (Index i = 0; i < m_; ++i) {
      const double* const row = observed_.projection + (id * m_ + i) * n_;
      if (std::all_of(row, row + n_, [](double x) { return std::isfinite(x); })) continue;
      if (!std::isfinite(rows_.number(id * m_ + i))) continue;  // it is missing, and so is what it is seen by
      noise.setZero(m_, m_);
      add_noise(id, noise);
      if (std::isfinite(noise.coeff(i, i)))
        require(false, "projection: the matrix of row " + std::to_string(id) + " has a number that is not finite");
    }
}

void Reader::require_weights() const {
  if (!observed_.weights) return;
  double sum = 0;
  for (Index i = 0; i < samples(); ++i) {
    const double weight = observed_.weights[i];
    if (!(weight >= 0 && std::isfinite(weight)))
      require(false,
              "weights: sample " + std::to_string(i) + " has " + to_text(weight) + "; weights must be >= 0 and finite");
    sum += weight;
  }
  require(sum > 0 && std::isfinite(sum), "weights: their sum must be > 0 and finite");
}

void Reader::add_noise(Index id, Matrix& out) const {
  for (const auto& term : observed_.data.covariance()) {
    const Rows* const variances = term.kind.like_means();
    if (variances && !variances->sparse()) {
      for (Index j = 0; j < m_; ++j) out.coeffRef(j, j) += term.scale * variances->number(id * m_ + j);
    } else {
      term.kind.add_full(id, term.scale, out);
    }
  }
}

void Reader::load_lane(Index sample, int lane, Matrix& noise, Lanes& out) const {
  const Index id = observed_.data.ids()[static_cast<std::size_t>(sample)];
  noise.setZero(m_, m_);
  add_noise(id, noise);
  out.weight[lane] = observed_.weights ? observed_.weights[sample] : 1.0;
  double constant = 0;
  for (Index i = 0; i < m_; ++i) {
    const double value = rows_.number(id * m_ + i);
    const bool seen = std::isfinite(value) && std::isfinite(noise.coeff(i, i));
    const double scale = projects() ? 1.0 : units_.scale.coeff(i);
    out.mask[static_cast<std::size_t>(i * lanes::kLanes + lane)] = seen ? 1.0 : 0.0;
    out.whole &= seen;
    if (seen) constant -= kHalfLog2Pi + std::log(scale);
    double shifted = value;
    if (projects()) {
      const double* row = observed_.projection + (id * m_ + i) * n_;
      for (Index j = 0; j < n_; ++j) {
        const double entry = seen ? row[j] : 0.0;
        shifted -= entry * units_.centre.coeff(j);
        out.r[static_cast<std::size_t>((i * n_ + j) * lanes::kLanes + lane)] = entry * units_.scale.coeff(j);
      }
    } else {
      shifted = (value - units_.centre.coeff(i)) / scale;
    }
    out.value[static_cast<std::size_t>(i * lanes::kLanes + lane)] = seen ? shifted : 0.0;
    for (Index j = 0; j <= i; ++j) {
      const bool both = seen && out.mask[static_cast<std::size_t>(j * lanes::kLanes + lane)] != 0;
      const double unit = projects() ? 1.0 : scale * units_.scale.coeff(j);
      const double entry = both ? noise.coeff(i, j) / unit : (i == j ? 1.0 : 0.0);
      out.noise[static_cast<std::size_t>(lanes::packed(i, j) + lane)] = entry;
    }
  }
  out.constant[lane] = constant;
}

void Reader::load(Index first, Lanes& out) const {
  const auto size = [](Index entries) { return static_cast<std::size_t>(entries * lanes::kLanes); };
  out.value.resize(size(m_));
  out.mask.resize(size(m_));
  out.noise.resize(size(lanes::triangle(m_)));
  if (projects()) out.r.resize(size(m_ * n_));
  out.count = static_cast<int>(std::min<Index>(lanes::kLanes, samples() - first));
  out.whole = true;
  Matrix noise(m_, m_);
  for (int lane = 0; lane < out.count; ++lane) load_lane(first + lane, lane, noise, out);
  for (int lane = out.count; lane < lanes::kLanes; ++lane) {  // the last object again, without weight
    load_lane(first + out.count - 1, lane, noise, out);
    out.weight[lane] = 0;
  }
}

}  // namespace svmgsu
