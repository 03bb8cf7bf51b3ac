// Products of the Hessian, the dense Hessian, and estimates of it from some of the samples.
#include "engines/hessian.hpp"

#include <limits>

#include "engines/requests.hpp"
#include "kernels/kernels.hpp"
#include "support/poll.hpp"
#include "support/random.hpp"

namespace svmgsu {

Hessian::Hessian(const Engine& objective, const Evaluated& at)
    : objective_(objective), cache_(at.cache), w_(at.w), b_(at.b), epsilon_(at.epsilon) {
  objective.require_known(at, "at");
  sums_ = cache_->sums;
}

void Hessian::fill(const Evaluated& at) {
  if (cache_->curvature.empty())
    objective_.fill_curvature(at, known(), kappa_);
  else
    kappa_ = cache_->curvature;
  for (std::size_t i = 0; i < kappa_.size(); ++i) kappa_[i] *= objective_.targets().weight(static_cast<Index>(i));
}

Hessian::Hessian(const Engine& objective, const Evaluated& at, double negligible) : Hessian(objective, at) {
  require(negligible >= 0 && negligible <= 1, "negligible: must be in [0, 1], got " + to_text(negligible));
  histogram_ = &objective.kappa_histogram(at);
  const int least = histogram_->above(negligible);
  if (objective.source().remote()) {
    cut_ = Histogram::edge(least);
    active_ = histogram_->from(least);
  } else {
    fill(at);
    leave_out(Histogram::edge(least));
  }
}

Hessian::Hessian(const Engine& objective, const Evaluated& at, double cut, Index block) : Hessian(objective, at) {
  block_ = block;
  fill(at);
  sums_.clear();
  for (const auto& term : objective.source().like().covariance())
    sums_.emplace_back(static_cast<std::size_t>(term.kind.sum_size()), 0.0);
  leave_out(cut);
}

void Hessian::leave_out(double cut) {
  cut_ = cut;
  std::size_t count = 0;
  for (const double k : kappa_) count += k >= cut;
  active_ = static_cast<Index>(count);
  if (count == kappa_.size()) return;
  positions_.reserve(count);
  std::size_t next = 0;
  for (std::size_t i = 0; i < kappa_.size(); ++i) {
    if (!(kappa_[i] >= cut)) continue;
    positions_.push_back(static_cast<Index>(i));
    kappa_[next++] = kappa_[i];
  }
  kappa_.resize(next);
}

Hessian::Numbers Hessian::numbers_of(const std::vector<Index>& positions) const {
  const Targets& targets = objective_.targets();
  const PointCache& known = this->known();
  Numbers numbers;
  for (auto* list : {&numbers.sign, &numbers.rho, &numbers.gamma}) list->resize(positions.size());
  Residuals r;
  Bends bends;
  for (std::size_t first = 0; first < positions.size(); first += kMaxBatch) {
    const int count = static_cast<int>(std::min<std::size_t>(kMaxBatch, positions.size() - first));
    const Targets::View of(targets, &positions[first], count);
    double mean[kMaxBatch], variance[kMaxBatch];
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(positions[first + static_cast<std::size_t>(i)]);
      mean[i] = known.mean[k];
      variance[i] = known.variance[k];
    }
    r.set(count, of, mean, variance, b_, epsilon_);
    bends.set(objective_.loss(), count, r.d, r.s);
    std::copy_n(of.sign, count, &numbers.sign[first]);
    std::copy_n(bends.rho, count, &numbers.rho[first]);
    std::copy_n(bends.gamma, count, &numbers.gamma[first]);
  }
  return numbers;
}

