// Learning in linear subspaces (paper, Sect. 3.2): each Σ_i is replaced by its leading eigenvectors.
#pragma once

#include <limits>
#include <vector>

#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {

// Sample i keeps rows start[i] .. start[i+1]: √λ_t u_tᵀ, largest first, so that Σ'_i = F_iᵀF_i.
struct Subspaces {
  std::vector<double> factors;
  std::vector<Index> start;
};

// The number of leading eigenvalues (descending) whose share of the sum exceeds p; at p = 1 the
// numerical rank of a matrix whose numbers were rounded to `epsilon`; none of a zero covariance.
Index kept_eigenvalues(const Vector& descending, Index n, double p,
                       double epsilon = std::numeric_limits<double>::epsilon());

// Eigenanalysis of every sample, in parallel. Low-rank covariances go through the small Gram matrix
// FFᵀ; only the others form an n × n matrix, one per thread.
Subspaces eigen_subspaces(const CovarianceSum& covariance, Index samples, Index features, double p, int threads);

// The paper's reading: means projected onto their sample's subspace, U'U'ᵀx. `out` is ℓ × n.
template <class Scalar>
void project_means(const Scalar* means, const Subspaces& subspaces, Index features, int threads, Scalar* out);

}  // namespace svmgsu
