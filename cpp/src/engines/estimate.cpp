// The dense Hessian, and estimates of it from some of the samples.
#include <limits>

#include "engines/hessian.hpp"
#include "kernels/kernels.hpp"
#include "support/poll.hpp"
#include "support/random.hpp"

namespace svmgsu {

namespace {

// τ with which Σ min(1, τκ) is about `rows`, over κ from `cut` on: to what their levels tell.
double odds_for(const Levels& levels, double cut, double rows) {
  const int least = Levels::of(cut);
  double tau = std::numeric_limits<double>::infinity(), certain = 0;
  for (int round = 0; round < 20; ++round) {
    double next_certain = 0, rest = 0;
    levels.each([&](int level, Index count) {
      const double kappa = Levels::middle(level), many = static_cast<double>(count);
      if (level < least) return;
      if (round > 0 && tau * kappa >= 1)
        next_certain += many;
      else
        rest += many * kappa;
    });
    if (!(rest > 0) || next_certain >= rows || (round > 0 && next_certain == certain)) break;
    certain = next_certain;
    tau = std::max(0.0, rows - certain) / rest;
  }
  return tau;
}

}  // namespace

Hessian::Choice Hessian::drawn(double tau, std::uint64_t seed, Index first) const {
  Choice choice;
  for (std::size_t i = 0; i < kappa_.size(); ++i) {
    const Index at = position(i);
    const double odds = std::min(1.0, tau * kappa_[i]);
    const double draw =
        static_cast<double>(SplitMix64::at(seed, static_cast<std::uint64_t>(first + at)) >> 11) * 0x1p-53;
    if (draw >= odds) continue;
    choice.weight.push_back(kappa_[i] / odds);
    choice.position.push_back(at);
  }
  static_cast<Numbers&>(choice) = numbers_of(choice.position);
  return choice;
}

// About `rows` of the active samples, each with probability min(1, τκ) and then weight κ/probability.
Hessian::Choice Hessian::choose(Index rows, std::uint64_t seed) const {
  const double tau =
      active() > rows ? odds_for(*levels_, cut_, static_cast<double>(rows)) : std::numeric_limits<double>::infinity();
  if (!far_) return drawn(tau, seed, 0);
  const std::vector<double> list = far_->drawn(objective_, {w_, b_, epsilon_}, cut_, tau, seed);
  Choice choice;
  for (std::size_t k = 0; k + 5 <= list.size(); k += 5) {
    choice.position.push_back(static_cast<Index>(list[k]));
    choice.weight.push_back(list[k + 1]);
    choice.sign.push_back(list[k + 2]);
    choice.rho.push_back(list[k + 3]);
    choice.gamma.push_back(list[k + 4]);
  }
  return choice;
}

void Hessian::for_chosen(const Choice& choice, Index chunk, const Source::Use& use) const {
  Cuts cuts;
  cuts.count = static_cast<Index>(choice.position.size());
  cuts.block = chunk;
  cuts.blocks = (cuts.count + chunk - 1) / chunk;
  if (cuts.count > 0) objective_.source().some(choice.position, cuts, use);
}

void Hessian::outer_rows(const Gaussians& data, Index id, const Choice& choice, std::size_t at, double weight,
                         double* z, double* u) const {
  const Index n = data.features();
  const double root = std::sqrt(weight), sign = root * choice.sign[at];
  for (const auto& term : data.covariance()) term.kind.add_product(id, term.scale, w_.data(), n, u);
  data.means().add(Batch{&id, 1}, &sign, z);
  z[n] = sign;
  if (objective_.origin().size()) Eigen::Map<EigenVector>(z, n) -= sign * objective_.origin();
  if (data.covariance().empty()) return;  // u = 0
  const double along = root * choice.rho[at], rest = std::sqrt(weight * std::abs(choice.gamma[at]));
  for (Index k = 0; k < n; ++k) {
    z[k] += along * u[k];
    u[k] *= rest;
  }
}

namespace {

// Rows of factors that some samples have.
Index factor_rows(const Piece& piece, Index first, Index count) {
  Index sum = 0;
  for (Index at = first; at < first + count; ++at)
    for (const auto& term : piece.data.covariance())
      sum += std::max<Index>(0, term.kind.rank(piece.ids[static_cast<std::size_t>(at - piece.first)]));
  return sum;
}

// Writes √weight F of a sample, which has `rank` rows in all. Returns their number.
Index copy_factors(const Gaussians& data, Index id, double weight, double* out) {
  Index rows = 0;
  for (const auto& term : data.covariance()) {
    const Index rank = term.kind.rank(id);
    if (rank <= 0) continue;
    term.kind.factors(id, weight * term.scale, out + rows * data.features());
    rows += rank;
  }
  return rows;
}

}  // namespace

Matrix Hessian::dense(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.source().like().covariance();
  const Index n = objective_.features(), width = n + 1;
  const double share = 1.0 / static_cast<double>(objective_.samples());
  Matrix h = Matrix::Zero(width, width);
  h.diagonal().head(n).setConstant(objective_.lambda());
  bool factors = false;  // some term is known by factors only
  for (std::size_t t = 0; t < terms.size(); ++t)
    factors |= !terms[t].kind.expand(sums_[t].data(), n, share * terms[t].scale, h.data(), width);

  const Choice choice = choose(rows, seed);
  const bool exact = static_cast<Index>(choice.position.size()) == active();
  constexpr Index kChunk = 512;
  Matrix z, u[2], f;
  const auto add = [&](const Matrix& a, Index columns, double sign) {
    kernels::add_gram(a.data(), a.rows(), columns, sign, h.data(), width, objective_.threads());
  };
  for_chosen(choice, kChunk, [&](const Piece& piece) {
    const Index end = piece.first + static_cast<Index>(piece.ids.size());
    for (Index first = piece.first; first < end; first += kChunk) {
      const Index size = std::min(kChunk, end - first);
      bool concave = false;  // whether some γ < 0
      for (Index at = first; at < first + size; ++at) concave |= choice.gamma[static_cast<std::size_t>(at)] < 0;
      z.setZero(size, width);
      u[0].setZero(terms.empty() ? 0 : size, width);
      u[1].setZero(exact && concave && !terms.empty() ? size : 0, width);
      f.resize(factors ? factor_rows(piece, first, size) : 0, n);
      Index f_row = 0;
      for (Index i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(first + i);
        const Index id = piece.ids[static_cast<std::size_t>(first + i - piece.first)];
        const double weight = share * choice.weight[at];
        poll();
        outer_rows(piece.data, id, choice, at, weight, z.row(i).data(), terms.empty() ? nullptr : u[0].row(i).data());
        if (u[1].rows() > 0 && choice.gamma[at] < 0) u[1].row(i).swap(u[0].row(i));
        if (factors) f_row += copy_factors(piece.data, id, weight, f.data() + f_row * n);
      }
      add(z, width, 1.0);
      if (f.rows() > 0) add(f, n, 1.0);
      // Left out of an estimate: Σ and γuuᵀ would no longer be of the same samples, and H not positive.
      if (exact && u[0].rows() > 0) add(u[0], width, -1.0);
      if (u[1].rows() > 0) add(u[1], width, 1.0);
    }
  });
  return h;
}

// Without the part of Σw, which is small against that of x. Of sparse rows every one is read, for some have columns
// that few others have.
Vector Hessian::diagonal(Index rows, std::uint64_t seed) const {
  const Source& source = objective_.source();
  const auto& terms = source.like().covariance();
  const Vector& origin = objective_.origin();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.samples());
  const bool sparse = source.like().means().sparse();
  const Choice choice = choose(sparse ? active() : rows, seed);
  Vector result = Vector::Zero(n + 1), row(n), linear = Vector::Zero(sparse ? n : 0), squares = Vector::Zero(n);
  constexpr Index kChunk = 64;
  Matrix f;
  for_chosen(choice, kChunk, [&](const Piece& piece) {
    const Rows& means = piece.data.means();
    for (std::size_t i = 0; i < piece.ids.size(); ++i) {
      const Index id = piece.ids[i];
      const double weight = share * choice.weight[i + static_cast<std::size_t>(piece.first)], one = 1;
      result(n) += weight;
      if (sparse) {
        for (Index k = means.start()[id]; k < means.start()[id + 1]; ++k) {
          const double x = means.number(k);
          result(means.column()[k]) += weight * x * x;
          linear(means.column()[k]) += weight * x;
        }
      } else {
        row.setZero();
        means.add(Batch{&id, 1}, &one, row.data());
        if (origin.size()) row -= origin;
        result.head(n).array() += weight * row.array().square();
      }
      f.resize(factor_rows(piece, piece.first + static_cast<Index>(i), 1), n);
      if (f.rows() == 0) continue;
      copy_factors(piece.data, id, weight, f.data());
      squares += f.cwiseAbs2().colwise().sum().transpose();  // the diagonal of κΣ where Σ is known by factors
    }
  });
  if (sparse && origin.size())
    result.head(n).array() += origin.array() * (result(n) * origin.array() - 2 * linear.array());
  result.head(n) += squares;
  for (std::size_t t = 0; t < sums_.size(); ++t)
    terms[t].kind.expand_diagonal(sums_[t].data(), n, share * terms[t].scale, result.data());
  for (Index k = 0; k < n; ++k) result(k) = objective_.lambda() + std::max(0.0, result(k));
  return result;
}

