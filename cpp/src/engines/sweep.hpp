// The one loop over samples, behind gradients, Hessian products, stochastic steps and margins: each batch of samples
// is read as two numbers per sample, x·v and a bilinear form of Σ, which a link turns into coefficients with which the
// samples are then added up.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "data/row_pair.hpp"
#include "engines/source.hpp"
#include "support/parallel.hpp"
#include "svmgsu/data/training_set.hpp"

namespace svmgsu {

// What a pass adds up: nothing, all samples together, or those of each side (sign of σL′) for themselves.
enum class Adds { nothing, together, by_side };

// Sums over samples: of their coefficients, of their means and of each covariance term in its own form.
struct Sums {
  double mass = 0;
  Vector x;
  std::vector<std::vector<double>> terms;
  std::vector<double> sparse_pair;  // x and the first term side by side, in place of both

  template <class Forms>
  void reset(Index features, const Forms& forms, bool side_by_side = false) {
    mass = 0;
    sparse_pair.assign(side_by_side ? 2 * static_cast<std::size_t>(features) : 0, 0.0);
    x.setZero(side_by_side ? 0 : features);
    terms.resize(forms.terms());
    for (std::size_t t = side_by_side; t < terms.size(); ++t)
      terms[t].assign(static_cast<std::size_t>(forms.sum_size(t)), 0.0);
  }
  template <class Archive>
  void fields(Archive& archive) {
    archive(mass, x, terms);
  }
  bool like(const Sums& other) const {
    bool same = x.size() == other.x.size() && terms.size() == other.terms.size();
    for (std::size_t t = 0; same && t < terms.size(); ++t) same = terms[t].size() == other.terms[t].size();
    return same;
  }
  void add(const Sums& other) {
    mass += other.mass;
    if (other.sparse_pair.empty()) x += other.x;
    add_apart(other.sparse_pair, x.data(), terms.empty() ? nullptr : terms[0].data());
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t j = 0; j < other.terms[t].size(); ++j) terms[t][j] += other.terms[t][j];
  }
};

// The samples of a batch: their places in the order of the data. They follow one another unless a block has sorted
// its own by side.
struct Places {
  Index first;
  const Index* sorted;  // or null

  Index operator[](int i) const { return sorted ? sorted[i] : first + i; }
};

// A block's samples with those that are likely to be on one side first: a small batch of both sides would be added up
// in pieces of one or two. A sum must not depend on that order, so their losses wait here.
struct Sorted {
  std::vector<Index> position, id;
  std::vector<double> losses;  // c L, in the order of the data

  void set(const Piece& piece, const Targets& targets, Index start, Index size) {
    position.resize(static_cast<std::size_t>(size));
    id.resize(position.size());
    losses.assign(position.size(), 0.0);
    std::iota(position.begin(), position.end(), start);
    std::stable_partition(position.begin(), position.end(), [&](Index i) { return targets.sign(i) < 0; });
    for (std::size_t i = 0; i < id.size(); ++i) id[i] = piece.ids[static_cast<std::size_t>(position[i] - piece.first)];
  }
};

// What one block has summed, and then the whole pass.
struct PassSums {
  double loss = 0, smooth_loss = 0, curvature = 0, spread = 0;  // Σ c L, smoothed and not, Σ c L″ and Σ c s
  double terms = 0, slope_squares = 0;                          // sizes of terms, for bounds of rounding errors
  double dual[2] = {0, 0};
  Sums of[2];       // of the sides a ≤ 0 and a ≥ 0; all in of[0] where they are not kept apart
  Index start = 0;  // where the block begins
  Sorted sorted;
  Vector squares;  // Σ c x∘x where a pass looks at the columns; of no length: not

