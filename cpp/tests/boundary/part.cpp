#include "part.hpp"

#include <Eigen/Cholesky>

namespace {

svmgsu::Result train() {
  svmgsu::Matrix means(4, 3), variances(4, 3);
  means << -2, 0.1, 3, -1, -0.2, 4, 1, 0.3, 4, 2, -0.1, 3;
  variances.setConstant(0.09);
  svmgsu::Vector labels(4);
  labels << -1, -1, 1, 1;
  return svmgsu::train({means, svmgsu::Diagonal(variances), labels}, {});
}

svmgsu::Model model(const svmgsu::Result& result) { return svmgsu::Model(result.w, result.b, 1e-2, "hinge"); }

svmgsu::Vector use(svmgsu::Result result, svmgsu::Model model) {
  Eigen::MatrixXd own = Eigen::MatrixXd::Identity(3, 3) + result.w * result.w.transpose();  // Eigen's, with our flags
  const Eigen::VectorXd solved = own.llt().solve(model.w.row(0).transpose());
  svmgsu::Vector taken = std::move(result.w);
  result.w = solved;
  result.w.setZero(100);
  model.w = svmgsu::Matrix::Constant(7, 5, 1.0);
  model.b = model.w * svmgsu::Vector::Ones(5);
  taken.swap(model.b);
  taken = own.llt().matrixL() * solved;
  return taken + model.b;  // the w that came, and Lᵀ⁻¹w
}

}  // namespace

extern "C" SVMGSU_PART_EXPORT const Part SVMGSU_PART;
const Part SVMGSU_PART{SVMGSU_PART_NAME, &train, &model, &use};
