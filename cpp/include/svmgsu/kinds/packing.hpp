// Full matrices and their packed upper triangles: a caller provides arrays of samples × n² and samples × n(n+1)/2
// numbers.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// Packs `samples` symmetric n × n matrices (row-major, one after another), averaging the two
// triangles. Returns the first sample whose triangles differ by more than `tolerance` times its
// largest entry, or −1.
template <class Scalar>
Index pack(const Scalar* full, Index samples, Index n, double tolerance, int threads, Scalar* packed);

// The first sample whose correlation matrix D^-½ Σ D^-½ has an eigenvalue below −`tolerance`, or which has a
// covariance without a variance, with the smallest eigenvalue of Σ; sample −1 if there is none.
struct Indefinite {
  Index sample;
  double eigenvalue;
};
template <class Scalar>
Indefinite find_indefinite(const Scalar* packed, Index samples, Index n, double tolerance, int threads);

// Replaces each Σ whose correlation matrix has its smallest eigenvalue between −`tolerance` and −`rounding` by the
// nearest that is positive semidefinite, in these units; the others are not touched. `samples` were replaced, whose
// smallest eigenvalues were down to −`farthest`; `refused` is the first sample that is further off.
struct Clipped {
  Index samples;
  double farthest;
  Indefinite refused;
};
template <class Scalar>
Clipped clip_indefinite(Scalar* packed, Index samples, Index n, double rounding, double tolerance, int threads);

}  // namespace svmgsu
