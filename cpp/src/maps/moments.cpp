#include <cmath>

#include "support/parallel.hpp"
#include "svmgsu/maps/maps.hpp"

namespace svmgsu {
namespace {

constexpr Index kBlock = 64;  // samples of one piece of work; it depends on nothing

Index blocks_of(Index samples) { return (samples + kBlock - 1) / kBlock; }

template <class Use>
void for_block(Index block, Index samples, Use use) {
  for (Index i = block * kBlock; i < std::min(samples, (block + 1) * kBlock); ++i) use(i);
}

// use(Gaussian, weight) for the components of a sample.
template <class Use>
void for_components(const Gaussians& data, const Blend& blend, Index sample, OneGaussian& g, Use use) {
  for (Index k = 0; k < blend.components; ++k) {
    const Index row = sample * blend.components + k;
    const double weight = blend.weight ? blend.weight[row] : 1.0;
    if (blend.weight && !(weight > blend.least)) continue;
    g.read(data, row);
    use(g, weight);
  }
}

void require_weights(const double* weights, Index count, const char* name) {
  for (Index i = 0; i < count; ++i)
    if (!(weights[i] >= 0 && std::isfinite(weights[i])))
      require(false, std::string(name) + ": weight " + std::to_string(i) + " is " + to_text(weights[i]) +
                         "; weights must be >= 0 and finite");
}

void check(const Map& map, const Gaussians& data, const Blend& blend) {
  require(map.inputs() == data.features(), "map: the data have " + std::to_string(data.features()) +
                                               " features, the map is for " + std::to_string(map.inputs()));
  require(
      blend.components > 0 && data.samples() % blend.components == 0 && (blend.weight || blend.components == 1),
      "blend: " + std::to_string(data.samples()) + " Gaussians are no mixtures of " + std::to_string(blend.components));
  require(blend.least >= 0, "blend: the least weight must be >= 0, got " + to_text(blend.least));
  require_weights(blend.weight, blend.weight ? data.samples() : 0, "blend");
}

// What one sample's features have to give, in turn.
class Mixer {
 public:
  Mixer(const Map& map, const Gaussians& data, const Blend& blend)
      : map_(map), data_(data), blend_(blend), part_(map.outputs()) {}

  // E z
  const Vector& mean(Index sample) {
    mean_.setZero(map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.mean(g, part_.data());
      mean_ += weight * part_;
    });
    return mean_;
  }

  // Var z after mean(): within the components and between them.
  void variances(Index sample, double* out) {
    Eigen::Map<EigenVector> sum(out, map_.outputs());
    sum.setZero();
    Vector spread(map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.variances(g, spread.data());
      sum += weight * spread;
      if (!blend_.weight) return;
      map_.mean(g, part_.data());
      sum += weight * (part_ - mean_).cwiseAbs2();
    });
  }

  // Cov z after mean()
  const Matrix& covariance(Index sample) {
    total_.setZero(map_.outputs(), map_.outputs());
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      map_.covariance(g, cov_);
      total_ += weight * cov_;
      if (!blend_.weight) return;
      map_.mean(g, part_.data());
      part_ -= mean_;
      total_.noalias() += (weight * part_) * part_.transpose();
    });
    return total_;
  }

  // Rows F with FᵀF the covariance to first order in Σ, after mean().
  void factors(Index sample, std::vector<double>& out) {
    const Index m = map_.outputs();
    for_components(data_, blend_, sample, g_, [&](const OneGaussian& g, double weight) {
      if (!g.certain()) {
        Matrix jacobian, root;
        map_.jacobian(g, jacobian);
        g.root(root);
        const EigenMatrix rows = std::sqrt(weight) * (root * jacobian.transpose());
        for (Index k = 0; k < rows.rows(); ++k)
          if (!rows.row(k).isZero(0)) out.insert(out.end(), rows.row(k).data(), rows.row(k).data() + m);
      }
      if (!blend_.weight) return;
      map_.mean(g, part_.data());
      part_ = std::sqrt(weight) * (part_ - mean_);
      out.insert(out.end(), part_.data(), part_.data() + m);
    });
  }

 private:
  const Map& map_;
  const Gaussians& data_;
  const Blend& blend_;
  OneGaussian g_;
  Vector part_, mean_;
  Matrix cov_, total_;
};

void pack(const Matrix& full, double* out) {
  for (Index j = 0; j < full.rows(); ++j)
    for (Index k = j; k < full.cols(); ++k) *out++ = full(j, k);
}

}  // namespace

