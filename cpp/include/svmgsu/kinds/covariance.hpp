// The kinds of covariance. Each is a type that knows the bilinear form vᵀΣ_i w and how to add κ_i Σ_i to a sum; a new
// kind is one more file here, and neither the objective nor the solvers change.
//
// A gradient pass over the examples, a batch at a time, calls
//     prepare(w, v, plan)                    once: what the kind wants to know of w and v (here v = w)
//     bilinear(batch, plan, scale, out)      out[i] += scale · vᵀΣ_i w
//     weigh(batch, plan, kappa, sum)         sum  += Σ κ_i Σ_i, in whatever form the kind sums
//     finish(sum, w, scale, out)             out  += scale · (Σ κ_i Σ_i) w
// and a kind's Curvature does the like for Hessian products at a fixed w.
#pragma once

#include <memory>
#include <vector>

#include "svmgsu/data/means.hpp"
#include "svmgsu/support/types.hpp"

namespace svmgsu {

// What a kind keeps during a pass: numbers made of w and v, and numbers of each example.
struct Plan {
  std::vector<double> of_w;
  std::vector<double> of_example;
};

// Hessian products at the w of a finished gradient pass. For each product:
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

  virtual void prepare(const double* w, const double* v, Index n, Plan& plan) const = 0;
  virtual void bilinear(Batch batch, Plan& plan, double scale, double* out) const = 0;
  virtual void weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const = 0;
  virtual void finish(const double* sum, const double* w, Index n, double scale, double* out) const = 0;

  // Where vᵀΣ_i w is the product of row i, as long as a mean, with the plan's `of_w`: the rows. A pass then
  // reads them together with the means.
  virtual RowsView like_means() const { return {}; }

  // `sum` is Σ κ_i Σ_i from the pass at w; `active` are the examples whose κ_i is not zero. Made of the functions
  // above unless a kind remembers something that is cheaper.
  virtual std::unique_ptr<Curvature> curvature(const Vector& w, const Plan& plan, const std::vector<double>& sum,
                                               const std::vector<Index>& active, int threads) const;

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
  // Their mean number, 0 where there are none.
  virtual double mean_rank() const { return 0; }
  // Whether there are entries off the diagonal that are not known by factors.
  virtual bool dense() const { return false; }
  // Writes √scale · F_i to `out`, rank(example) × n numbers.
  virtual void factors(Index /*example*/, double /*scale*/, double* /*out*/) const {}
};

}  // namespace svmgsu
