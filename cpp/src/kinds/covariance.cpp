// The layouts of covariances behind one type.
#include <cmath>

#include "kinds/diagonal.hpp"
#include "kinds/full.hpp"
#include "kinds/isotropic.hpp"
#include "kinds/low_rank.hpp"

namespace svmgsu {
namespace {

using Layout = Covariance::Layout;

// use(loops) with the loops of the layout, one matrix a sample.
template <class Use>
decltype(auto) of_matrices(const Covariance& kind, Use use) {
  switch (kind.layout()) {
    case Layout::isotropic:
      return use(IsotropicLoops{kind});
    case Layout::diagonal:
      return use(DiagonalLoops{kind});
    case Layout::full:
      return use(FullLoops{kind});
    case Layout::low_rank:
      break;
  }
  return use(LowRankLoops{kind});
}

// One matrix for many samples: vᵀΣw is found once for each, and the sum is Σ κ_i over the samples of each.
struct SharedLoops {
  const Covariance& of;
  Index group(Index sample) const { return of.groups() ? of.groups()[sample] : 0; }

  Index sum_size() const { return of.matrices(); }
  void prepare(const double* w, const double* v, Index n, Plan& plan) const {
    plan.of_w.clear();
    for (Index k = 0; k < of.matrices(); ++k) {
      Vector product = Vector::Zero(n);
      of_matrices(of, [&](auto loops) { loops.add_product(k, 1.0, w, n, product.data()); });
      plan.of_w.push_back(dot(product.data(), v, n));
    }
  }
  void bilinear(Batch batch, Plan& plan, double scale, double* out) const {
    for (int i = 0; i < batch.count; ++i) out[i] += scale * plan.of_w[static_cast<std::size_t>(group(batch.id[i]))];
  }
  void weigh(Batch batch, const Plan&, const double* kappa, double* sum) const {
    for (int i = 0; i < batch.count; ++i) sum[group(batch.id[i])] += kappa[i];
  }
  void finish(const double* sum, const double* w, Index n, double scale, double* out) const {
    of_matrices(of, [&](auto loops) {
      for (Index k = 0; k < of.matrices(); ++k) loops.add_product(k, scale * sum[k], w, n, out);
    });
  }
  bool expand(const double* sum, Index n, double scale, double* out, Index stride) const {
    of_matrices(of, [&](auto loops) {
      for (Index k = 0; k < of.matrices(); ++k) loops.add_full(k, scale * sum[k], n, out, stride);
    });
    return true;
  }
  void expand_diagonal(const double* sum, Index n, double scale, double* out) const {
    of_matrices(of, [&](auto loops) {
      for (Index k = 0; k < of.matrices(); ++k) loops.add_diagonal(k, scale * sum[k], n, out);
    });
  }
  void add_full(Index i, double scale, Index n, double* out, Index stride) const {
    of_matrices(of, [&](auto loops) { loops.add_full(group(i), scale, n, out, stride); });
  }
  void add_product(Index i, double factor, const double* w, Index n, double* out) const {
    of_matrices(of, [&](auto loops) { loops.add_product(group(i), factor, w, n, out); });
  }
};

template <class Use>
decltype(auto) of_samples(const Covariance& kind, Use use) {
  if (kind.is_shared()) return use(SharedLoops{kind});
  return of_matrices(kind, use);
}

}  // namespace

Covariance::Covariance(Layout layout, Rows rows, Index rank) : layout_(layout), rows_(std::move(rows)), rank_(rank) {
  rows_.require_array("covariance");
  const Index columns = rows_.columns();
  if (layout == Layout::isotropic) {
    require(columns == 1 && !rows_.sparse(), "covariance: one variance for each sample is wanted");
    return;
  }
  features_ = columns;
  require(layout == Layout::diagonal || !rows_.sparse(), "covariance: sparse rows are variances only");
  if (layout == Layout::full) {
    features_ = static_cast<Index>(std::floor(std::sqrt(2.0 * static_cast<double>(columns))));
    require(features_ * (features_ + 1) / 2 == columns,
            "covariance: a packed row must have n(n+1)/2 numbers, got " + std::to_string(columns));
  }
  if (layout == Layout::low_rank) {
    require(rank >= 0, "covariance: the rank must be >= 0");
    require(rank > 0 ? rows_.count() % rank == 0 : rows_.count() == 0, "covariance: " + std::to_string(rows_.count()) +
                                                                           " factors are not " + std::to_string(rank) +
                                                                           " for each sample");
    matrices_ = rank > 0 ? rows_.count() / rank : 0;
  }
}

Covariance::Covariance(Rows factors, const Index* start, Index samples)
    : layout_(Layout::low_rank),
      rows_(std::move(factors)),
      features_(rows_.columns()),
      matrices_(samples),
      start_(start) {
  require(start != nullptr, "covariance: start is a null pointer");
  require(samples >= 0 && start[0] >= 0, "covariance: sizes must be >= 0");
  for (Index i = 0; i < samples; ++i)
    if (start[i] > start[i + 1]) require(false, "covariance: start falls after sample " + std::to_string(i));
  require(start[samples] <= rows_.count(),
          "covariance: start leads beyond the last of " + std::to_string(rows_.count()) + " factors");
  rows_.require_array("covariance");
}

Covariance Covariance::shared(const std::int32_t* group, Index samples) const {
  require(matrices() > 0, "covariance: there is no matrix to share");
  require(group || matrices() == 1, "covariance: several matrices need a group for each sample");
  require(!group || samples >= 0, "covariance: sizes must be >= 0");
  Covariance result = *this;
  result.shared_ = true;
  result.group_ = group;
  result.samples_ = samples;
  return result;
}

double Covariance::mean_rank() const {
  return by_factors() && matrices_ > 0 ? static_cast<double>(begin(matrices_)) / static_cast<double>(matrices_) : 0.0;
}

double Covariance::numbers_per_sample() const {
  if (shared_) return 1;
  if (layout_ != Layout::low_rank) return rows_.numbers_per_row();
  return matrices_
             ? static_cast<double>(features_) * static_cast<double>(begin(matrices_)) / static_cast<double>(matrices_)
             : 0.0;
}

std::string Covariance::fault(const std::vector<Index>& ids, Index n, int threads) const {
  return of_matrices(*this, [&](auto loops) -> std::string {
    if (!shared_)
      return faults::first_fault(ids, threads, [&](Index i) { return loops.fault(i, faults::sample(i), n); });
    for (Index k = 0; k < matrices(); ++k)
      if (std::string fault = loops.fault(k, {"group", k}, n); !fault.empty()) return fault;
    if (!group_) return {};
    return faults::first_fault(ids, threads, [&](Index i) {
      if (group_[i] >= 0 && group_[i] < matrices()) return std::string();
      return faults::sample(i).text() + " has group " + std::to_string(group_[i]) + "; there are " +
             std::to_string(matrices());
    });
  });
}

void Covariance::add_full(Index sample, double scale, Matrix& out) const {
  of_samples(*this, [&](auto loops) { loops.add_full(sample, scale, out.rows(), out.data(), out.cols()); });
}

void Covariance::add_product(Index sample, double factor, const double* w, Index n, double* out) const {
  of_samples(*this, [&](auto loops) { loops.add_product(sample, factor, w, n, out); });
}

void Covariance::factors(Index sample, double scale, double* out) const {
  const double root = std::sqrt(scale);
  const Index first = begin(sample) * features_, size = rank(sample) * features_;
  for (Index k = 0; k < size; ++k) out[k] = root * rows_.number(first + k);
}

Index Covariance::sum_size() const {
  return of_samples(*this, [](auto loops) { return loops.sum_size(); });
}

void Covariance::prepare(const double* w, const double* v, Index n, Plan& plan) const {
  of_samples(*this, [&](auto loops) { loops.prepare(w, v, n, plan); });
}

void Covariance::bilinear(Batch batch, Plan& plan, double scale, double* out) const {
  of_samples(*this, [&](auto loops) { loops.bilinear(batch, plan, scale, out); });
}

void Covariance::weigh(Batch batch, const Plan& plan, const double* kappa, double* sum) const {
  of_samples(*this, [&](auto loops) { loops.weigh(batch, plan, kappa, sum); });
}

void Covariance::finish(const double* sum, const double* w, Index n, double scale, double* out) const {
  of_samples(*this, [&](auto loops) { loops.finish(sum, w, n, scale, out); });
}

bool Covariance::expand(const double* sum, Index n, double scale, double* out, Index stride) const {
  return of_samples(*this, [&](auto loops) { return loops.expand(sum, n, scale, out, stride); });
}

void Covariance::expand_diagonal(const double* sum, Index n, double scale, double* out) const {
  of_samples(*this, [&](auto loops) { loops.expand_diagonal(sum, n, scale, out); });
}

}  // namespace svmgsu
