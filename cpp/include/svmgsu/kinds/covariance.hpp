// The kinds of covariance. Each is a type that knows wᵀΣ_i w and how to add κ_i Σ_i to a sum; a new
// kind is one more type, and neither the objective nor the solvers change.
//
// A gradient pass over the examples, a batch at a time, calls
//     prepare(w, plan)                       once: what the kind wants to know of w
//     quadratic(batch, plan, scale, q)       q[i] += scale · wᵀΣ_i w
//     weigh(batch, plan, kappa, sum)         sum  += Σ κ_i Σ_i, in whatever form the kind sums
//     finish(sum, w, scale, out)             out  += scale · (Σ κ_i Σ_i) w
// and a kind's Curvature does the like for Hessian products at a fixed w.
#pragma once

#include <memory>
#include <vector>

#include "svmgsu/data/means.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

// What a kind keeps during a pass: numbers made of w, and numbers of each example.
struct Plan {
  std::vector<double> of_w;
  std::vector<double> of_example;
};

// Hessian products (paper: none; MATH: Hv) at the w of a finished gradient pass. For each product:
//     prepare(v);  cross(batch, scale, out): out[i] += scale · wᵀΣ_i v;
//     weigh(batch, tau, kappa, sum);  finish(sum, scale, out): out += scale · Σ_i Σ_i (τ_i w + κ_i v).
class Curvature {
 public:
  virtual ~Curvature() = default;
  virtual Index sum_size() const = 0;
  virtual void prepare(const double* v) = 0;
  virtual void cross(Batch batch, double scale, double* out) const = 0;
  virtual void weigh(Batch batch, const double* tau, const double* kappa, double* sum) const = 0;
  virtual void finish(const double* sum, double scale, double* out) const = 0;

  // As Covariance::like_means; wᵀΣ_i v is row i times `weights()`.
  virtual RowsView like_means() const { return {}; }
  virtual const double* weights() const { return nullptr; }
};

class Covariance {
 public:
  virtual ~Covariance() = default;
  virtual Index examples() const = 0;  // −1: any number of them
  virtual Index features() const = 0;  // −1: any number of them
  virtual double numbers_per_example() const = 0;
  virtual Index sum_size() const = 0;

  virtual void prepare(const double* w, Index n, Plan& plan) const = 0;
  virtual void quadratic(Batch batch, Plan& plan, double scale, double* q) const = 0;
  virtual void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const = 0;
  virtual void finish(const double* sum, const double* w, Index n, double scale, double* out) const = 0;

  // Where wᵀΣ_i w is the product of row i, as long as a mean, with the plan's `of_w`: the rows. A pass then
  // reads them together with the means.
  virtual RowsView like_means() const { return {}; }

  // `sum` is Σ κ_i Σ_i from the pass at w; `active` are the examples whose κ_i is not zero.
  virtual std::unique_ptr<Curvature> curvature(const Vector& w, const Plan& plan, const std::vector<double>& sum,
                                               const std::vector<Index>& active, int threads) const = 0;

  // What is wrong with the numbers of these examples (check.hpp): the first fault in words, or nothing.
  virtual std::string fault(const std::vector<Index>& ids, Index n, int threads) const = 0;

  // Σ_i as an n × n matrix, for looking and testing.
  virtual void add_full(Index example, double scale, Matrix& out) const = 0;

  // out += factor · Σ_i w
  virtual void add_product(Index example, double factor, const double* w, Index n, double* out) const = 0;

  // Adds scale · Σ κ_i Σ_i, known as the `sum` of a pass, to an n × n matrix (row-major, of leading
  // dimension `stride`); false where the sum is not such a matrix (LowRank: it has factors instead).
  virtual bool expand(const double* sum, Index n, double scale, double* out, Index stride) const = 0;

  // Adds the diagonal of that matrix to `out`, n numbers, where there is one.
  virtual void expand_diagonal(const double* sum, Index n, double scale, double* out) const = 0;

  // The number of rows of F_i where Σ_i = F_iᵀF_i is known as factors; −1 where it is not.
  virtual Index rank(Index /*example*/) const { return -1; }
  // Whether there are entries off the diagonal that are not known by factors.
  virtual bool dense() const { return false; }
  // Writes √scale · F_i to `out`, rank(example) × n numbers.
  virtual void factors(Index /*example*/, double /*scale*/, double* /*out*/) const {}
};

