// Hessian products.
#include "engines/hessian.hpp"

#include "engines/line.hpp"

namespace svmgsu {

Hessian::Hessian(const Objective& objective, const Evaluation& at)
    : objective_(objective), kept_(at.kept), w_(at.w), b_(at.b), epsilon_(at.epsilon), sums_(kept_->sums) {}

void Hessian::fill(const Evaluation& at) {
  if (kept_->curvature.empty())
    objective_.fill_curvature(at, known(), kappa_);
  else
    kappa_ = kept_->curvature;
  for (std::size_t i = 0; i < kappa_.size(); ++i) kappa_[i] *= objective_.targets().weight(static_cast<Index>(i));
}

Hessian::Hessian(const Objective& objective, const Evaluation& at, double negligible) : Hessian(objective, at) {
  levels_ = &objective.kappa_levels(at);
  far_ = objective.keeper();
  const int least = levels_->above(negligible);
  if (far_) {
    cut_ = Levels::edge(least);
    active_ = levels_->from(least);
  } else {
    fill(at);
    leave_out(Levels::edge(least));
  }
}

Hessian::Hessian(const Objective& objective, const Evaluation& at, double cut, Index block) : Hessian(objective, at) {
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
  const Kept& known = this->known();
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
  const Gaussians* data = source.whole();
  if (positions_.empty())
    for (std::size_t i = 0; i < kappa_.size(); ++i) positions_.push_back(static_cast<Index>(i));
  last_.resize(positions_.size());
  if (along_.empty()) along_.assign(positions_.size(), 0.0);
  if (!source.remote()) numbers_ = numbers_of(positions_);
  if (data && kept_->plans.size() == data->covariance().size()) {
    for (const Index i : positions_) ids_.push_back(data->ids()[static_cast<std::size_t>(i)]);
    const auto& terms = data->covariance();
    for (std::size_t t = 0; t < terms.size(); ++t)
      terms_.emplace_back(terms[t].kind, w_, kept_->plans[t], sums_[t], ids_, objective_.threads());
  } else if (data) {
    for (const Index i : positions_) ids_.push_back(data->ids()[static_cast<std::size_t>(i)]);
    make_terms(*data, ids_);
  } else if (!source.remote() && !positions_.empty() && source.has_room(active())) {
    rows_ = source.take(positions_);
    ids_ = rows_->whole()->ids();
    make_terms(*rows_->whole(), ids_);
  } else {
    make_terms(source.like(), {});
  }
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
    double unused[kMaxBatch];
    if (!plan.of_sample.empty())  // as a pass at w would have left it
      for (std::size_t first = 0; first < ids.size(); first += kMaxBatch)
        terms[t].kind.bilinear(
            Batch{&ids[first], static_cast<int>(std::min<std::size_t>(kMaxBatch, ids.size() - first))}, plan, 1.0,
            unused);
    terms_.emplace_back(terms[t].kind, w_, plan, sums_[t], ids, objective_.threads());
  }
}

void Hessian::walk(const Source::Use& use) const {
  const Source& source = objective_.source();
  if (source.whole()) return use({*source.whole(), ids_, 0});
  if (rows_) return use({*rows_->whole(), ids_, 0});
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
  const bool at_hand = source.whole() || rows_;
  sweep<Adds::together>(
      Visit{[&](const Source::Use& use) { walk(use); }, cuts_, source.numbers(), nullptr, objective_.threads(), emit},
      [&](const Piece& piece) {
        if (!at_hand) make_terms(piece.data, piece.ids);
        return Forms(*this, piece.data, v);
      },
      [&](Places places, int count, const double* xv, const double* uv, double* coefficient, double* tau, char*,
          PassSums& local) {
        const auto first = static_cast<std::size_t>(places.first);
        std::copy_n(uv, count, &last_[first]);
        for (int i = 0; i < count; ++i) {
          link(first + static_cast<std::size_t>(i), xv[i] - shift, uv[i], coefficient[i], tau[i]);
          local.of[0].mass += coefficient[i];
        }
      },
      &total);
}

void Hessian::sum_up(bool smoothing, const Vector& v, double vb, const Emit* emit, PassSums& total) {
  prepare_products();
  last_v_ = v;
  last_vb_ = vb;
  if (const Remote* const far = objective_.source().remote()) {
    total.reset(objective_.features(), Forms(*this, objective_.source().like(), v), 1);
    far->product(objective_, {w_, b_, epsilon_, cut_, smoothing, v, vb, block_}, total, last_);
    require(last_.size() == (far_ ? 0 : positions_.size()), "mapped: answers of other samples than take part");
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

void Hessian::require_direction(const Vector& v, const char* name) const {
  if (v.size() != w_.size())
    require(false, std::string(name) + ": " + std::to_string(v.size()) + " numbers for " + std::to_string(w_.size()) +
                       " features");
}

void Hessian::times(const Vector& v, double vb, Vector& out, double& out_b) {
  require_direction(v, "v");
  add_up(false, v, vb, out, out_b);
  out += objective_.lambda() * v;
}

void Hessian::smoothing_derivative(Vector& out, double& out_b) {
  const Vector none = Vector::Zero(w_.size());
  add_up(true, none, 0, out, out_b);
}

void Hessian::follow(double alpha) {
  if (far_) steps_.push_back({last_v_, last_vb_, alpha});
  for (std::size_t i = 0; i < last_.size(); ++i) along_[i] += alpha * last_[i];
}

// All from numbers that are known already, since only active samples have L″ > 0.
double Hessian::slope(const Evaluation& from, const Evaluation& there, const Vector& p, double p_b,
                      double epsilon) const {
  require_direction(p, "p");
  const Line line(objective_, Direction::followed, from, there, p, p_b, epsilon,
                  far_ ? std::vector<double>() : cross());
  if (!far_) return line.sum_up(line.sums(0, 0), 0).t;
  const std::vector<double> groups = far_->line(
      objective_, {Direction::followed, point_of(from), point_of(there), p, p_b, epsilon, 0, 0, cut_, block_, steps_});
  return line.sum_up(groups, 0).t;
}

std::vector<double> Hessian::cross(const std::vector<double>& along) const {
  std::vector<double> all(static_cast<std::size_t>(objective_.samples()), 0.0);
  for (std::size_t i = 0; i < along.size(); ++i) all[static_cast<std::size_t>(position(i))] = along[i];
  return all;
}

std::shared_ptr<Hessian> Objective::hessian(const Evaluation& at, double negligible) const {
  require_known(at, "at");
  require(negligible >= 0 && negligible <= 1, "negligible: must be in [0, 1], got " + to_text(negligible));
  return std::make_shared<Hessian>(*this, at, negligible);
}

}  // namespace svmgsu
