// The means x_i of the examples: dense rows or CSR, in double or float. Views; they own nothing.
#pragma once

#include "svmgsu/types.hpp"

namespace svmgsu {

class Means {
 public:
  virtual ~Means() = default;
  virtual Index examples() const = 0;
  virtual Index features() const = 0;
  // Numbers that one example brings into a pass, on average; sizes the blocks of a pass.
  virtual double numbers_per_example() const = 0;
  // out[i] = x_i · w
  virtual void dots(Batch batch, const double* w, double* out) const = 0;
  // sum += Σ coefficient[i] x_i
  virtual void add(Batch batch, const double* coefficient, double* sum) const = 0;
};

template <class Scalar>
class DenseMeans final : public Means {
 public:
  DenseMeans(const Scalar* data, Index examples, Index features)
      : data_(data), examples_(examples), features_(features) {}

  Index examples() const override { return examples_; }
  Index features() const override { return features_; }
  double numbers_per_example() const override { return static_cast<double>(features_); }
  void dots(Batch batch, const double* w, double* out) const override;
  void add(Batch batch, const double* coefficient, double* sum) const override;

 private:
  const Scalar* data_;
  Index examples_, features_;
};

// Compressed sparse rows: row i holds entries start[i] .. start[i+1] of (column, value).
template <class Scalar>
struct SparseRows {
  const Scalar* value;
  const std::int32_t* column;
  const Index* start;
  Index examples, features;

  void dots(Batch batch, const double* w, double* out) const;
  void add(Batch batch, const double* coefficient, double* sum) const;
};

template <class Scalar>
class SparseMeans final : public Means {
 public:
  explicit SparseMeans(SparseRows<Scalar> rows) : rows_(rows) {}

  Index examples() const override { return rows_.examples; }
  Index features() const override { return rows_.features; }
  double numbers_per_example() const override {
    return rows_.examples ? 1.5 * static_cast<double>(rows_.start[rows_.examples]) / static_cast<double>(rows_.examples)
                          : 0.0;
  }
  void dots(Batch batch, const double* w, double* out) const override { rows_.dots(batch, w, out); }
  void add(Batch batch, const double* coefficient, double* sum) const override { rows_.add(batch, coefficient, sum); }

 private:
  SparseRows<Scalar> rows_;
};

}  // namespace svmgsu
