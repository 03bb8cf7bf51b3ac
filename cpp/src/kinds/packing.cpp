// Packing and checking of full covariance matrices.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/linalg.hpp"
#include "support/parallel.hpp"
#include "svmgsu/kinds/covariance.hpp"

namespace svmgsu {
namespace {

double numbers_of(Index samples, Index n) { return static_cast<double>(samples * n * n); }

// Refuses sizes whose arrays no memory holds, and tolerances that are not.
void require_sizes(Index samples, Index n, double tolerance) {
  constexpr Index kMost = std::numeric_limits<Index>::max() / 8, kMostFeatures = Index{1} << 30;
  require(samples >= 0, "samples: must be >= 0, got " + std::to_string(samples));
  require(n >= 0 && n <= kMostFeatures && (n == 0 || samples <= kMost / (n * n)),
          "n: " + std::to_string(n) + " features are no size of matrices");
  require(tolerance >= 0, "tolerance: must be >= 0, got " + to_text(tolerance));
}
void require_array(const void* array, Index samples, Index n, const char* name) {
  require(array || samples * n == 0, std::string(name) + ": null pointer");
}

}  // namespace

template <class Scalar>
Index pack(const Scalar* full, Index samples, Index n, double tolerance, int threads, Scalar* packed) {
  require_sizes(samples, n, tolerance);
  require_array(full, samples, n, "full");
  require_array(packed, samples, n, "packed");
  std::atomic<Index> asymmetric{samples};
  parallel_for(samples, team_for(numbers_of(samples, n), threads), [&](Index i) {
    const Eigen::Map<const EigenOf<Scalar, -1>> s(full + i * n * n, n, n);
    Scalar* out = packed + i * (n * (n + 1) / 2);
    Scalar difference = 0;
    for (Index a = 0; a < n; ++a)
      for (Index b = a; b < n; ++b) {
        difference = std::max(difference, std::abs(s(a, b) - s(b, a)));
        *out++ = a == b ? s(a, a) : s(a, b) / 2 + s(b, a) / 2;
      }
    if (static_cast<double>(difference) > tolerance * static_cast<double>(s.cwiseAbs().maxCoeff())) {
      Index seen = asymmetric;
      while (i < seen && !asymmetric.compare_exchange_weak(seen, i)) {
      }
    }
  });
  return asymmetric == samples ? -1 : asymmetric.load();
}

namespace {

// Σ_i in units of its own variances, R = D^-½ Σ D^-½, so that the units of the features do not matter.
template <class Scalar>
class Correlations {
 public:
  Correlations(const Scalar* packed, Index sample, Index n)
      : sigma_(Matrix::Zero(n, n)), root_(Vector::Zero(n)), unit_(Vector::Zero(n)) {
    Full({packed, sample + 1, n * (n + 1) / 2}).add_full(sample, 1.0, sigma_);
    using Limits = std::numeric_limits<Scalar>;
    const double largest = std::max(0.0, sigma_.diagonal().maxCoeff());
    const double dust = 8 * std::numeric_limits<double>::epsilon() * largest + static_cast<double>(Limits::min());
    double least = largest;
    for (Index a = 0; a < n; ++a) {
      const double variance = sigma_(a, a);
      if (variance > 0) {
        root_(a) = std::sqrt(variance);
        unit_(a) = 1 / root_(a);
        least = std::min(least, variance);
      } else if (sigma_.row(a).cwiseAbs().maxCoeff() > dust) {
        possible_ = false;  // what has no variance has no covariance
      }
    }
    if (least > 0) spacing_ = static_cast<double>(n) * static_cast<double>(Limits::denorm_min()) / least;
    r_ = unit_.asDiagonal() * sigma_ * unit_.asDiagonal();
  }

  // The smallest eigenvalue of R where it is below −tolerance, else 0.
  double below(double tolerance) {
    if (!possible_) return -std::numeric_limits<double>::infinity();
    // A Cholesky factor of R + tolerance·I proves what we ask; only a failure is looked at closer.
    Matrix shifted = r_;
    shifted.diagonal().array() += tolerance + spacing_;
    if (linalg::is_definite(shifted)) return 0;
    pairs_ = linalg::eigenpairs(r_);
    const double low = pairs_.values(0);
    return within(low, tolerance) ? 0 : low;
  }
  bool within(double low, double tolerance) const { return low >= -(tolerance + spacing_); }

