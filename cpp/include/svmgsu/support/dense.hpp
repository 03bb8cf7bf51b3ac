// Vectors and matrices that can be handed from one library to another, whatever each was compiled with.
//
// Eigen's own choose their allocator by the instruction set and by EIGEN_MAX_ALIGN_BYTES: one that is made in a library
// compiled with other flags than the application's is freed there by the wrong function. These are a pointer and two
// sizes, their memory comes from operator new, and nothing of Eigen is stored in them. They are Eigen expressions all
// the same (w.transpose(), means.row(3), variances << 1, 2; Eigen::VectorXd v = w), read as unaligned memory. The
// library itself is compiled with its Eigen in a namespace of its own: a function that would take or return one of
// Eigen's objects does not link.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// A column vector (Columns = 1) or a row-major matrix (Columns = Eigen::Dynamic, that is −1).
template <class Scalar, int Columns>
class Dense;

template <class Scalar>
using VectorOf = Dense<Scalar, 1>;
template <class Scalar>
using MatrixOf = Dense<Scalar, -1>;
using Vector = VectorOf<double>;
using Matrix = MatrixOf<double>;

// Eigen's counterparts, which decompositions and Eigen::Map are made of. They stay inside a function.
template <class Scalar, int Columns>
using EigenOf = Eigen::Matrix<Scalar, Eigen::Dynamic, Columns, Columns == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
using EigenVector = EigenOf<double, 1>;
using EigenMatrix = EigenOf<double, -1>;

}  // namespace svmgsu

namespace Eigen::internal {

template <class T, int Columns>
struct traits<svmgsu::Dense<T, Columns>> : traits<Map<svmgsu::EigenOf<T, Columns>>> {
  enum { Flags = traits<Map<svmgsu::EigenOf<T, Columns>>>::Flags | NestByRefBit };
};

template <class T, int Columns>
struct evaluator<svmgsu::Dense<T, Columns>> : evaluator<Map<svmgsu::EigenOf<T, Columns>>> {
  using XprType = svmgsu::Dense<T, Columns>;
  explicit evaluator(const svmgsu::Dense<T, Columns>& x)
      : evaluator<Map<svmgsu::EigenOf<T, Columns>>>({const_cast<T*>(x.data()), x.rows(), x.cols()}) {}
};

}  // namespace Eigen::internal

namespace svmgsu {

// Memory of operator new; null for nothing.
void* allocate_bytes(std::size_t bytes);
void release_bytes(void* memory) noexcept;

template <class Scalar_, int Columns>
class Dense : public Eigen::MatrixBase<Dense<Scalar_, Columns>> {
 public:
  using Base = Eigen::MatrixBase<Dense>;
  using Scalar = Scalar_;
  using Nested = const Dense&;  // in an expression, and not a copy

  Dense() = default;
  explicit Dense(Index rows) : Dense(rows, 1) { static_assert(Columns == 1, "a matrix has rows and columns"); }
  Dense(Index rows, Index cols) : data_(allocate(rows, cols)), rows_(rows), cols_(cols) {}
  Dense(const Dense& other) : Dense(other.rows_, other.cols_) { std::copy_n(other.data_, this->size(), data_); }
  Dense(Dense&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        rows_(std::exchange(other.rows_, 0)),
        cols_(std::exchange(other.cols_, Columns == 1 ? 1 : 0)) {}
  template <class Other>
  Dense(const Eigen::EigenBase<Other>& other) {  // NOLINT: any expression of Eigen's is one
    Base::operator=(other.derived());
  }
  ~Dense() { release_bytes(data_); }

  Dense& operator=(const Dense& other) {
    if (this == &other) return *this;
    resize(other.rows_, other.cols_);
    std::copy_n(other.data_, this->size(), data_);
    return *this;
  }
  Dense& operator=(Dense&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class Other>
  Dense& operator=(const Eigen::EigenBase<Other>& other) {
    Base::operator=(other.derived());
    return *this;
  }

  void swap(Dense& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
  }

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index innerStride() const { return 1; }
  Index outerStride() const { return Columns == 1 ? rows_ : cols_; }
  Scalar* data() { return data_; }
  const Scalar* data() const { return data_; }

  Scalar& coeffRef(Index row, Index col) { return data_[row * cols_ + col]; }
  const Scalar& coeffRef(Index row, Index col) const { return data_[row * cols_ + col]; }
  const Scalar& coeff(Index row, Index col) const { return data_[row * cols_ + col]; }
  Scalar& coeffRef(Index at) { return data_[at]; }
  const Scalar& coeffRef(Index at) const { return data_[at]; }
  const Scalar& coeff(Index at) const { return data_[at]; }

  // The numbers are lost where the size changes, as Eigen has it.
  void resize(Index rows, Index cols) {
    if (rows * cols != rows_ * cols_) Dense(rows, cols).swap(*this);
    rows_ = rows;
    cols_ = cols;
  }
  void resize(Index rows) { resize(rows, 1); }

  using Base::setConstant;
  using Base::setZero;
  Dense& setZero(Index rows, Index cols = 1) {
    resize(rows, cols);
    return Base::setZero();
  }

 private:
  static Scalar* allocate(Index rows, Index cols) {
    if (rows < 0 || cols < 0 || (cols > 0 && rows > PTRDIFF_MAX / static_cast<Index>(sizeof(Scalar)) / cols))
      throw std::bad_alloc();
    return static_cast<Scalar*>(allocate_bytes(static_cast<std::size_t>(rows * cols) * sizeof(Scalar)));
  }

  Scalar* data_ = nullptr;
  Index rows_ = 0, cols_ = Columns == 1 ? 1 : 0;
};

}  // namespace svmgsu