Hessian::Sketch Hessian::sketch(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.source().like().covariance();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.samples());
  Sketch result;
  result.diagonal = Vector::Zero(n + 1);
  result.diagonal.head(n).setConstant(objective_.lambda());
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms[t].kind.expand_diagonal(sums_[t].data(), n, share * terms[t].scale, result.diagonal.data());

  const Choice choice = choose(rows, seed);
  constexpr Index kChunk = 64;
  Vector u(n + 1);
  Matrix f;
  Index next = 0;
  result.rows.setZero(static_cast<Index>(choice.position.size()), n + 1);
  for_chosen(choice, kChunk, [&](const Piece& piece) {
    const Index more = factor_rows(piece, piece.first, static_cast<Index>(piece.ids.size()));
    if (more > 0) {
      const Index had = result.rows.rows();
      Matrix longer = Matrix::Zero(had + more, n + 1);
      longer.topRows(had) = result.rows;
      result.rows = std::move(longer);
    }
    for (std::size_t i = 0; i < piece.ids.size(); ++i) {
      const std::size_t at = i + static_cast<std::size_t>(piece.first);
      const double weight = share * choice.weight[at];
      poll();
      u.setZero();
      outer_rows(piece.data, piece.ids[i], choice, at, weight, result.rows.row(next++).data(), u.data());
      f.resize(factor_rows(piece, static_cast<Index>(at), 1), n);
      if (f.rows() == 0) continue;
      copy_factors(piece.data, piece.ids[i], weight, f.data());
      result.rows.block(next, 0, f.rows(), n) = f;
      next += f.rows();
    }
  });
  return result;
}

}  // namespace svmgsu
