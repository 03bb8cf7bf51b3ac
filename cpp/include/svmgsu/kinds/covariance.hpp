// Covariances of samples: one value type, whose layout says what the numbers in the caller's arrays mean.
//
//     Isotropic(variances)          Σ_i = v_i I                      one number a row
//     Diagonal(variances)           Σ_i = diag(V_i)                  n numbers a row, dense or sparse
//     Full(packed)                  a symmetric matrix               n(n+1)/2 numbers a row: the upper triangle, row
//                                                                    after row (pack makes them)
//     LowRank(factors, rank)        Σ_i = F_iᵀF_i                    `rank` rows of n numbers for each sample
//     LowRank(factors, start, l)    the same                         rows start[i] .. start[i + 1] for sample i of l
//     Shared(kind)                  one matrix for all samples       `kind` has one
//     Shared(kind, group, l)        one for each group of samples    sample i of l has matrix group[i] of `kind`
//
// All are views, in double or float (Rows); the arrays must outlive them. Covariances add and scale:
//     CovarianceSum sum = Diagonal(variances) + 0.5 * Shared(Full(packed));
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "svmgsu/data/rows.hpp"

namespace svmgsu {

// What a pass keeps: numbers made of w and v, and numbers of each sample.
struct Plan {
  std::vector<double> of_w;
  std::vector<double> of_sample;
};

class Covariance {
 public:
  enum class Layout { isotropic, diagonal, full, low_rank };

  Covariance(Layout layout, Rows rows, Index rank = 0);
  Covariance(Rows factors, const Index* start, Index samples);
  // The matrices of this one for (other) groups of samples; `group` null: one for all samples.
  Covariance shared(const std::int32_t* group, Index samples) const;

  Layout layout() const { return layout_; }
  bool is_shared() const { return shared_; }
  const Rows& rows() const { return rows_; }
  const std::int32_t* groups() const { return group_; }
  Index matrices() const { return start_ || layout_ == Layout::low_rank ? matrices_ : rows_.count(); }
  Index samples() const { return shared_ ? (group_ ? samples_ : -1) : matrices(); }  // −1: any number of them
  Index features() const { return features_; }                                       // −1: any number of them
  // Whether there are entries off the diagonal that are not known by factors; so of all that are shared.
  bool dense() const { return shared_ || layout_ == Layout::full; }
  // The number of rows of F_i where Σ_i = F_iᵀF_i is known as factors, −1 where it is not; and their mean, or 0.
  Index rank(Index sample) const { return by_factors() ? end(sample) - begin(sample) : -1; }
  double mean_rank() const;
  double numbers_per_sample() const;

  // The first fault in the numbers of these samples, in words, or nothing: NaN, negative variances, correlations
  // beyond 1, groups that are not there.
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const;

  // Adds scale · Σ_i to an n × n matrix.
  void add_full(Index sample, double scale, Matrix& out) const;
  // out += factor · Σ_i w
  void add_product(Index sample, double factor, const double* w, Index n, double* out) const;
  // Writes √scale · F_i, rank(sample) × n numbers.
  void factors(Index sample, double scale, double* out) const;

  // A pass over the samples, a batch at a time, calls
  //     prepare(w, v, n, plan)                once: what the layout wants to know of w and v
  //     bilinear(batch, plan, scale, out)     out[i] += scale · vᵀΣ_i w
  //     weigh(batch, plan, kappa, sum)        sum += Σ κ_i Σ_i, in the layout's own form of sum_size() numbers
  //     finish(sum, w, n, scale, out)         out += scale · (Σ κ_i Σ_i) w
  Index sum_size() const;
  void prepare(const double* w, const double* v, Index n, Plan& plan) const;
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const;
  // Adds scale · Σ κ_i Σ_i, known as such a sum, to an n × n matrix (row-major, of leading dimension `stride`); false
  // where the sum is not such a matrix (low rank: it has factors instead). And its diagonal, where there is one.
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const;
  // Where vᵀΣ_i w is the product of row i, as long as a mean, with the plan's `of_w`: the rows, or null. A pass then
  // reads them together with the means.
  const Rows* like_means() const { return layout_ == Layout::diagonal && !shared_ ? &rows_ : nullptr; }