  template <class Forms>
  void reset(Index features, const Forms& forms, int sides, bool side_by_side = false) {
    loss = smooth_loss = curvature = spread = terms = slope_squares = dual[0] = dual[1] = 0;
    for (int side = 0; side < sides; ++side) of[side].reset(features, forms, side_by_side);
    squares.setZero();
  }
  void add(const PassSums& other, int sides) {
    loss += other.loss;
    smooth_loss += other.smooth_loss;
    curvature += other.curvature;
    spread += other.spread;
    terms += other.terms;
    slope_squares += other.slope_squares;
    if (squares.size() < other.squares.size()) squares.setZero(other.squares.size());
    if (other.squares.size() > 0) squares += other.squares;
    for (int side = 0; side < sides; ++side) {
      dual[side] += other.dual[side];
      of[side].add(other.of[side]);
    }
  }
  // Adds groups that came as messages.
  void add(const std::vector<PassSums>& groups, int sides) {
    for (const PassSums& group : groups) {
      bool same = group.squares.size() == 0 || group.squares.size() == of[0].x.size();
      for (int side = 0; side < sides; ++side) same = same && of[side].like(group.of[side]);
      require(same, "message: sums of other features or kinds of covariance");
      add(group, sides);
    }
  }
  template <class Archive>
  void fields(Archive& archive) {
    archive(loss, smooth_loss, curvature, spread, terms, slope_squares, dual[0], dual[1], of[0], of[1], squares);
  }
};

// The forms of a pass at a point w: w·x_i and wᵀΣ_iw. (Those of a Hessian product are in hessian.cpp.)
class PointForms {
 public:
  // `kept`, if given, holds the plans from one point to the next: those of low rank are as many as the samples.
  PointForms(const Gaussians& data, const Vector& w, std::vector<Plan>* kept = nullptr)
      : data_(data), w_(w), kept_(kept) {
    plans().resize(terms());
    for (std::size_t t = 0; t < terms(); ++t)
      data.covariance()[t].kind.prepare(w.data(), w.data(), data.features(), plans()[t]);
  }
  const double* direction() const { return w_.data(); }
  std::size_t terms() const { return data_.covariance().size(); }
  Index sum_size(std::size_t t) const { return data_.covariance()[t].kind.sum_size(); }
  RowPair pair() const {
    if (!data_.paired()) return {};
    return RowPair(data_.means(), *data_.covariance()[0].kind.like_means(), w_.data(), plans()[0].of_w.data());
  }
  void bilinear(std::size_t t, Batch part, double scale, double* out) const {
    data_.covariance()[t].kind.bilinear(part, plans()[t], scale, out);
  }
  void weigh(std::size_t t, Batch part, Index, const double* weight, double* sum) const {
    data_.covariance()[t].kind.weigh(part, plans()[t], weight, sum);
  }

 private:
  std::vector<Plan>& plans() const { return kept_ ? *kept_ : own_; }

  const Gaussians& data_;
  const Vector& w_;
  std::vector<Plan>* kept_;
  mutable std::vector<Plan> own_;  // each sample writes its own numbers
};

// Reads batches and adds them up.
template <class Forms>
class BatchReader {
 public:
  BatchReader(const Gaussians& data, const Forms& forms) : data_(data), forms_(forms), pair_(forms.pair()) {}
  bool side_by_side() const { return pair_.sparse(); }

  void read(Batch part, double* dot, double* form) const {
    const auto& terms = data_.covariance();
    if (pair_.exists()) {
      pair_.dots(part, dot, form);
      for (int i = 0; i < part.count; ++i) form[i] *= terms[0].scale;
    } else {
      data_.means().dots(part, forms_.direction(), dot);
      std::fill_n(form, part.count, 0.0);
    }
    for (std::size_t t = pair_.exists(); t < terms.size(); ++t) forms_.bilinear(t, part, terms[t].scale, form);
  }

