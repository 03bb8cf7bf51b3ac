#include "helpers.hpp"

namespace svmgsu::test {
Matrix packed_upper(const std::vector<Matrix>& full) {
  const Index n = full[0].rows();
  Matrix out(static_cast<Index>(full.size()), n * (n + 1) / 2);
  for (Index e = 0; e < out.rows(); ++e) {
    Index k = 0;
    for (Index i = 0; i < n; ++i)
      for (Index j = i; j < n; ++j) out(e, k++) = full[static_cast<std::size_t>(e)](i, j);
  }
  return out;
}

std::vector<Matrix> random_covariances(Index count, Index n, Random& random) {
  std::vector<Matrix> out;
  for (Index i = 0; i < count; ++i) {
    const Matrix factor = random.normals(n, n) / std::sqrt(static_cast<double>(n));
    out.push_back(factor.transpose() * factor);
  }
  return out;
}

namespace {

Noise no_noise(Index samples, Index n, Random&) {
  Noise noise;
  noise.dense.assign(static_cast<std::size_t>(samples), Matrix::Zero(n, n));
  return noise;
}

template <class Scalar>
Noise isotropic_noise(Index samples, Index n, Random& random) {
  Noise noise;
  using Variances = VectorOf<Scalar>;
  Variances& v = noise.keep<Variances>(random.normals(samples).cwiseAbs2().cast<Scalar>());
  v(0) = 0;
  noise.sum = Isotropic(v);
  for (Index i = 0; i < samples; ++i) noise.dense.push_back(static_cast<double>(v(i)) * Matrix::Identity(n, n));
  return noise;
}

template <class Scalar>
Noise diagonal_noise(Index samples, Index n, Random& random) {
  Noise noise;
  auto& v = noise.keep<MatrixOf<Scalar>>(random.normals(samples, n).cwiseAbs2().cast<Scalar>());
  v.row(0).setZero();
  noise.sum = Diagonal(v);
  for (Index i = 0; i < samples; ++i)
    noise.dense.emplace_back(v.row(i).template cast<double>().transpose().asDiagonal());
  return noise;
}

// Every other variance is zero and not stored; the second sample has none at all.
template <class Scalar>
Noise sparse_noise(Index samples, Index n, Random& random) {
  Noise noise;
  auto& value = noise.keep(std::vector<Scalar>());
  auto& column = noise.keep(std::vector<std::int32_t>());
  auto& start = noise.keep(std::vector<Index>(1, 0));
  for (Index i = 0; i < samples; ++i) {
    Matrix dense = Matrix::Zero(n, n);
    for (Index j = i % 2; i != 1 && j < n; j += 2) {
      value.push_back(static_cast<Scalar>(std::abs(random.normal())));
      column.push_back(static_cast<std::int32_t>(j));
      dense(j, j) = static_cast<double>(value.back());
    }
    start.push_back(static_cast<Index>(value.size()));
    noise.dense.push_back(dense);
  }
  noise.sum = Diagonal({value.data(), column.data(), start.data(), samples, n});
  return noise;
}

template <class Scalar>
Noise full_noise(Index samples, Index n, Random& random) {
  Noise noise;
  noise.dense = random_covariances(samples, n, random);
  for (Matrix& sigma : noise.dense) sigma = sigma.cast<Scalar>().template cast<double>();
  auto& packed = noise.keep<MatrixOf<Scalar>>(packed_upper(noise.dense).cast<Scalar>());
  noise.sum = Full(packed);
  return noise;
}

template <class Scalar>
Noise low_rank_noise(Index samples, Index n, Random& random) {
  constexpr Index kRank = 2;
  Noise noise;
  auto& factors = noise.keep<MatrixOf<Scalar>>(random.normals(samples * kRank, n).cast<Scalar>());
  noise.sum = LowRank({factors.data(), samples * kRank, n}, kRank);
  for (Index i = 0; i < samples; ++i) {
    const Matrix f = factors.middleRows(i * kRank, kRank).template cast<double>();
    noise.dense.push_back(f.transpose() * f);
  }
  return noise;
}

// From no rows at all to more than a batch of them.
Noise ragged_noise(Index samples, Index n, Random& random) {
  Noise noise;
  auto& start = noise.keep(std::vector<Index>(1, 0));
  for (Index i = 0; i < samples; ++i) start.push_back(start.back() + (i == 3 ? kMaxBatch + 7 : i % 3));
  Matrix& factors = noise.keep(random.normals(start.back(), n));
  noise.sum = LowRank({factors.data(), start.back(), n}, start.data(), samples);
  for (std::size_t i = 0; i + 1 < start.size(); ++i) {
    const Matrix f = factors.middleRows(start[i], start[i + 1] - start[i]);
    noise.dense.push_back(f.transpose() * f);
  }
  return noise;
}

Noise shared_noise(Index samples, Index n, Random& random) {
  Noise noise;
  const auto one = random_covariances(1, n, random);
  Matrix& packed = noise.keep(packed_upper(one));
  noise.sum = Shared(Full(packed));
  noise.dense.assign(static_cast<std::size_t>(samples), one[0]);
  return noise;
}

Noise grouped_noise(Index samples, Index n, Random& random) {
  Noise noise;
  Matrix& variances = noise.keep<Matrix>(random.normals(3, n).cwiseAbs2());
  auto& group = noise.keep(std::vector<std::int32_t>());
  for (Index i = 0; i < samples; ++i) {
    group.push_back(static_cast<std::int32_t>(i % 3));
    noise.dense.emplace_back(variances.row(i % 3).transpose().asDiagonal());
  }
  noise.sum = Shared(Diagonal(variances), group.data(), samples);
  return noise;
}

Noise summed_noise(Index samples, Index n, Random& random) {
  Noise noise = low_rank_noise<double>(samples, n, random);
  Noise diagonal = diagonal_noise<double>(samples, n, random), shared = shared_noise(samples, n, random);
  noise.sum = 0.5 * noise.sum + diagonal.sum + 2.0 * shared.sum;
  for (std::size_t i = 0; i < noise.dense.size(); ++i)
    noise.dense[i] = 0.5 * noise.dense[i] + diagonal.dense[i] + 2.0 * shared.dense[i];
  for (auto* other : {&diagonal, &shared})
    noise.arrays.insert(noise.arrays.end(), other->arrays.begin(), other->arrays.end());
  return noise;
}

}  // namespace

const std::vector<Kind>& every_kind() {
  static const std::vector<Kind> kinds = {
      {"none", no_noise},
      {"isotropic", isotropic_noise<double>},
      {"isotropic float", isotropic_noise<float>},
      {"diagonal", diagonal_noise<double>},
      {"diagonal float", diagonal_noise<float>},
      {"sparse diagonal", sparse_noise<double>},
      {"sparse diagonal float", sparse_noise<float>},
      {"full", full_noise<double>},
      {"full float", full_noise<float>},
      {"low rank", low_rank_noise<double>},
      {"low rank float", low_rank_noise<float>},
      {"low rank of many ranks", ragged_noise},
      {"shared", shared_noise},
      {"shared by group", grouped_noise},
      {"a scaled sum", summed_noise},
  };
  return kinds;
}

const Kind& kind_named(const std::string& name) {
  for (const Kind& kind : every_kind())
    if (kind.name == name) return kind;
  throw std::logic_error("no kind is named " + name);
}

Problem::Problem(const Kind& kind, Index samples, Index features, std::uint64_t seed)
    : means(samples, features), labels(samples), weights(samples) {
  Random random(seed);
  means = random.normals(samples, features);
  for (Index i = 0; i < samples; ++i) {
    labels(i) = random.uniform() < 0.4 || i == 0 ? 1 : -1;
    weights(i) = 0.5 + random.uniform();
    means(i, 0) += labels(i);
  }
  labels(samples - 1) = -1;
  noise = kind.make(samples, features, random);
}

}  // namespace svmgsu::test
