// The dense Hessian, and estimates of it from some of the examples.
#include <limits>

#include "engines/memory_hessian.hpp"
#include "svmgsu/kernels/kernels.hpp"
#include "svmgsu/support/poll.hpp"
#include "svmgsu/support/random.hpp"

namespace svmgsu {

// About `rows` of the active examples, each with probability min(1, τκ) and then weight 1/probability.
MemoryHessian::Choice MemoryHessian::choose(Index rows, std::uint64_t seed) const {
  Choice choice;
  const Index count = active();
  double tau = std::numeric_limits<double>::infinity();
  if (count > rows) {
    double certain = 0, rest = 0;
    for (const double k : kappa_) rest += k;
    tau = static_cast<double>(rows) / rest;
    for (int round = 0; round < 20; ++round) {
      certain = rest = 0;
      for (const double k : kappa_) (tau * k >= 1 ? certain : rest) += tau * k >= 1 ? 1 : k;
      if (!(rest > 0)) break;
      const double next = std::max(0.0, static_cast<double>(rows) - certain) / rest;
      if (std::abs(next - tau) <= 1e-3 * tau) break;
      tau = next;
    }
  }
  SplitMix64 random(seed);
  for (std::size_t i = 0; i < kappa_.size(); ++i) {
    const double odds = count > rows ? std::min(1.0, tau * kappa_[i]) : 1.0;
    const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
    if (draw >= odds) continue;
    choice.place.push_back(i);
    choice.factor.push_back(1 / odds);
  }
  return choice;
}

void MemoryHessian::outer_rows(std::size_t j, double weight, double* z, double* u) const {
  const Gaussians& data = objective_.data();
  const Index n = data.features();
  const double root = std::sqrt(weight), sign = root * sign_[j];
  for (const auto& term : data.covariance()) term.kind->add_product(ids_[j], term.scale, w_.data(), n, u);
  data.means().add(Batch{&ids_[j], 1}, &sign, z);
  z[n] = sign;
  if (objective_.origin().size()) Eigen::Map<EigenVector>(z, n) -= sign * objective_.origin();
  const double along = root * rho_[j], rest = std::sqrt(weight * std::abs(gamma_[j]));
  for (Index k = 0; k < n; ++k) {
    z[k] += along * u[k];
    u[k] *= rest;
  }
}

Index MemoryHessian::factor_rows(const Choice& choice, std::size_t first, std::size_t count) const {
  Index sum = 0;
  for (std::size_t at = first; at < first + count; ++at)
    for (const auto& term : objective_.data().covariance())
      sum += std::max<Index>(0, term.kind->rank(ids_[choice.place[at]]));
  return sum;
}

Matrix MemoryHessian::dense(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features(), width = n + 1;
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Matrix h = Matrix::Zero(width, width);
  h.diagonal().head(n).setConstant(objective_.lambda());
  bool factors = false;  // some term is known by factors only
  for (std::size_t t = 0; t < terms.size(); ++t)
    factors |= !terms[t].kind->expand(sums_[t].data(), n, share * terms[t].scale, h.data(), width);

  const Choice choice = choose(rows, seed);
  const bool exact = static_cast<Index>(choice.place.size()) == active();
  constexpr std::size_t kChunk = 512;
  Matrix z, u[2], f;
  const auto add = [&](const Matrix& a, Index columns, double sign) {
    kernels::add_gram(a.data(), a.rows(), columns, sign, h.data(), width, objective_.threads());
  };
  for (std::size_t first = 0; first < choice.place.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, choice.place.size() - first);
    const auto size = static_cast<Index>(count);
    bool concave = false;  // whether some γ < 0
    for (std::size_t at = first; at < first + count; ++at) concave |= gamma_[choice.place[at]] < 0;
    z.setZero(size, width);
    u[0].setZero(size, width);
    u[1].setZero(exact && concave ? size : 0, width);
    f.resize(factors ? factor_rows(choice, first, count) : 0, n);
    double* f_row = f.data();
    for (Index i = 0; i < size; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i), j = choice.place[at];
      const double weight = share * kappa_[j] * choice.factor[at];
      poll();
      outer_rows(j, weight, z.row(i).data(), u[0].row(i).data());
      if (u[1].rows() > 0 && gamma_[j] < 0) u[1].row(i).swap(u[0].row(i));
      for (const auto& term : terms) {
        const Index rank = term.kind->rank(ids_[j]);
        if (!factors || rank <= 0) continue;
        term.kind->factors(ids_[j], weight * term.scale, f_row);
        f_row += rank * n;
      }
    }
    add(z, width, 1.0);
    if (f.rows() > 0) add(f, n, 1.0);
    // Left out of an estimate: Σ and γuuᵀ would no longer be of the same examples, and H not positive.
    if (exact) add(u[0], width, -1.0);
    if (u[1].rows() > 0) add(u[1], width, 1.0);
  }
  return h;
}

