// Two arrays of rows that are read in one loop.
#pragma once

#include <vector>

#include "svmgsu/data/rows.hpp"

namespace svmgsu {

// Rows that are alike, with weights wa and wb: dense ones keep memory busier that way. Of sparse ones the columns are
// read once, and what belongs to one column, of the weights and of the sums, stands side by side.
class RowPair {
 public:
  RowPair() = default;  // none: the means and the first term are read one after the other
  RowPair(const Rows& a, const Rows& b, const double* wa, const double* wb);
  bool exists() const { return wa_ != nullptr; }
  bool sparse() const { return a_.sparse(); }
  // out_a[i] = a_i·wa and out_b[i] = b_i·wb
  void dots(Batch batch, double* out_a, double* out_b) const;
  // Of sparse rows: sums[2j] += Σ ca[i] a_ij and sums[2j + 1] += Σ cb[i] b_ij
  void add(Batch batch, const double* ca, const double* cb, double* sums) const;

 private:
  template <class Scalar>
  void dots(const Scalar* a, const Scalar* b, Batch batch, double* out_a, double* out_b) const;

  Rows a_, b_;
  const double *wa_ = nullptr, *wb_ = nullptr;
  bool squares_ = false;         // of sparse rows: whether wb is the square of wa
  std::vector<double> weights_;  // or else wa and wb side by side
};

// a += the first of each two numbers, b += the second
void add_apart(const std::vector<double>& sums, double* a, double* b);

}  // namespace svmgsu
