#include "support/linalg.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>

#include "support/poll.hpp"

namespace svmgsu::linalg {
namespace {

constexpr Index kBlock = 64;   // columns that are factored at once
constexpr Index kStrip = 256;  // columns of the rest that are updated between two polls

using Whole = Eigen::Map<EigenMatrix>;

}  // namespace

Eigenpairs eigenpairs(const EigenMatrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<EigenMatrix> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

EigenMatrix product(const MatrixView& a, const MatrixView& b) { return a * b; }
EigenMatrix product_transposed(const MatrixView& a, const MatrixView& b) { return a * b.transpose(); }
EigenMatrix transposed_product(const MatrixView& a, const MatrixView& b) { return a.transpose() * b; }

EigenMatrix cholesky(const EigenMatrix& definite) { return Eigen::LLT<EigenMatrix>(definite).matrixL(); }

bool is_definite(const EigenMatrix& symmetric) { return Eigen::LLT<EigenMatrix>(symmetric).info() == Eigen::Success; }

EigenVector least_squares(const EigenMatrix& a, const EigenVector& b, double threshold) {
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(a);
  if (threshold > 0) decomposition.setThreshold(threshold);
  return decomposition.solve(b);
}

// Rows one after another are the columns of Eigen's own order.
Basis::Basis(Matrix rows) : reflectors_(std::move(rows)) {
  const Index n = reflectors_.cols(), count = reflectors_.rows();
  Eigen::Map<Eigen::MatrixXd> columns(reflectors_.data(), n, count);
  scales_ = Vector::Zero(count);
  for (Index k = 0; k < count; k += kBlock) {
    const Index width = std::min(kBlock, count - k);
    Eigen::Ref<Eigen::MatrixXd> panel(columns.block(k, k, n - k, width));
    const Eigen::HouseholderQR<Eigen::Ref<Eigen::MatrixXd>> factored(panel);
    const Eigen::VectorXd scales = factored.hCoeffs();
    scales_.segment(k, width) = scales;
    for (Index first = k + width; first < count; first += kStrip) {
      columns.block(k, first, n - k, std::min(kStrip, count - first))
          .applyOnTheLeft(Eigen::householderSequence(panel, scales).adjoint());
      poll();
    }
  }
}

Matrix Basis::triangle() const {
  Matrix out = Matrix::Zero(reflectors_.rows(), reflectors_.rows());
  for (Index j = 0; j < out.rows(); ++j) out.row(j).head(j + 1) = reflectors_.row(j).head(j + 1);
  return out;
}

Vector Basis::coordinates(const Vector& v) const {
  const Eigen::Map<const Eigen::MatrixXd> columns(reflectors_.data(), reflectors_.cols(), reflectors_.rows());
  const Eigen::VectorXd scales = scales_;
  Eigen::VectorXd out = v;
  out.applyOnTheLeft(Eigen::householderSequence(columns, scales).adjoint());
  return out.head(reflectors_.rows());
}

Vector Basis::combine(const Vector& coordinates) const {
  const Eigen::Map<const Eigen::MatrixXd> columns(reflectors_.data(), reflectors_.cols(), reflectors_.rows());
  const Eigen::VectorXd scales = scales_;
  Eigen::VectorXd out = Eigen::VectorXd::Zero(reflectors_.cols());
  out.head(coordinates.size()) = coordinates;
  out.applyOnTheLeft(Eigen::householderSequence(columns, scales));
  return out;
}

bool Cholesky::compute(Matrix matrix) {
  factor_ = std::move(matrix);
  const Index n = factor_.rows();
  Whole a(factor_.data(), n, n);
  for (Index k = 0; k < n; k += kBlock) {
    const Index width = std::min(kBlock, n - k), rest = n - k - width;
    Eigen::LLT<EigenMatrix> corner(a.block(k, k, width, width));
    if (corner.info() != Eigen::Success) return false;
    a.block(k, k, width, width) = corner.matrixLLT();
    if (rest == 0) break;
    auto panel = a.block(k + width, k, rest, width);
    corner.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(panel);
    for (Index first = 0; first < rest; first += kStrip) {
      const Index columns = std::min(kStrip, rest - first);
      a.block(k + width + first, k + width + first, rest - first, columns).noalias() -=
          panel.bottomRows(rest - first) * panel.middleRows(first, columns).transpose();
      poll();
    }
  }
  return true;
}

Vector Cholesky::solve(const Vector& r) const {
  const Eigen::Map<const EigenMatrix> l(factor_.data(), factor_.rows(), factor_.cols());
  EigenVector x = r;
  l.triangularView<Eigen::Lower>().solveInPlace(x);
  l.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  return x;
}

Vector Cholesky::times(const Vector& v) const {
  const Eigen::Map<const EigenMatrix> l(factor_.data(), factor_.rows(), factor_.cols());
  EigenVector x = v;
  x = l.triangularView<Eigen::Lower>().transpose() * x;
  x = l.triangularView<Eigen::Lower>() * x;
  return x;
}

}  // namespace svmgsu::linalg