template <class Scalar>
FeatureMoments map_moments(const Map& map, const Gaussians& data, const Blend& blend, Spread spread, Scalar* mean,
                           int threads) {
  check(map, data, blend);
  require(mean != nullptr, "mean: null pointer");
  const Index samples = blend.samples(data), m = map.outputs(), blocks = blocks_of(samples);
  FeatureMoments result;
  const bool rows = spread == Spread::diagonal || spread == Spread::low_rank;
  result.variance.resize(rows ? samples : 0, rows ? m : 0);
  if (spread == Spread::full) result.packed.resize(samples, m * (m + 1) / 2);
  std::vector<std::vector<double>> factors(spread == Spread::low_rank ? static_cast<std::size_t>(samples) : 0);
  parallel_for(blocks, threads, [&](Index block) {
    Mixer mixer(map, data, blend);
    for_block(block, samples, [&](Index i) {
      const Vector& z = mixer.mean(i);
      for (Index j = 0; j < m; ++j) mean[i * m + j] = static_cast<Scalar>(z[j]);
      if (rows) mixer.variances(i, &result.variance(i, 0));
      if (spread == Spread::full) pack(mixer.covariance(i), &result.packed(i, 0));
      if (spread != Spread::low_rank) return;
      auto& own = factors[static_cast<std::size_t>(i)];
      mixer.factors(i, own);
      for (std::size_t k = 0; k < own.size(); k += static_cast<std::size_t>(m))
        result.variance.row(i) -= Eigen::Map<const EigenVector>(own.data() + k, m).cwiseAbs2().transpose();
      result.variance.row(i) = result.variance.row(i).cwiseMax(0.0);
    });
  });
  if (spread == Spread::low_rank) {
    result.start.push_back(0);
    for (auto& own : factors) {
      result.factors.insert(result.factors.end(), own.begin(), own.end());
      result.start.push_back(static_cast<Index>(result.factors.size()) / m);
      std::vector<double>().swap(own);
    }
  }
  return result;
}

template FeatureMoments map_moments<double>(const Map&, const Gaussians&, const Blend&, Spread, double*, int);
template FeatureMoments map_moments<float>(const Map&, const Gaussians&, const Blend&, Spread, float*, int);

SecondMoments second_moments(const Map& map, const Gaussians& data, const Blend& blend, const double* weights,
                             const Matrix& targets, int threads) {
  check(map, data, blend);
  const Index samples = blend.samples(data), m = map.outputs();
  require(targets.rows() == 0 || targets.cols() == samples,
          "targets: " + std::to_string(targets.cols()) + " samples, but the data have " + std::to_string(samples));
  require(targets.allFinite(), "targets: all numbers must be finite");
  require_weights(weights, weights ? samples : 0, "weights");
  SecondMoments result;
  result.gram.setZero(m + 1, m + 1);
  result.cross.setZero(m + 1, targets.rows());
  struct Local {
    Matrix gram, cross;
  };
  ordered_blocks<Local>(
      blocks_of(samples), threads,
      [&](Index block, Local& local) {
        Mixer mixer(map, data, blend);
        local.gram.setZero(m + 1, m + 1);
        local.cross.setZero(m + 1, targets.rows());
        EigenVector u(m + 1);
        for_block(block, samples, [&](Index i) {
          const double c = weights ? weights[i] : 1.0;
          u << mixer.mean(i), 1.0;
          local.gram.noalias() += (c * u) * u.transpose();
          local.gram.topLeftCorner(m, m) += c * mixer.covariance(i);
          local.cross.noalias() += (c * u) * targets.col(i).transpose();
        });
      },
      [&](Local& local) {
        result.gram += local.gram;
        result.cross += local.cross;
      });
  return result;
}

Scores map_scores(const Map& map, const Gaussians& data, const Blend& blend, const Matrix& w, int threads) {
  check(map, data, blend);
  require(w.cols() == map.outputs(), "w: " + std::to_string(w.cols()) + " columns, but the map has " +
                                         std::to_string(map.outputs()) + " features");
  const Index samples = blend.samples(data), count = w.rows();
  Scores result;
  result.mean.setZero(samples, count);
  result.variance.setZero(samples, count);
  parallel_for(blocks_of(samples), threads, [&](Index block) {
    OneGaussian one;
    Vector mean(count), variance(count), squares(count);
    for_block(block, samples, [&](Index i) {
      auto sum = result.mean.row(i).transpose();
      auto spread = result.variance.row(i).transpose();
      squares.setZero();
      double mass = 0;
      for_components(data, blend, i, one, [&](const OneGaussian& g, double weight) {
        map.scores(g, w, mean.data(), variance.data());
        // West's update: the variance between components without the difference of two squares
        mass += weight;
        const EigenVector step = mean - sum;
        sum += (weight / mass) * step;
        squares += weight * step.cwiseProduct(mean - sum);
        spread += weight * variance;
      });
      sum *= mass;
      spread += squares;
    });
  });
  return result;
}

Matrix gradient_outer_product(const Map& map, const Gaussians& data, const Blend& blend, const double* weights,
                              const Matrix& w, int threads) {
  check(map, data, blend);
  require(w.cols() == map.outputs(), "w: " + std::to_string(w.cols()) + " columns, but the map has " +
                                         std::to_string(map.outputs()) + " features");
  const Index samples = blend.samples(data), n = map.inputs();
  require_weights(weights, weights ? samples : 0, "weights");
  Matrix result;
  result.setZero(n, n);
  ordered_blocks<Matrix>(
      blocks_of(samples), threads,
      [&](Index block, Matrix& local) {
        local.setZero(n, n);
        OneGaussian one;
        Vector part(n);
        EigenMatrix slopes(w.rows(), n);
        for_block(block, samples, [&](Index i) {
          slopes.setZero();
          for_components(data, blend, i, one, [&](const OneGaussian& g, double weight) {
            for (Index k = 0; k < w.rows(); ++k) {
              map.slope(g, w.row(k).data(), part.data());
              slopes.row(k) += weight * part.transpose();
            }
          });
          local.noalias() += (weights ? weights[i] : 1.0) * (slopes.transpose() * slopes);
        });
      },
      [&](Matrix& local) { result += local; });
  return result;
}

}  // namespace svmgsu