// Without the part of Σw, which is small against that of x. Of sparse rows every one is read, for some have columns
// that few others have.
Vector MemoryHessian::diagonal(Index rows, std::uint64_t seed) const {
  const Gaussians& data = objective_.data();
  const RowsView view = data.means().rows();
  const Vector& origin = objective_.origin();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.examples());
  const bool sparse = view.column != nullptr;
  const Choice choice = choose(sparse ? active() : rows, seed);
  Vector result = Vector::Zero(n + 1), row(n), linear = Vector::Zero(sparse ? n : 0);
  for (std::size_t at = 0; at < choice.place.size(); ++at) {
    const std::size_t j = choice.place[at];
    const double weight = share * kappa_[j] * choice.factor[at], one = 1;
    result(n) += weight;
    if (sparse) {
      for (Index k = view.start[ids_[j]]; k < view.start[ids_[j] + 1]; ++k) {
        const double x = view.wide ? view.wide[k] : static_cast<double>(view.narrow[k]);
        result(view.column[k]) += weight * x * x;
        linear(view.column[k]) += weight * x;
      }
    } else {
      row.setZero();
      data.means().add(Batch{&ids_[j], 1}, &one, row.data());
      if (origin.size()) row -= origin;
      result.head(n).array() += weight * row.array().square();
    }
  }
  if (sparse && origin.size())
    result.head(n).array() += origin.array() * (result(n) * origin.array() - 2 * linear.array());
  add_factor_squares(choice, result);
  for (std::size_t t = 0; t < sums_.size(); ++t)
    data.covariance()[t].kind->expand_diagonal(sums_[t].data(), n, share * data.covariance()[t].scale, result.data());
  for (Index k = 0; k < n; ++k) result(k) = objective_.lambda() + std::max(0.0, result(k));
  return result;
}

// The diagonal of κΣ where Σ is known by factors.
void MemoryHessian::add_factor_squares(const Choice& choice, Vector& diagonal) const {
  const double share = 1.0 / static_cast<double>(objective_.examples());
  const Index n = objective_.features();
  Matrix f;
  for (std::size_t at = 0; at < choice.place.size(); ++at)
    for (const auto& term : objective_.data().covariance()) {
      const std::size_t j = choice.place[at];
      const Index rank = term.kind->rank(ids_[j]);
      if (rank <= 0) continue;
      f.resize(rank, n);
      term.kind->factors(ids_[j], share * kappa_[j] * choice.factor[at] * term.scale, f.data());
      diagonal.head(n) += f.cwiseAbs2().colwise().sum().transpose();
    }
}

Hessian::Sketch MemoryHessian::sketch(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Sketch result;
  result.diagonal = Vector::Zero(n + 1);
  result.diagonal.head(n).setConstant(objective_.lambda());
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms[t].kind->expand_diagonal(sums_[t].data(), n, share * terms[t].scale, result.diagonal.data());

  const Choice choice = choose(rows, seed);
  result.rows.setZero(static_cast<Index>(choice.place.size()) + factor_rows(choice, 0, choice.place.size()), n + 1);
  Vector u(n + 1);
  Matrix f;
  Index next = 0;
  for (std::size_t at = 0; at < choice.place.size(); ++at) {
    const std::size_t j = choice.place[at];
    const double weight = share * kappa_[j] * choice.factor[at];
    poll();
    u.setZero();
    outer_rows(j, weight, result.rows.row(next++).data(), u.data());
    for (const auto& term : terms) {
      const Index rank = term.kind->rank(ids_[j]);
      if (rank <= 0) continue;
      f.resize(rank, n);
      term.kind->factors(ids_[j], weight * term.scale, f.data());
      result.rows.block(next, 0, rank, n) = f;
      next += rank;
    }
  }
  return result;
}

}  // namespace svmgsu
