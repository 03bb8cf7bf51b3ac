// Products and decompositions of dense matrices. Eigen's are templates that take seconds to compile: they are
// instantiated in linalg.cpp, once, and everything else calls these functions.
#pragma once

#include "svmgsu/support/dense.hpp"

namespace svmgsu::linalg {

struct Eigenpairs {
  EigenVector values;   // smallest first
  EigenMatrix vectors;  // one per column
};
Eigenpairs eigenpairs(const EigenMatrix& symmetric);

// Products of matrices of either type: a b, a bᵀ and aᵀ b.
using MatrixView = Eigen::Ref<const EigenMatrix>;
EigenMatrix product(const MatrixView& a, const MatrixView& b);
EigenMatrix product_transposed(const MatrixView& a, const MatrixView& b);
EigenMatrix transposed_product(const MatrixView& a, const MatrixView& b);

// The lower Cholesky factor L, with zeros above the diagonal.
EigenMatrix cholesky(const EigenMatrix& definite);
bool is_definite(const EigenMatrix& symmetric);

// The shortest x that minimises |Ax − b|. Columns of A that differ from others by less than `threshold` in proportion
// do not count; rounding alone decides where it is 0.
EigenVector least_squares(const EigenMatrix& a, const EigenVector& b, double threshold = 0);

// An orthonormal basis of the span of some rows, fewer than they are long: rows = T Qᵀ with a lower triangle T.
class Basis {
 public:
  Basis() = default;
  explicit Basis(Matrix rows);                      // no more rows than columns; polls between blocks
  Matrix triangle() const;                          // the rows' coordinates, one row each
  Vector coordinates(const Vector& v) const;        // Qᵀv
  Vector combine(const Vector& coordinates) const;  // Q times them

 private:
  Matrix reflectors_;  // of Householder's method, below the triangle
  Vector scales_;
};

// The Cholesky factor of a large matrix, block by block, so that it can be interrupted.
class Cholesky {
 public:
  // Of `matrix` (its lower triangle), in its memory. False where it is not positive definite. Polls between blocks.
  bool compute(Matrix matrix);
  Vector solve(const Vector& r) const;
  Vector times(const Vector& v) const;  // LLᵀv

 private:
  Matrix factor_;  // L, in the lower triangle
};

}  // namespace svmgsu::linalg