  void add(Batch part, Index place, const double* coefficient, const double* weight, Sums& sums) const {
    if (pair_.sparse()) {
      pair_.add(part, coefficient, weight, sums.sparse_pair.data());
    } else {
      data_.means().add(part, coefficient, sums.x.data());
    }
    for (std::size_t t = pair_.sparse(); t < sums.terms.size(); ++t)
      forms_.weigh(t, part, place, weight, sums.terms[t].data());
  }

  void add_by_side(Batch part, const char* side, const double* coefficient, const double* weight, Sums* sums) const {
    constexpr int kNext = 4;  // rows that come after these and may be fetched
    Index id[2][kMaxBatch + 1 + kNext];
    double x[2][kMaxBatch + 1], curvature[2][kMaxBatch + 1];
    int size[2] = {0, 0};
    for (int i = 0; i < part.count; ++i) {  // without a branch, which could not be foreseen: one write is void
      for (int k : {0, 1}) {
        id[k][size[k]] = part.id[i];
        x[k][size[k]] = coefficient[i];
        curvature[k][size[k]] = weight[i];
      }
      size[0] += !side[i];
      size[1] += side[i];
    }
    const int ahead = std::min(part.ahead, kNext);
    for (int k : {0, 1}) {
      std::copy_n(part.id + part.count, ahead, id[k] + size[k]);
      if (size[k] > 0) add(Batch{id[k], size[k], ahead}, 0, x[k], curvature[k], sums[k]);
    }
  }

 private:
  const Gaussians& data_;
  const Forms& forms_;
  RowPair pair_;
};

// Takes the sums of a group.
using Emit = std::function<void(const PassSums&)>;

// Which samples a pass visits: those of the pieces that `walk(use)` goes over, cut into blocks. `targets` (may be
// null) tell by their signs which side a sample is likely to be on.
template <class Walk>
struct Visit {
  Walk walk;
  const Cuts& cuts;
  double numbers;  // that it reads of a sample
  const Targets* targets;
  int threads;
  const Emit* emit;  // takes the groups' sums where they are to be summed elsewhere; null: here
};
template <class Walk>
Visit(Walk, const Cuts&, double, const Targets*, int, const Emit*) -> Visit<Walk>;

// Sums up blocks, which come in their order, group by group.
template <class Forms>
class Merger {
 public:
  Merger(const Cuts& cuts, Index features, const Forms& forms, int sides, PassSums& total, const Emit* emit)
      : cuts_(cuts), features_(features), sides_(sides), total_(total), emit_(emit) {
    total_.reset(features, forms, sides);
    if (!cuts.single) group_.reset(features, forms, sides);
  }
  void add(const PassSums& block, const Forms& forms) {
    if (cuts_.single) return total_.add(block, sides_);
    group_.add(block, sides_);
    if (!cuts_.closes(next_++)) return;
    if (emit_)
      (*emit_)(group_);
    else
      total_.add(group_, sides_);
    group_.reset(features_, forms, sides_);
  }

 private:
  const Cuts& cuts_;
  Index features_, next_ = 0;
  int sides_;
  PassSums group_, &total_;
  const Emit* emit_;
};

