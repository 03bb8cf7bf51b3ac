// Maps of Gaussians to features with exact moments: X ~ N(x, Σ) in, E z(X) and the covariance of z(X) out.
//
// A map speaks of one Gaussian at a time; map_moments goes over the samples, mixtures and threads.
#pragma once

#include <vector>

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// One sample as maps read it: Σ = diag(diagonal) + FᵀF + dense, of which any part may be empty.
class OneGaussian {
 public:
  Vector x;
  Vector diagonal;  // n numbers, or none
  Matrix factors;   // F, r × n, or none
  Matrix dense;     // n × n, or none

  Index features() const { return x.size(); }
  bool certain() const { return diagonal.size() == 0 && factors.rows() == 0 && dense.rows() == 0; }
  // Refuses parts that are not of the size of x.
  void require_sizes() const;
  // w Σ of the rows of w, as many rows of n.
  void times(const Matrix& w, Matrix& out) const;
  // Σ as a matrix.
  void full(Matrix& out) const;

  // Reads a sample of the data, whatever its kind of covariance.
  void read(const Gaussians& data, Index sample);
};

class Map {
 public:
  virtual ~Map() = default;
  virtual Index inputs() const = 0;
  virtual Index outputs() const = 0;

  // What is given as a pointer is room for the numbers that are named.
  // E z, `outputs()` numbers.
  virtual void mean(const OneGaussian& g, double* out) const = 0;
  // Cov z, outputs() × outputs().
  virtual void covariance(const OneGaussian& g, Matrix& out) const = 0;
  // Its diagonal.
  virtual void variances(const OneGaussian& g, double* out) const = 0;

 protected:
  // Refuse what is not of the map's size, and null pointers.
  void require_inputs(const OneGaussian& g) const;
  void require_inputs(const OneGaussian& g, const double* out) const;
};

// cos(w_r·x)/√R and sin(w_r·x)/√R of R frequencies: with frequencies drawn from a kernel's spectrum their inner
// products tend to the kernel.
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

// x_j and x_j x_k, j ≤ k: the polynomials of degree one and two, in the order of scikit-learn's PolynomialFeatures.
class Polynomial final : public Map {
 public:
  explicit Polynomial(Index inputs);

  Index inputs() const override { return n_; }
  Index outputs() const override { return n_ + n_ * (n_ + 1) / 2; }
  void mean(const OneGaussian& g, double* out) const override;
  void covariance(const OneGaussian& g, Matrix& out) const override;
  void variances(const OneGaussian& g, double* out) const override;

 private:
  Index n_;
};

// Moments of the features of all samples, Gaussians or mixtures of them, in parallel; the same bits for any number of
// threads.
// Sample i of a mixture is Σ_k weight[i·components + k] N(row i·components + k of the data).
struct Blend {
  const double* weight = nullptr;  // as many as rows of the data, each >= 0; null: every row of the data is a sample
  Index components = 1;
  double least = 1e-12;  // components of less weight are left out

  Index samples(const Gaussians& data) const { return data.samples() / components; }
};

enum class Spread { none, diagonal, full };

struct FeatureMoments {
  // By Spread::diagonal the variances, samples × outputs.
  Matrix variance;
  // By Spread::full the upper triangles, samples × m(m + 1)/2: what Full takes.
  Matrix packed;
};

// E z of every sample goes to `mean`, room for samples × outputs numbers in double or float.
template <class Scalar>
FeatureMoments map_moments(const Map& map, const Gaussians& data, const Blend& blend, Spread spread, Scalar* mean,
                           int threads = 0);

}  // namespace svmgsu
