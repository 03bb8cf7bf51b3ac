// Full matrices and their packed upper triangles.
#pragma once

#include "svmgsu/support/types.hpp"

namespace svmgsu {

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
