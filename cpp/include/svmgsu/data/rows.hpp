// Rows of numbers that the caller has in memory, in double or in float: dense ones, one after another, or compressed
// sparse ones (CSR). A view: the arrays must stay where they are as long as it is used.
#pragma once

#include <memory>
#include <string>

#include "svmgsu/support/dense.hpp"

namespace svmgsu {

class Rows {
 public:
  Rows() = default;  // none
  Rows(const double* data, Index count, Index columns) : wide_(data), count_(count), columns_(columns) {}
  Rows(const float* data, Index count, Index columns) : narrow_(data), count_(count), columns_(columns) {}
  // Row i has the entries start[i] .. start[i + 1] of (column, value); there are count + 1 starts.
  Rows(const double* value, const std::int32_t* column, const Index* start, Index count, Index columns)
      : wide_(value), column_(column), start_(start), count_(count), columns_(columns), sparse_(true) {}
  Rows(const float* value, const std::int32_t* column, const Index* start, Index count, Index columns)
      : narrow_(value), column_(column), start_(start), count_(count), columns_(columns), sparse_(true) {}
  // The rows of a matrix, or the numbers of a vector as rows of one number. Not of one that is about to vanish.
  template <class Scalar, int Columns>
  Rows(const Dense<Scalar, Columns>& m) : Rows(m.data(), m.rows(), m.cols()) {}  // NOLINT: a matrix is rows
  template <class Scalar>
  Rows(const EigenOf<Scalar, -1>& m) : Rows(m.data(), m.rows(), m.cols()) {}  // NOLINT
  template <class Scalar>
  Rows(const EigenOf<Scalar, 1>& v) : Rows(v.data(), v.size(), 1) {}  // NOLINT
  template <class Scalar, int Columns>
  Rows(Dense<Scalar, Columns>&&) = delete;
  template <class Scalar>
  Rows(EigenOf<Scalar, -1>&&) = delete;
  template <class Scalar>
  Rows(EigenOf<Scalar, 1>&&) = delete;

  Index count() const { return count_; }
  Index columns() const { return columns_; }
  bool sparse() const { return sparse_; }
  // The arrays, of which one of `wide` and `narrow` is not null.
  const double* wide() const { return wide_; }
  const float* narrow() const { return narrow_; }
  const std::int32_t* column() const { return column_; }
  const Index* start() const { return start_; }
  // Number k of the array.
  double number(Index k) const { return wide_ ? wide_[k] : static_cast<double>(narrow_[k]); }

  // Refuse rows without an array, or of negative size; messages call them `name`.
  void require_array(const char* name) const;

  // What follows is for the library's passes. With an origin, which is taken off each dense row as it is read, before
  // anything is multiplied: no digit is lost, and nothing but a batch is copied.
  Rows seen_from(const Vector& origin) const;
  bool has_origin() const { return origin_ != nullptr; }
  // Numbers that a row brings into a pass, on average.
  double numbers_per_row() const;
  // Whether another's numbers have the same precision and stand in the same places: both can be read in one loop.
  bool alike(const Rows& other) const;
  // out[i] = row_i · w
  void dots(Batch batch, const double* w, double* out) const;
  // sum += Σ coefficient[i] row_i
  void add(Batch batch, const double* coefficient, double* sum) const;
  // sum += Σ coefficient[i] row_i ∘ row_i
  void add_squares(Batch batch, const double* coefficient, double* sum) const;
  // sum += factor · (row ∘ w)
  void add_product(Index row, double factor, const double* w, double* sum) const;

 private:
  const double* wide_ = nullptr;
  const float* narrow_ = nullptr;
  const std::int32_t* column_ = nullptr;
  const Index* start_ = nullptr;
  Index count_ = 0, columns_ = 0;
  bool sparse_ = false;
  std::shared_ptr<const Vector> origin_;
};

}  // namespace svmgsu