// Σ_i = v_i I.
template <class Scalar>
class Isotropic final : public Covariance {
 public:
  Isotropic(const Scalar* variances, Index examples) : variances_(variances), examples_(examples) {}
  explicit Isotropic(const VectorOf<Scalar>& v) : Isotropic(v.data(), v.size()) {}
  explicit Isotropic(const EigenOf<Scalar, 1>& v) : Isotropic(v.data(), v.size()) {}
  explicit Isotropic(VectorOf<Scalar>&&) = delete;
  explicit Isotropic(EigenOf<Scalar, 1>&&) = delete;

  Index examples() const override { return examples_; }
  Index features() const override { return -1; }
  double numbers_per_example() const override { return 1; }
  Index sum_size() const override { return 1; }
  void prepare(const double* w, Index n, Plan& plan) const override;
  void quadratic(Batch batch, Plan& plan, double scale, double* q) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

 private:
  const Scalar* variances_;
  Index examples_;
};

// Σ_i = diag(V_i), one row of variances an example; Rows tells how a row is stored.
template <class Rows>
class RowDiagonal : public Covariance {
 public:
  explicit RowDiagonal(Rows rows) : rows_(rows) {}

  Index examples() const override { return rows_.examples; }
  Index features() const override { return rows_.features; }
  double numbers_per_example() const override { return rows_.numbers_per_example(); }
  RowsView like_means() const override { return rows_.view(); }
  Index sum_size() const override { return rows_.features; }
  void prepare(const double* w, Index n, Plan& plan) const override;
  void quadratic(Batch batch, Plan& plan, double scale, double* q) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

 private:
  Rows rows_;
};

template <class Scalar>
class Diagonal final : public RowDiagonal<DenseRows<Scalar>> {
 public:
  Diagonal(const Scalar* variances, Index examples, Index features)
      : RowDiagonal<DenseRows<Scalar>>({variances, examples, features}) {}
  explicit Diagonal(const MatrixOf<Scalar>& v) : Diagonal(v.data(), v.rows(), v.cols()) {}
  explicit Diagonal(const EigenOf<Scalar, -1>& v) : Diagonal(v.data(), v.rows(), v.cols()) {}
  explicit Diagonal(MatrixOf<Scalar>&&) = delete;
  explicit Diagonal(EigenOf<Scalar, -1>&&) = delete;
};

// The same in compressed sparse rows.
template <class Scalar>
class SparseDiagonal final : public RowDiagonal<SparseRows<Scalar>> {
 public:
  explicit SparseDiagonal(SparseRows<Scalar> rows) : RowDiagonal<SparseRows<Scalar>>(rows) {}
};

// A full symmetric Σ_i, packed as its upper triangle row after row: n(n+1)/2 numbers an example.
// wᵀΣw is then a dot product with the packed wwᵀ, and Σ κ_i Σ_i a weighted sum of rows.
template <class Scalar>
class Full final : public Covariance {
 public:
  Full(const Scalar* packed, Index examples, Index features)
      : packed_(packed), examples_(examples), features_(features) {}
  // One packed example a row; `svmgsu::pack` makes them from n × n matrices.
  explicit Full(const MatrixOf<Scalar>& packed);
  explicit Full(MatrixOf<Scalar>&&) = delete;

  Index examples() const override { return examples_; }
  Index features() const override { return features_; }
  double numbers_per_example() const override { return static_cast<double>(sum_size()); }
  bool dense() const override { return true; }
  Index sum_size() const override { return features_ * (features_ + 1) / 2; }
  void prepare(const double* w, Index n, Plan& plan) const override;
  void quadratic(Batch batch, Plan& plan, double scale, double* q) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

 private:
  const Scalar* packed_;
  Index examples_, features_;
};

// Σ_i = F_iᵀF_i with a few rows F_i: rows start[i] .. start[i+1] of `factors`, or `rank` rows each.
template <class Scalar>
class LowRank final : public Covariance {
 public:
  LowRank(const Scalar* factors, Index examples, Index rank, Index features)
      : factors_(factors), start_(nullptr), rank_(rank), examples_(examples), features_(features) {}
  LowRank(const Scalar* factors, const Index* start, Index examples, Index features)
      : factors_(factors), start_(start), rank_(0), examples_(examples), features_(features) {}