  // The rows of F that belong to a matrix.
  bool by_factors() const { return layout_ == Layout::low_rank && !shared_; }
  Index begin(Index matrix) const { return start_ ? start_[matrix] : matrix * rank_; }
  Index end(Index matrix) const { return begin(matrix + 1); }

 private:
  Layout layout_;
  bool shared_ = false;
  Rows rows_;
  Index features_ = -1, rank_ = 0, matrices_ = 0, samples_ = 0;
  const Index* start_ = nullptr;
  const std::int32_t* group_ = nullptr;
};

inline Covariance Isotropic(const Rows& variances) { return {Covariance::Layout::isotropic, variances}; }
inline Covariance Diagonal(const Rows& variances) { return {Covariance::Layout::diagonal, variances}; }
inline Covariance Full(const Rows& packed) { return {Covariance::Layout::full, packed}; }
inline Covariance LowRank(const Rows& factors, Index rank) { return {Covariance::Layout::low_rank, factors, rank}; }
inline Covariance LowRank(const Rows& factors, const Index* start, Index samples) { return {factors, start, samples}; }
inline Covariance Shared(const Covariance& kind) { return kind.shared(nullptr, 0); }
inline Covariance Shared(const Covariance& kind, const std::int32_t* group, Index samples) {
  return kind.shared(group, samples);
}

// A list of covariances, each with its factor. Empty: no uncertainty at all.
class CovarianceSum {
 public:
  struct Term {
    Covariance kind;
    double scale;
  };

  CovarianceSum() = default;
  CovarianceSum(Covariance kind) : terms_{{std::move(kind), 1.0}} {}  // NOLINT: a kind is a sum of one
  explicit CovarianceSum(std::vector<Term> terms) : terms_(std::move(terms)) {}

  const std::vector<Term>& terms() const { return terms_; }
  void add(const CovarianceSum& other) { terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end()); }
  void scale(double factor) {
    require(factor >= 0, "covariance: the factor must be >= 0");
    for (Term& term : terms_) term.scale *= factor;
  }

 private:
  std::vector<Term> terms_;
};

inline CovarianceSum operator+(CovarianceSum a, const CovarianceSum& b) {
  a.add(b);
  return a;
}
inline CovarianceSum operator*(double factor, CovarianceSum a) {
  a.scale(factor);
  return a;
}

// Full matrices and their packed upper triangles: a caller provides arrays of samples × n² and samples × n(n+1)/2
// numbers.

// Packs `samples` symmetric n × n matrices (row-major, one after another), averaging the two
// triangles. Returns the first sample whose triangles differ by more than `tolerance` times its
// largest entry, or −1.
template <class Scalar>
Index pack(const Scalar* full, Index samples, Index n, double tolerance, int threads, Scalar* packed);

// A sample, or −1 for none, and the smallest eigenvalue of its Σ.
struct Indefinite {
  Index sample;
  double eigenvalue;
};

// Replaces each Σ whose correlation matrix D^-½ Σ D^-½ has its smallest eigenvalue between −`tolerance` and −`rounding`
// by the nearest that is positive semidefinite, in these units; the others are not touched, and none is where the two
// are equal. `samples` were replaced, whose smallest eigenvalues were down to −`farthest`; `refused` is the first
// sample that is further off, or has a covariance without a variance.
struct Clipped {
  Index samples;
  double farthest;
  Indefinite refused;
};
template <class Scalar>
Clipped clip_indefinite(Scalar* packed, Index samples, Index n, double rounding, double tolerance, int threads);

}  // namespace svmgsu
