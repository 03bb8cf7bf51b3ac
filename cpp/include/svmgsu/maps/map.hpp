// Maps of Gaussians to features with exact moments: X ~ N(x, Σ) in, E z(X) and the covariance of z(X) out.
//
// A map speaks of one Gaussian at a time; moments.hpp goes over the samples, mixtures and threads.
#pragma once

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// One sample as maps read it: Σ = diag(diagonal) + FᵀF + dense, of which any part may be empty.
class OneGaussian {
 public:
  Vector x;
  Vector diagonal;  // n numbers, or none
  Matrix factors;   // F, r × n, or none
  Matrix dense;     // n × n, or none

  Index features() const { return x.size(); }
  bool certain() const { return diagonal.size() == 0 && factors.rows() == 0 && dense.rows() == 0; }
  // Refuses parts that are not of the size of x.
  void require_sizes() const;
  // w Σ of the rows of w, as many rows of n.
  void times(const Matrix& w, Matrix& out) const;
  // Σ as a matrix.
  void full(Matrix& out) const;
  // Rows R with RᵀR = Σ.
  void root(Matrix& out) const;

  // Reads a sample of the data, whatever its kind of covariance.
  void read(const Gaussians& data, Index sample);
};

class Map {
 public:
  virtual ~Map() = default;
  virtual Index inputs() const = 0;
  virtual Index outputs() const = 0;

  // What is given as a pointer is room for the numbers that are named.
  // E z, `outputs()` numbers.
  virtual void mean(const OneGaussian& g, double* out) const = 0;
  // Cov z, outputs() × outputs().
  virtual void covariance(const OneGaussian& g, Matrix& out) const = 0;
  // Its diagonal.
  virtual void variances(const OneGaussian& g, double* out) const = 0;
  // E ∇z, outputs() × inputs(): the derivative of E z by x, too.
  virtual void jacobian(const OneGaussian& g, Matrix& out) const = 0;

  // Of f = w·z for each row of w, which has outputs() columns: E f and Var f, one number a row each.
  virtual void scores(const OneGaussian& g, const Matrix& w, double* mean, double* variance) const;
  // E ∇f for one w of `outputs()` numbers: `inputs()` numbers.
  virtual void slope(const OneGaussian& g, const double* w, double* out) const;

 protected:
  // Refuse what is not of the map's size, and null pointers.
  void require_inputs(const OneGaussian& g) const;
  void require_inputs(const OneGaussian& g, const double* out) const;
  void require_weights(const Matrix& w, const double* mean, const double* variance) const;
  void require_weights(const double* w) const;
};

}  // namespace svmgsu