// What products want to know beyond an estimate of the matrix: numbers of every active sample, and its rows at hand
// if there is room for them.
void Hessian::prepare_products() {
  if (prepared_) return;
  prepared_ = true;
  const Source& source = objective_.source();
  if (positions_.empty())
    for (std::size_t i = 0; i < kappa_.size(); ++i) positions_.push_back(static_cast<Index>(i));
  if (!source.remote()) numbers_ = numbers_of(positions_);
  at_hand_ = source.whole();
  if (at_hand_) {
    for (const Index i : positions_) ids_.push_back(at_hand_->ids()[static_cast<std::size_t>(i)]);
  } else if (!source.remote() && !positions_.empty() && active() <= source.room()) {
    rows_ = source.take(positions_);
    at_hand_ = rows_->whole();
    ids_ = at_hand_->ids();
  }
  make_terms(at_hand_ ? *at_hand_ : source.like(), ids_);
  const Index n = objective_.features();
  auto sums = static_cast<double>(n);
  for (const auto& term : terms_) sums += static_cast<double>(term.sum_size());
  if (block_ == 0) block_ = block_size(source.like(), source.numbers(), active(), sums);
  cuts_ = Cuts(objective_.cuts(), positions_, block_);
}

void Hessian::make_terms(const Gaussians& data, const std::vector<Index>& ids) {
  const auto& terms = data.covariance();
  terms_.clear();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    Plan plan;
    terms[t].kind.prepare(w_.data(), w_.data(), w_.size(), plan);
    if (!plan.of_sample.empty()) {  // as a pass at w would have left it
      const auto count = static_cast<Index>(ids.size());
      const double numbers = data.numbers_per_sample() * static_cast<double>(count);
      parallel_for((count + kMaxBatch - 1) / kMaxBatch, team_for(numbers, objective_.threads()), [&](Index number) {
        const Index first = number * kMaxBatch;
        double unused[kMaxBatch] = {};
        terms[t].kind.bilinear(batch_at(ids, first, std::min(count, first + kMaxBatch)), plan, 1.0, unused);
      });
    }
    terms_.emplace_back(terms[t].kind, w_, plan, sums_[t], ids, objective_.threads());
  }
}

void Hessian::walk(const Source::Use& use) const {
  if (at_hand_) return use({*at_hand_, ids_, 0});
  const Source& source = objective_.source();
  if (positions_.empty()) return use({source.like(), ids_, 0});
  source.some(positions_, cuts_, use);
}

// The forms of a product with v: v·x_i and wᵀΣ_iv.
class Hessian::Forms {
 public:
  Forms(Hessian& of, const Gaussians& data, const Vector& v) : of_(of), data_(data), v_(v) {
    for (Curvature& term : of.terms_) term.prepare(v.data());
  }
  const double* direction() const { return v_.data(); }
  std::size_t terms() const { return of_.terms_.size(); }
  Index sum_size(std::size_t t) const { return of_.terms_[t].sum_size(); }
  RowPair pair() const {
    if (!data_.paired()) return {};
    const Curvature& first = of_.terms_[0];
    return RowPair(data_.means(), *first.like_means(), v_.data(), first.weights());
  }
  void bilinear(std::size_t t, Batch part, double scale, double* out) const { of_.terms_[t].cross(part, scale, out); }
  void weigh(std::size_t t, Batch part, Index place, const double* tau, double* sum) const {
    of_.terms_[t].weigh(part, tau, &of_.kappa_[static_cast<std::size_t>(place)], sum);
  }

 private:
  Hessian& of_;
  const Gaussians& data_;
  const Vector& v_;
};

template <class Link>
void Hessian::sweep_active(const Vector& v, Link link, const Emit* emit, PassSums& total) {
  const Source& source = objective_.source();
  const Vector& origin = objective_.origin();
  const double shift = origin.size() ? origin.dot(v) : 0.0;
  sweep<Adds::together>(
      Visit{[&](const Source::Use& use) { walk(use); }, cuts_, source.numbers(), nullptr, objective_.threads(), emit},
      [&](const Piece& piece) {
        if (!at_hand_) make_terms(piece.data, piece.ids);
        return Forms(*this, piece.data, v);
      },
      [&](Places places, int count, const double* xv, const double* uv, double* coefficient, double* tau, char*,
          PassSums& local) {
        const auto first = static_cast<std::size_t>(places.first);
        for (int i = 0; i < count; ++i) {
          link(first + static_cast<std::size_t>(i), xv[i] - shift, uv[i], coefficient[i], tau[i]);
          local.of[0].mass += coefficient[i];
        }
      },
      &total);
}

