// cos(w_r·x)/√R and sin(w_r·x)/√R of R frequencies: with frequencies drawn from a kernel's spectrum their inner
// products tend to the kernel.
#pragma once

#include "svmgsu/maps/map.hpp"

namespace svmgsu {

// With q_r = w_rᵀΣw_r and G = WΣWᵀ: E cos(w_r·X) = cos(w_r·x) e^(−q_r/2), and the covariances have cosh G and sinh G,
// which are taken together with the decay, so that nothing overflows.
class Fourier final : public Map {
 public:
  // `frequencies` has one in each row.
  explicit Fourier(Matrix frequencies);

  Index inputs() const override { return w_.cols(); }
  Index outputs() const override { return 2 * w_.rows(); }  // all cosines, then all sines
  void mean(const OneGaussian& g, double* out) const override;
  void covariance(const OneGaussian& g, Matrix& out) const override;
  void variances(const OneGaussian& g, double* out) const override;
  void jacobian(const OneGaussian& g, Matrix& out) const override;
  void scores(const OneGaussian& g, const Matrix& w, double* mean, double* variance) const override;
  void slope(const OneGaussian& g, const double* w, double* out) const override;

 private:
  Matrix w_;
};

// ℓ mixtures of K Gaussians of n features, in arrays; each has further inputs that are known.
struct MixtureArrays {
  Index samples = 0, components = 1, features = 0, known = 0;
  const double* weights = nullptr;      // ℓ × K; components without weight are not read. Null: all 1
  const double* means = nullptr;        // ℓ × K × n
  const double* covariances = nullptr;  // ℓ × K × n × n, or ℓ × K × n where `diagonal`. Null: none
  bool diagonal = false;
  const double* further = nullptr;  // ℓ × known
};

// E z of the map above for each mixture, ℓ × 2R, or with rows in `combine` combine · E z. The columns of `frequencies`
// are features, then known inputs.
void expected_waves(const Matrix& frequencies, const MixtureArrays& data, const Matrix& combine, double* out,
                    int threads = 0);

}  // namespace svmgsu
