// k(x, c) = exp(−½‖T(x − c)‖²) for landmarks c: with T = √(2γ) I the RBF kernel exp(−γ‖x − c‖²).
#pragma once

#include "svmgsu/maps/map.hpp"

namespace svmgsu {

// With S = TΣTᵀ and a = T(x − c): E k = |I + S|^(−½) exp(−½ aᵀ(I + S)⁻¹a), and E[k(X, c) k(X, c′)] is exp(−¼‖T(c −
// c′)‖²) times the like with 2S about the midpoint of c and c′.
//
// Nyström's features are these numbers times K^(−½), K the kernel among the landmarks; weights w of those are weights
// K^(−½)w of these.
class Landmarks final : public Map {
 public:
  // `landmarks` has one in each row, `transform` is T, p × n.
  Landmarks(const Matrix& landmarks, Matrix transform);

  Index inputs() const override { return t_.cols(); }
  Index outputs() const override { return c_.rows(); }
  void mean(const OneGaussian& g, double* out) const override;
  void covariance(const OneGaussian& g, Matrix& out) const override;
  void variances(const OneGaussian& g, double* out) const override;
  void jacobian(const OneGaussian& g, Matrix& out) const override;

 private:
  Matrix t_, c_;  // T, and T c of each landmark
};

}  // namespace svmgsu