void Hessian::sum_up(bool smoothing, const Vector& v, double vb, const Emit* emit, PassSums& total) {
  prepare_products();
  const Source& source = objective_.source();
  if (source.remote()) {
    total.reset(objective_.features(), Forms(*this, source.like(), v), 1);
    total.add(source.ask(objective_, ProductRequest{{w_, b_, epsilon_}, cut_, smoothing, block_, v, vb}).groups, 1);
    return;
  }
  const std::vector<double>&sign = numbers_.sign, &rho = numbers_.rho, &gamma = numbers_.gamma;
  if (!smoothing)
    return sweep_active(
        v,
        [&](std::size_t j, double xv, double uv, double& coefficient, double& tau) {
          const double alpha = sign[j] * (xv + vb) + rho[j] * uv;
          coefficient = kappa_[j] * alpha * sign[j];
          tau = kappa_[j] * (alpha * rho[j] - uv * gamma[j]);
        },
        emit, total);
  // Sample i adds ε[−σL‴(x; 1) + L⁗(u; 0)].
  sweep_active(
      v,
      [&](std::size_t j, double, double, double& coefficient, double& tau) {
        coefficient = kappa_[j] * epsilon_ * rho[j] * sign[j];
        tau = kappa_[j] * epsilon_ * (rho[j] * rho[j] - gamma[j]);
      },
      emit, total);
}

void Hessian::add_up(bool smoothing, const Vector& v, double vb, Vector& out, double& out_b) {
  PassSums total;
  sum_up(smoothing, v, vb, nullptr, total);
  const Source& source = objective_.source();
  const Vector& origin = objective_.origin();
  const auto& covariance = source.like().covariance();
  const double share = 1.0 / static_cast<double>(objective_.samples());
  out = share * total.of[0].x;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t].finish(total.of[0].terms[t].data(), share * covariance[t].scale, out.data());
  out_b = share * total.of[0].mass;
  if (origin.size()) out -= out_b * origin;
}

void Hessian::times(const Vector& v, double vb, Vector& out, double& out_b) {
  objective_.require_point(v, "v");
  add_up(false, v, vb, out, out_b);
  out += objective_.lambda() * v;
}

void Hessian::smoothing_derivative(Vector& out, double& out_b) {
  const Vector none = Vector::Zero(w_.size());
  add_up(true, none, 0, out, out_b);
}

