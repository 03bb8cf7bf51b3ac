// Hessian products, and dense estimates of the Hessian for preconditioning.
#include "svmgsu/engines/hessian.hpp"

#include <cmath>
#include <limits>

#include "data/rows.hpp"
#include "engines/passes.hpp"
#include "svmgsu/kernels/kernels.hpp"
#include "svmgsu/support/parallel.hpp"
#include "svmgsu/support/random.hpp"

namespace svmgsu {

Hessian::Hessian(const Objective& objective, const Evaluation& at, double negligible)
    : objective_(objective), w_(at.w), sums_(at.sums) {
  const Gaussians& data = objective.data();
  const double extra = objective.smoothing * objective.smoothing;
  double largest = 0;
  for (Index i = 0; i < data.examples(); ++i)
    largest = std::max(largest, data.weight(i) * at.kappa[static_cast<std::size_t>(i)]);
  for (Index i = 0; i < data.examples(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double kappa = data.weight(i) * at.kappa[k];
    if (kappa <= negligible * largest) continue;
    const double q = at.margins.variance[k] + extra;
    positions_.push_back(i);
    ids_.push_back(data.ids()[k]);
    label_.push_back(data.label(i));
    kappa_.push_back(kappa);
    rho_.push_back((1 - data.label(i) * (at.margins.mean[k] + at.b)) / q);
    inverse_q_.push_back(1 / q);
  }
  const auto& terms = data.covariance();
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms_.push_back(terms[t].kind->curvature(at.w, at.plans[t], at.sums[t], ids_, objective.threads()));
  xv_.resize(ids_.size());
  uv_.resize(ids_.size());
}

template <class Link>
void Hessian::sweep(const Vector& v, double vb, Link link, Vector& out, double& out_b) const {
  const Gaussians& data = objective_.data();
  const auto& terms = data.covariance();
  for (const auto& term : terms_) term->prepare(v.data());
  struct Local {
    double b = 0;
    Vector x;
    std::vector<std::vector<double>> terms;
    std::vector<double> sparse_pair;  // x and the first term side by side, in place of both
  };
  Local total;
  total.x = Vector::Zero(data.features());
  double sum_size = static_cast<double>(data.features());
  for (const auto& term : terms_) {
    total.terms.emplace_back(static_cast<std::size_t>(term->sum_size()), 0.0);
    sum_size += static_cast<double>(term->sum_size());
  }
  RowPair pair;  // of the means and the first term
  if (data.paired())
    pair = RowPair(data.means().rows(), terms_[0]->like_means(), data.features(), v.data(), terms_[0]->weights());
  const Index count = active();
  const Index block = objective_.block_size(count, sum_size);
  const Index blocks = (count + block - 1) / block;
  const double numbers = numbers_per_example(data);
  const int batch = batch_size(numbers);
  const int threads = static_cast<double>(count) * numbers < kSerialNumbers ? 1 : resolve_threads(objective_.threads());
  ordered_blocks<Local>(
      blocks, threads,
      [&](Index k, Local& local) {
        local.b = 0;
        local.x.setZero(pair.sparse() ? 0 : data.features());
        local.terms.resize(terms_.size());
        local.sparse_pair.assign(pair.sparse() ? 2 * static_cast<std::size_t>(data.features()) : 0, 0.0);
        for (std::size_t t = pair.sparse(); t < terms_.size(); ++t) local.terms[t].assign(total.terms[t].size(), 0.0);
        double coefficient[kMaxBatch], tau[kMaxBatch];
        const Index last = std::min(count, (k + 1) * block);
        for (Index first = k * block; first < last; first += batch) {
          const auto at = static_cast<std::size_t>(first);
          const Batch part = batch_at(ids_, first, std::min(last, first + batch));
          double* xv = &xv_[at];
          double* uv = &uv_[at];
          if (pair.exists()) {
            pair.dots(part, xv, uv);
            for (int i = 0; i < part.count; ++i) uv[i] *= terms[0].scale;
          } else {
            data.means().dots(part, v.data(), xv);
            std::fill_n(uv, part.count, 0.0);
          }
          for (std::size_t t = pair.exists(); t < terms_.size(); ++t) terms_[t]->cross(part, terms[t].scale, uv);
          for (int i = 0; i < part.count; ++i) {
            xv[i] += vb;
            link(at + static_cast<std::size_t>(i), xv[i], uv[i], coefficient[i], tau[i]);
            local.b += coefficient[i];
          }
          if (pair.sparse()) {
            pair.add(part, coefficient, tau, local.sparse_pair.data());
          } else {
            data.means().add(part, coefficient, local.x.data());
          }
          for (std::size_t t = pair.sparse(); t < terms_.size(); ++t)
            terms_[t]->weigh(part, tau, &kappa_[at], local.terms[t].data());
        }
      },
      [&](const Local& local) {
        total.b += local.b;
        if (pair.sparse())
          add_apart(local.sparse_pair, total.x.data(), total.terms[0].data());
        else
          total.x += local.x;
        for (std::size_t t = 0; t < total.terms.size(); ++t)
          for (std::size_t j = 0; j < local.terms[t].size(); ++j) total.terms[t][j] += local.terms[t][j];
      });
  const double share = 1.0 / static_cast<double>(data.examples());
  out = share * total.x;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t]->finish(total.terms[t].data(), share * terms[t].scale, out.data());
  out_b = share * total.b;
}

// Example i adds κ[α y x + (α r/s − uᵀv/q) u + Σv] with u = Σw and α = y(x·v + v_b) + (r/s) uᵀv.
void Hessian::times(const Vector& v, double vb, Vector& out, double& out_b) const {
  sweep(
      v, vb,
      [&](std::size_t j, double xv, double uv, double& coefficient, double& tau) {
        const double alpha = label_[j] * xv + rho_[j] * uv;
        coefficient = kappa_[j] * alpha * label_[j];
        tau = kappa_[j] * (alpha * rho_[j] - uv * inverse_q_[j]);
      },
      out, out_b);
  out += objective_.lambda() * v;
}

// Example i adds κ ε [(r/s) y x + ((r² − 1)/q) u].
void Hessian::smoothing_derivative(Vector& out, double& out_b) const {
  const double epsilon = objective_.smoothing;
  sweep(
      Vector::Zero(w_.size()), 0.0,
      [&](std::size_t j, double, double, double& coefficient, double& tau) {
        coefficient = kappa_[j] * epsilon * rho_[j] * label_[j];
        tau = kappa_[j] * epsilon * (rho_[j] * rho_[j] - inverse_q_[j]);
      },
      out, out_b);
}

namespace {

struct Choice {
  std::vector<std::size_t> place;
  std::vector<double> factor;
};

// About `rows` of the examples, each with probability min(1, τ κ) and then weight 1/probability.
Choice choose_rows(const std::vector<double>& kappa, Index rows, std::uint64_t seed) {
  Choice choice;
  const auto count = static_cast<Index>(kappa.size());
  double tau = std::numeric_limits<double>::infinity();
  if (count > rows) {
    double certain = 0, rest = 0;
    for (const double k : kappa) rest += k;
    tau = static_cast<double>(rows) / rest;
    for (int round = 0; round < 20; ++round) {
      certain = rest = 0;
      for (const double k : kappa) (tau * k >= 1 ? certain : rest) += tau * k >= 1 ? 1 : k;
      if (!(rest > 0)) break;
      const double next = std::max(0.0, static_cast<double>(rows) - certain) / rest;
      if (std::abs(next - tau) <= 1e-3 * tau) break;
      tau = next;
    }
  }
  SplitMix64 random(seed);
  for (std::size_t i = 0; i < kappa.size(); ++i) {
    const double odds = count > rows ? std::min(1.0, tau * kappa[i]) : 1.0;
    const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
    if (draw >= odds) continue;
    choice.place.push_back(i);
    choice.factor.push_back(1 / odds);
  }
  return choice;
}

}  // namespace

void Hessian::outer_rows(std::size_t j, double weight, double* z, double* u) const {
  const Gaussians& data = objective_.data();
  const Index n = data.features();
  const double root = std::sqrt(weight), y = root * label_[j];
  for (const auto& term : data.covariance()) term.kind->add_product(ids_[j], term.scale, w_.data(), n, u);
  data.means().add(Batch{&ids_[j], 1}, &y, z);
  z[n] = y;
  Eigen::Map<EigenVector> z_row(z, n), u_row(u, n);
  z_row += root * rho_[j] * u_row;
  u_row *= std::sqrt(weight * inverse_q_[j]);
}

Matrix Hessian::dense(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features(), width = n + 1;
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Matrix h = Matrix::Zero(width, width);
  h.diagonal().head(n).setConstant(objective_.lambda());
  bool factors = false;  // some term is known by factors only
  for (std::size_t t = 0; t < terms.size(); ++t)
    factors |= !terms[t].kind->expand(sums_[t].data(), n, share * terms[t].scale, h.data(), width);

  const Choice choice = choose_rows(kappa_, rows, seed);
  const bool exact = static_cast<Index>(choice.place.size()) == active();
  constexpr Index kChunk = 512;
  Matrix z, u, f;
  const auto factor_rows = [&](const Choice& chosen, std::size_t first, Index count) {
    Index sum = 0;
    for (std::size_t at = first; at < first + static_cast<std::size_t>(count); ++at)
      for (const auto& term : terms) sum += std::max<Index>(0, term.kind->rank(ids_[chosen.place[at]]));
    return sum;
  };
  for (std::size_t first = 0; first < choice.place.size(); first += kChunk) {
    const auto count = static_cast<Index>(std::min<std::size_t>(kChunk, choice.place.size() - first));
    z.setZero(count, width);
    u.setZero(count, width);
    f.resize(factors ? factor_rows(choice, first, count) : 0, n);
    double* f_row = f.data();
    for (Index i = 0; i < count; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i), j = choice.place[at];
      const double weight = share * kappa_[j] * choice.factor[at];
      outer_rows(j, weight, z.row(i).data(), u.row(i).data());
      for (const auto& term : terms) {
        const Index rank = term.kind->rank(ids_[j]);
        if (!factors || rank <= 0) continue;
        term.kind->factors(ids_[j], weight * term.scale, f_row);
        f_row += rank * n;
      }
    }
    kernels::add_gram(z.data(), count, width, 1.0, h.data(), width, objective_.threads());
    if (f.rows() > 0) kernels::add_gram(f.data(), f.rows(), n, 1.0, h.data(), width, objective_.threads());
    // Left out of an estimate: Σ and uuᵀ/q would no longer be of the same examples, and H not positive.
    if (exact) kernels::add_gram(u.data(), count, width, -1.0, h.data(), width, objective_.threads());
  }
  return h;
}

Hessian::Sketch Hessian::sketch(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.data().covariance();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.examples());
  Sketch result;
  result.diagonal = Vector::Zero(n + 1);
  result.diagonal.head(n).setConstant(objective_.lambda());
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms[t].kind->expand_diagonal(sums_[t].data(), n, share * terms[t].scale, result.diagonal.data());

  const Choice choice = choose_rows(kappa_, rows, seed);
  Index count = static_cast<Index>(choice.place.size());
  for (const std::size_t j : choice.place)
    for (const auto& term : terms) count += std::max<Index>(0, term.kind->rank(ids_[j]));
  result.rows.setZero(count, n + 1);
  Vector u(n + 1);
  MatrixOf<double> f;
  Index next = 0;
  for (std::size_t at = 0; at < choice.place.size(); ++at) {
    const std::size_t j = choice.place[at];
    const double weight = share * kappa_[j] * choice.factor[at];
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
