// The means x_i of the examples: dense rows or CSR, in double or float. Views; they own nothing.
#pragma once

#include <string>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// Where rows of numbers lie in memory, in double or in float: dense ones one after another, sparse ones with their
// columns and where each row starts. Empty for what is no such rows.
struct RowsView {
  const double* wide = nullptr;
  const float* narrow = nullptr;
  const std::int32_t* column = nullptr;
  const Index* start = nullptr;

  RowsView() = default;
  explicit RowsView(const double* data, const std::int32_t* c = nullptr, const Index* s = nullptr)
      : wide(data), column(c), start(s) {}
  explicit RowsView(const float* data, const std::int32_t* c = nullptr, const Index* s = nullptr)
      : narrow(data), column(c), start(s) {}
  // Whether the other's numbers have the same precision and stand in the same places: both can be read in one loop.
  bool alike(const RowsView& other, Index examples) const;
};

class Means {
 public:
  virtual ~Means() = default;
  virtual Index examples() const = 0;
  virtual Index features() const = 0;
  // Numbers that one example brings into a pass, on average; sizes the blocks of a pass.
  virtual double numbers_per_example() const = 0;
  virtual RowsView rows() const = 0;
  // out[i] = x_i · w
  virtual void dots(Batch batch, const double* w, double* out) const = 0;
  // sum += Σ coefficient[i] x_i
  virtual void add(Batch batch, const double* coefficient, double* sum) const = 0;
  // sum[j] += Σ coefficient[i] x_ij², for bounds of rounding errors
  virtual void add_squares(Batch batch, const double* coefficient, double* sum) const = 0;
};

// Rows of numbers that a pass reads, for means as for variances:
//     dots: out[i] = row_i · w;   add: sum += Σ coefficient[i] row_i.
template <class Scalar>
struct DenseRows {
  const Scalar* data;
  Index examples, features;

  double numbers_per_example() const { return static_cast<double>(features); }
  RowsView view() const { return RowsView(data); }
  void dots(Batch batch, const double* w, double* out) const;
  void add(Batch batch, const double* coefficient, double* sum) const;
  // sum += factor · (row ∘ w)
  void add_product(Index example, double factor, const double* w, double* sum) const;
  void add_squares(Batch batch, const double* coefficient, double* sum) const;
};

// Compressed sparse rows: row i holds entries start[i] .. start[i+1] of (column, value).
template <class Scalar>
struct SparseRows {
  const Scalar* value;
  const std::int32_t* column;
  const Index* start;
  Index examples, features;

  double numbers_per_example() const {
    return examples ? 1.5 * static_cast<double>(start[examples]) / static_cast<double>(examples) : 0.0;
  }
  RowsView view() const { return RowsView(value, column, start); }
  void dots(Batch batch, const double* w, double* out) const;
  void add(Batch batch, const double* coefficient, double* sum) const;
  void add_product(Index example, double factor, const double* w, double* sum) const;
  void add_squares(Batch batch, const double* coefficient, double* sum) const;
};

// Refuse rows without an array, or with a negative size; messages call them `name`.
template <class Scalar>
void require_rows(const DenseRows<Scalar>& rows, const char* name) {
  require(rows.examples >= 0 && rows.features >= 0, std::string(name) + ": sizes must be >= 0");
  require(rows.data || rows.examples * rows.features == 0, std::string(name) + ": null pointer");
}
template <class Scalar>
void require_rows(const SparseRows<Scalar>& rows, const char* name) {
  require(rows.examples >= 0 && rows.features >= 0, std::string(name) + ": sizes must be >= 0");
  require(rows.start, std::string(name) + ": start is a null pointer");
  require(rows.start[rows.examples] == 0 || (rows.value && rows.column), std::string(name) + ": null pointer");
}

template <class Rows>
class RowMeans : public Means {
 public:
  explicit RowMeans(Rows rows) : rows_(rows) { require_rows(rows_, "means"); }

  Index examples() const override { return rows_.examples; }
  Index features() const override { return rows_.features; }
  double numbers_per_example() const override { return rows_.numbers_per_example(); }
  RowsView rows() const override { return rows_.view(); }
  void dots(Batch batch, const double* w, double* out) const override { rows_.dots(batch, w, out); }
  void add(Batch batch, const double* coefficient, double* sum) const override { rows_.add(batch, coefficient, sum); }
  void add_squares(Batch batch, const double* coefficient, double* sum) const override {
    rows_.add_squares(batch, coefficient, sum);
  }

 private:
  Rows rows_;
};

template <class Scalar>
class DenseMeans final : public RowMeans<DenseRows<Scalar>> {
 public:
  DenseMeans(const Scalar* data, Index examples, Index features)
      : RowMeans<DenseRows<Scalar>>({data, examples, features}) {}
};

template <class Scalar>
class SparseMeans final : public RowMeans<SparseRows<Scalar>> {
 public:
  explicit SparseMeans(SparseRows<Scalar> rows) : RowMeans<SparseRows<Scalar>>(rows) {}
};

}  // namespace svmgsu