  Index examples() const override { return examples_; }
  Index features() const override { return features_; }
  double numbers_per_example() const override {
    return examples_ ? static_cast<double>(features_) * static_cast<double>(rows()) / static_cast<double>(examples_)
                     : 0.0;
  }
  Index sum_size() const override { return features_; }
  void prepare(const double* w, Index n, Plan& plan) const override;
  void quadratic(Batch batch, Plan& plan, double scale, double* q) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;
  Index rank(Index example) const override { return end(example) - begin(example); }
  void factors(Index example, double scale, double* out) const override;

  Index rows() const { return begin(examples_); }
  Index begin(Index example) const { return start_ ? start_[example] : example * rank_; }
  Index end(Index example) const { return begin(example + 1); }
  const Scalar* row(Index k) const { return factors_ + k * features_; }

 private:
  const Scalar* factors_;
  const Index* start_;
  Index rank_, examples_, features_;
};

// One Σ for all examples, or one for each group of examples (say, each class): group[i] of `count`.
class Shared final : public Covariance {
 public:
  // `packed`: count × n(n+1)/2, or count × n variances where `diagonal`.
  Shared(const double* packed, Index count, Index features, bool diagonal, const std::int32_t* group, Index examples)
      : packed_(packed), count_(count), features_(features), diagonal_(diagonal), group_(group), examples_(examples) {}

  Index examples() const override { return group_ ? examples_ : -1; }
  Index features() const override { return features_; }
  double numbers_per_example() const override { return 1; }
  bool dense() const override { return true; }
  Index sum_size() const override { return count_; }
  void prepare(const double* w, Index n, Plan& plan) const override;
  void quadratic(Batch batch, Plan& plan, double scale, double* q) const override;
  void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const override;
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const override;
  std::unique_ptr<Curvature> curvature(const Vector&, const Plan&, const std::vector<double>&,
                                       const std::vector<Index>&, int) const override;
  std::string fault(const std::vector<Index>& ids, Index n, int threads) const override;
  void add_full(Index example, double scale, Matrix& out) const override;
  void add_product(Index example, double factor, const double* w, Index n, double* out) const override;
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const override;
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const override;

  Index group(Index example) const { return group_ ? group_[example] : 0; }
  // out += factor · Σ_k v
  void times(Index k, double factor, const double* v, double* out) const;
  double bilinear(Index k, const double* a, const double* b) const;

 private:
  const double* packed_;
  Index count_, features_;
  bool diagonal_;
  const std::int32_t* group_;
  Index examples_;
};

// Covariances add and scale: a list of kinds, each with its factor. Empty: no uncertainty at all.
class CovarianceSum {
 public:
  struct Term {
    std::shared_ptr<const Covariance> kind;
    double scale;
  };

  CovarianceSum() = default;
  template <class Kind, class = std::enable_if_t<std::is_base_of_v<Covariance, std::decay_t<Kind>>>>
  CovarianceSum(Kind&& kind) {  // NOLINT: a kind is a sum of one
    terms_.push_back({std::make_shared<std::decay_t<Kind>>(std::forward<Kind>(kind)), 1.0});
  }
  explicit CovarianceSum(std::vector<Term> terms) : terms_(std::move(terms)) {}

  const std::vector<Term>& terms() const { return terms_; }
  friend CovarianceSum operator+(CovarianceSum a, const CovarianceSum& b) {
    a.terms_.insert(a.terms_.end(), b.terms_.begin(), b.terms_.end());
    return a;
  }
  friend CovarianceSum operator*(double factor, CovarianceSum a) {
    require(factor >= 0, "covariance: the factor must be >= 0");
    for (Term& term : a.terms_) term.scale *= factor;
    return a;
  }

 private:
  std::vector<Term> terms_;
};

// Packs `examples` symmetric n × n matrices (row-major, one after another), averaging the two
// triangles. Returns the first example whose triangles differ by more than `tolerance` times its
// largest entry, or −1.
template <class Scalar>
Index pack(const Scalar* full, Index examples, Index n, double tolerance, int threads, Scalar* packed);

// The first example that is not positive semidefinite beyond `tolerance` times its trace, with its
// smallest eigenvalue; example −1 if all are.
struct Indefinite {
  Index example;
  double eigenvalue;
};
template <class Scalar>
Indefinite find_indefinite(const Scalar* packed, Index examples, Index n, double tolerance, int threads);

}  // namespace svmgsu
