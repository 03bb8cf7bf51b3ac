// Observations in lanes, in units without offset or scale, ready for the formulas.
#pragma once

#include <vector>

#include "svmgsu/population/deconvolution.hpp"

// Objects stand side by side, one a lane: entry e of all lanes stands together, so that every operation is one on
// vectors. Symmetric and lower triangular matrices are packed, row after row.
namespace svmgsu::lanes {

constexpr int kLanes = 8;

// Where the entry (i, j), j ≤ i, of a packed matrix begins.
inline Index packed(Index i, Index j) { return (i * (i + 1) / 2 + j) * kLanes; }
inline Index triangle(Index n) { return n * (n + 1) / 2; }
// Where the entry (i, j), i ≥ j, of a lower triangle that is packed column after column begins.
inline Index transposed(Index j, Index i, Index n) { return (j * n - j * (j - 1) / 2 + i - j) * kLanes; }

// A matrix column after column; of a lower triangle only what is not zero.
struct Columns {
  const double* data;
  Index rows;
  bool lower;

  Index first(Index j) const { return lower ? j : 0; }
  const double* column(Index j) const { return data + (lower ? transposed(j, j, rows) : j * rows * kLanes); }
};

}  // namespace svmgsu::lanes

namespace svmgsu {

// Some objects side by side, m values of each; the lanes behind the last one have the weight 0. What is missing has
// value 0, mask 0 (or a row of zeros in R) and the noise of the identity, which no formula sees.
struct Lanes {
  int count = 0;
  bool whole = true;                                      // nothing is missing
  std::vector<double> value, mask, noise, r;              // m, m, packed m, m × n (projections only)
  double weight[lanes::kLanes], constant[lanes::kLanes];  // −½ m log 2π, and the logarithm of the change of units
};

class Reader {
 public:
  // Refuses observations and units that are not all there, or no numbers.
  Reader(const Observations& observed, const Units& units);

  Index samples() const { return observed_.data.samples(); }
  Index values() const { return m_; }
  Index features() const { return n_; }
  bool projects() const { return observed_.projection != nullptr; }
  bool diagonal() const { return diagonal_; }  // all noise is independent
  const Units& units() const { return units_; }

  // Objects first .. first + kLanes − 1, as many as there are.
  void load(Index first, Lanes& out) const;

 private:
  void require_finite_projections() const;
  void require_weights() const;
  void add_noise(Index id, Matrix& out) const;
  void load_lane(Index sample, int lane, Matrix& noise, Lanes& out) const;

  const Observations observed_;
  const Units& units_;
  Index m_, n_;
  Rows rows_;
  bool diagonal_ = true;
};

}  // namespace svmgsu