  // The smallest eigenvalue of Σ, after below(). Where features differ so much that it drowns in rounding: the
  // variance along the direction of R's, which is an upper bound.
  double eigenvalue() const {
    const EigenVector values = linalg::eigenpairs(sigma_).values;
    const double drowned =
        std::numeric_limits<double>::epsilon() * static_cast<double>(values.size()) * values.cwiseAbs().maxCoeff();
    if (!possible_ || values(0) < -drowned) return values(0);
    return pairs_.values(0) / unit_.cwiseProduct(pairs_.vectors.col(0)).squaredNorm();
  }

  // After below(): the nearest semidefinite matrix in these units, as `packed`.
  void project(Scalar* packed) const {
    const EigenVector kept = pairs_.values.cwiseMax(0.0);
    const EigenMatrix near = pairs_.vectors * kept.asDiagonal() * pairs_.vectors.transpose();
    for (Index a = 0; a < root_.size(); ++a)
      for (Index b = a; b < root_.size(); ++b) *packed++ = static_cast<Scalar>(root_(a) * near(a, b) * root_(b));
  }

 private:
  Matrix sigma_, r_;
  Vector root_, unit_;        // √variance, and its inverse; 0 where there is none
  bool possible_ = true;      // no covariance without a variance
  double spacing_ = 0;        // what the spacing of the smallest numbers does to R
  linalg::Eigenpairs pairs_;  // of R
};

// Whether Σ_i is surely fine. Variances so small that their digits are few are left to the closer look.
template <class Scalar>
bool surely_definite(const Scalar* packed, Index n, double tolerance) {
  thread_local std::vector<double> work;
  work.resize(static_cast<std::size_t>(kernels::room_for_root(n)));
  const Scalar* row = packed;
  for (Index a = 0; a < n; row += n - a, ++a)
    if (*row > 0 && static_cast<double>(*row) < 1e20 * static_cast<double>(std::numeric_limits<Scalar>::min()))
      return false;
  return kernels::has_root(packed, n, tolerance, work.data());
}

// The first sample that is not zero in `refused`, with its smallest eigenvalue.
template <class Scalar>
Indefinite first_of(const std::vector<char>& refused, const Scalar* packed, Index n) {
  const auto found = std::find_if(refused.begin(), refused.end(), [](char is) { return is != 0; });
  if (found == refused.end()) return {-1, 0.0};
  const auto sample = static_cast<Index>(found - refused.begin());
  Correlations<Scalar> of(packed, sample, n);
  of.below(0);
  return {sample, of.eigenvalue()};
}

}  // namespace

template <class Scalar>
Clipped clip_indefinite(Scalar* packed, Index samples, Index n, double rounding, double tolerance, int threads) {
  require_sizes(samples, n, tolerance);
  require_array(packed, samples, n, "packed");
  require(rounding >= 0 && rounding <= tolerance, "rounding: must be in [0, tolerance], got " + to_text(rounding));
  std::vector<char> refused(static_cast<std::size_t>(samples), 0);
  std::vector<double> distance(static_cast<std::size_t>(samples), 0.0);
  parallel_for(n > 0 ? samples : 0, team_for(numbers_of(samples, n), threads), [&](Index i) {
    if (surely_definite(packed + i * (n * (n + 1) / 2), n, rounding)) return;
    Correlations<Scalar> of(packed, i, n);
    const double low = of.below(rounding);
    if (low < 0 && of.within(low, tolerance)) {
      of.project(packed + i * (n * (n + 1) / 2));
      distance[static_cast<std::size_t>(i)] = -low;
    } else {
      refused[static_cast<std::size_t>(i)] = low < 0;
    }
  });
  Clipped result{0, 0.0, first_of(refused, packed, n)};
  for (const double own : distance) {
    result.samples += own > 0;
    result.farthest = std::max(result.farthest, own);
  }
  return result;
}

template Index pack(const double*, Index, Index, double, int, double*);
template Index pack(const float*, Index, Index, double, int, float*);
template Clipped clip_indefinite(double*, Index, Index, double, double, int);
template Clipped clip_indefinite(float*, Index, Index, double, double, int);

}  // namespace svmgsu