namespace {

// τ with which Σ min(1, τκ) is about `rows`, over κ from `cut` on: to what their levels tell.
double odds_for(const Histogram& levels, double cut, double rows) {
  const int least = Histogram::of(cut);
  double tau = std::numeric_limits<double>::infinity(), certain = 0;
  for (int round = 0; round < 20; ++round) {
    double next_certain = 0, rest = 0;
    levels.each([&](int level, Index count) {
      const double kappa = Histogram::middle(level), many = static_cast<double>(count);
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
  const double tau = active() > rows ? odds_for(*histogram_, cut_, static_cast<double>(rows))
                                     : std::numeric_limits<double>::infinity();
  const Source& source = objective_.source();
  if (!source.remote()) return drawn(tau, seed, 0);
  const std::vector<double> list = source.ask(objective_, DrawRequest{{w_, b_, epsilon_}, cut_, tau, seed, 0}).numbers;
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

// Of `chunk` chosen samples at a time: their rows of RᵀR, which are z = σ(x; 1) + ρ(u; 0) and √|γ| (u; 0), and their
// factors, each times the root of its weight.
template <class Use>
void Hessian::for_outer_rows(const Choice& choice, Index chunk, Use use) const {
  const Vector& origin = objective_.origin();
  const Index n = objective_.features();
  const double share = 1.0 / static_cast<double>(objective_.samples());
  OuterRows rows;
  for_chosen(choice, chunk, [&](const Piece& piece) {
    const Gaussians& data = piece.data;
    const bool exact = data.covariance().empty();  // then u = 0
    const Index end = piece.first + static_cast<Index>(piece.ids.size());
    for (Index first = piece.first; first < end; first += chunk) {
      const Index size = std::min(chunk, end - first);
      rows.z.resize(size, n + 1);
      rows.u.resize(exact ? 0 : size, n + 1);
      rows.factors.resize(factor_rows(piece, first, size), n);
      Index next_factor = 0;
      for (Index i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(first + i);
        const Index id = piece.ids[static_cast<std::size_t>(first + i - piece.first)];
        const double weight = share * choice.weight[at], root = std::sqrt(weight), sign = root * choice.sign[at];
        double* const z = rows.z.row(i).data();
        poll();
        std::fill_n(z, n + 1, 0.0);
        data.means().add(Batch{&id, 1}, &sign, z);
        z[n] = sign;
        if (origin.size()) Eigen::Map<EigenVector>(z, n) -= sign * origin;
        if (exact) continue;
        double* const u = rows.u.row(i).data();
        std::fill_n(u, n + 1, 0.0);
        for (const auto& term : data.covariance()) term.kind.add_product(id, term.scale, w_.data(), n, u);
        const double along = root * choice.rho[at], rest = std::sqrt(weight * std::abs(choice.gamma[at]));
        for (Index k = 0; k < n; ++k) {
          z[k] += along * u[k];
          u[k] *= rest;
        }
        next_factor += copy_factors(data, id, weight, rows.factors.data() + next_factor * n);
      }
      use(static_cast<std::size_t>(first), rows);
    }
  });
}

Matrix Hessian::dense(Index rows, std::uint64_t seed) const {
  const auto& terms = objective_.source().like().covariance();
  const Index n = objective_.features(), width = n + 1;
  const double share = 1.0 / static_cast<double>(objective_.samples());
  Matrix h = Matrix::Zero(width, width);
  h.diagonal().head(n).setConstant(objective_.lambda());
  for (std::size_t t = 0; t < terms.size(); ++t)
    terms[t].kind.expand(sums_[t].data(), n, share * terms[t].scale, h.data(), width);

  const Choice choice = choose(rows, seed);
  const bool exact = static_cast<Index>(choice.position.size()) == active();
  constexpr Index kChunk = 512;
  const auto add = [&](const Matrix& a, double sign) {
    if (a.rows() > 0) kernels::add_gram(a.data(), a.rows(), a.cols(), sign, h.data(), width, objective_.threads());
  };
  Matrix concave;  // rows with γ < 0
  for_outer_rows(choice, kChunk, [&](std::size_t first, OuterRows& of) {
    add(of.z, 1.0);
    add(of.factors, 1.0);
    // Left out of an estimate: Σ and γuuᵀ would no longer be of the same samples, and H not positive.
    if (!exact) return;
    concave.resize(0, width);
    for (Index i = 0; i < of.u.rows(); ++i) {
      if (choice.gamma[first + static_cast<std::size_t>(i)] >= 0) continue;
      if (concave.rows() == 0) concave.setZero(of.u.rows(), width);
      concave.row(i).swap(of.u.row(i));
    }
    add(of.u, -1.0);
    add(concave, 1.0);
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
  Index next = 0;
  result.rows.setZero(static_cast<Index>(choice.position.size()), n + 1);
  for_outer_rows(choice, kChunk, [&](std::size_t, const OuterRows& of) {
    const Index more = of.factors.rows();
    if (more > 0) {
      Matrix longer = Matrix::Zero(result.rows.rows() + more, n + 1);
      longer.topRows(result.rows.rows()) = result.rows;
      result.rows = std::move(longer);
    }
    result.rows.middleRows(next, of.z.rows()) = of.z;
    next += of.z.rows();
    result.rows.block(next, 0, more, n) = of.factors;
    next += more;
  });
  return result;
}

}  // namespace svmgsu