// link(places, count, dot, form, coefficient, weight, side, local) turns what was read of `count` samples into the
// coefficient of x, the weight of Σ and, where sides are kept apart, the side of each. `forms_of(piece)` are its forms.
template <Adds kAdds, class Walk, class MakeForms, class Link>
void sweep(const Visit<Walk>& visit, MakeForms forms_of, Link link, PassSums* total) {
  using Forms = decltype(forms_of(std::declval<const Piece&>()));
  constexpr int kSides = kAdds == Adds::by_side ? 2 : 1;
  const Cuts& cuts = visit.cuts;
  const int batch = batch_size(visit.numbers);
  const int threads = resolve_threads(team_for(static_cast<double>(cuts.count) * visit.numbers, visit.threads));
  const bool sorts = kAdds == Adds::by_side && batch < kManySamples && visit.targets;
  std::unique_ptr<Merger<Forms>> merger;

  visit.walk([&](const Piece& piece) {
    const Forms forms = forms_of(piece);
    const BatchReader<Forms> reader(piece.data, forms);
    const Index features = piece.data.features();
    const auto body = [&](Index k, PassSums& local) {
      double dot[kMaxBatch], form[kMaxBatch], coefficient[kMaxBatch], weight[kMaxBatch];
      char side[kMaxBatch];
      const Index start = cuts.first(k), size = cuts.end(k) - start, at = start - piece.first;
      if (kAdds != Adds::nothing) local.reset(features, forms, kSides, reader.side_by_side());
      local.start = start;
      if (piece.prepare) (*piece.prepare)(at, size);
      if (sorts) local.sorted.set(piece, *visit.targets, start, size);
      for (Index first = 0; first < size; first += batch) {
        const Index last = std::min(size, first + batch);
        const Batch part = sorts ? batch_at(local.sorted.id, first, last) : batch_at(piece.ids, at + first, at + last);
        const Places places{start + first, sorts ? local.sorted.position.data() + first : nullptr};
        reader.read(part, dot, form);
        link(places, part.count, dot, form, coefficient, weight, side, local);
        if (kAdds == Adds::together) reader.add(part, places.first, coefficient, weight, local.of[0]);
        if (kAdds == Adds::by_side) reader.add_by_side(part, side, coefficient, weight, local.of);
      }
      if (sorts)
        for (const double loss : local.sorted.losses) local.smooth_loss += loss;
    };
    if (kAdds != Adds::nothing && cuts.blocks == 1 && !reader.side_by_side()) return body(0, *total);
    if (kAdds != Adds::nothing && !merger)
      merger = std::make_unique<Merger<Forms>>(cuts, features, forms, kSides, *total, visit.emit);
    const Index first = cuts.block_at(piece.first);
    Index end = first;
    while (end < cuts.blocks && cuts.first(end) < piece.first + static_cast<Index>(piece.ids.size())) ++end;
    ordered_blocks<PassSums>(
        end - first, threads, [&](Index k, PassSums& local) { body(first + k, local); },
        [&](const PassSums& local) {
          if (kAdds != Adds::nothing) merger->add(local, forms);
        });
  });
  if (visit.emit && (cuts.single || !merger)) (*visit.emit)(*total);
}

// Sums of a few numbers over samples of which w·x and wᵀΣw are known, group by group as passes have them.
// One after another, `kCount` of each group. add(first, count, sums) adds up to kMaxBatch samples.
template <std::size_t kCount, class Add>
std::vector<double> group_sums(const Cuts& cuts, int threads, Add add) {
  const Index groups = (cuts.blocks + cuts.per_group - 1) / cuts.per_group;
  std::vector<double> result(kCount * static_cast<std::size_t>(groups), 0.0);
  const int team = team_for(32.0 * static_cast<double>(cuts.count), threads);
  parallel_for(groups, team, [&](Index g) {
    double* const group = &result[kCount * static_cast<std::size_t>(g)];
    const Index last = std::min(cuts.blocks, (g + 1) * cuts.per_group);
    for (Index k = g * cuts.per_group; k < last; ++k) {
      std::array<double, kCount> part{};
      const Index end = cuts.end(k);
      for (Index first = cuts.first(k); first < end; first += kMaxBatch)
        add(first, static_cast<int>(std::min<Index>(kMaxBatch, end - first)), part);
      for (std::size_t j = 0; j < kCount; ++j) group[j] += part[j];
    }
  });
  return result;
}

// Of all groups, in their order.
template <std::size_t kCount>
std::array<double, kCount> total_of(const std::vector<double>& groups) {
  std::array<double, kCount> total{};
  for (std::size_t at = 0; at + kCount <= groups.size(); at += kCount)
    for (std::size_t j = 0; j < kCount; ++j) total[j] += groups[at + j];
  return total;
}

}  // namespace svmgsu
