// The Cholesky factor of a dense matrix, block by block, so that it can be interrupted.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

class Cholesky {
 public:
  // Of `matrix` (its lower triangle), in its memory. False where it is not positive definite. Polls between blocks.
  bool compute(Matrix matrix);
  Vector solve(const Vector& r) const;
  Vector times(const Vector& v) const;  // LLᵀv

 private:
  Matrix factor_;  // L, in the lower triangle
};

}  // namespace svmgsu
