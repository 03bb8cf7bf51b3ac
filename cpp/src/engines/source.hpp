// Where the samples of an objective are: passes go over pieces of consecutive blocks, each of which lies in memory
// only while it is worked on. Samples in memory are one piece.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engines/passes.hpp"

namespace svmgsu {

// Samples `first`, `first` + 1, ... of those that a walk is about: rows ids[0], ids[1], ... of these arrays.
struct Piece {
  const Gaussians& data;
  const std::vector<Index>& ids;
  Index first;
  // To be called in any thread for `count` rows, from ids[at] on, just before they are worked on; or null.
  const std::function<void(Index at, Index count)>* prepare = nullptr;
};

struct Evaluation;
struct Kept;
struct PassSums;
class Objective;

// How the p of a line w + t p is known: not at all (p = 0), as w itself, as a step from one evaluated point to another,
// or as such a step with wᵀΣp of the samples beside it, which is enough for the first derivative at t = 0.
enum class Direction { none, own, step, followed };

// Whoever answers for passes over samples that are elsewhere.
class Remote {
 public:
  struct Point {
    const Vector& w;
    double b, epsilon;
  };
  // A product of the Hessian at (w, b) with v, or with smoothing's own vector, over samples with κ from `cut` on.
  struct Product {
    const Vector& w;
    double b, epsilon, cut;
    bool smoothing;
    const Vector& v;
    double vb;
    Index block;  // samples of a block, at the most
  };
  virtual ~Remote() = default;
  // Whether w·x and wᵀΣw of the samples stay there as well, so that all that comes here are sums and counts.
  virtual bool keeps() const = 0;
  // A pass. Where w·x and wᵀΣw stay there, `kept` learns how large κ and the variances are, and how J bends along w.
  virtual void gradient(const Objective& of, const Point& at, bool columns, PassSums& total, Kept& kept) const = 0;
  virtual void margins(const Objective& of, const Vector& w, double* mean, double* variance) const = 0;
  // `last` becomes wᵀΣv of the samples that take part, unless they stay there.
  virtual void product(const Objective& of, const Product& p, PassSums& total, std::vector<double>& last) const = 0;

  // Where they stay there: group sums of the six numbers of a point of a line (engines/line.hpp) ...
  struct Followed {
    Vector v;
    double vb, alpha;
  };
  struct LineQuestion {
    Direction direction;
    Point from, there;
    const Vector& p;
    double p_b, epsilon, t, beta;
    // Of a direction that was followed: the products of the Hessian whose sum it is.
    double cut = 0;
    Index block = 0;
    std::vector<Followed> steps = {};
  };
  virtual std::vector<double> line(const Objective& of, const LineQuestion& question) const = 0;
  // ... and samples drawn with odds min(1, τκ) of those with κ from `cut` on: position, weight, σ, ρ, γ of each.
  virtual std::vector<double> drawn(const Objective& of, const Point& at, double cut, double tau,
                                    std::uint64_t seed) const = 0;
};

class Source {
 public:
  using Use = std::function<void(const Piece&)>;

  virtual ~Source() = default;
  virtual Index samples() const = 0;
  // Samples that are like all others in their features and kinds of covariance; there may be but one of them.
  virtual const Gaussians& like() const = 0;
  // Numbers that a pass reads of a sample, and rows of its covariance's factors, on average.
  virtual double numbers() const = 0;
  virtual double rank() const = 0;
  // All of them, where they lie in memory as long as this does; or null.
  virtual const Gaussians* whole() const { return nullptr; }
  // Who has them, where they never come here as a whole; or null.
  virtual const Remote* remote() const { return nullptr; }
  // The same as seen from a point, where that is not for the pieces to do.
  virtual std::shared_ptr<const Source> moved(const Vector& /*at*/) const { return nullptr; }
  // Whether there is room for so many more of them in memory.
  virtual bool has_room(Index /*rows*/) const { return true; }

  // All samples in their order, in pieces of whole blocks.
  virtual void all(const Cuts& cuts, const Use& use) const = 0;
  // Some of them, by increasing positions, whose blocks are the cuts.
  virtual void some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const = 0;
  // Some of them, in memory.
  virtual std::shared_ptr<const Source> take(const std::vector<Index>& positions) const = 0;
};

class MemorySource final : public Source {
 public:
  // `owner` has the arrays, if nobody else has; `numbers` as of the data of which these are a part, if they are.
  explicit MemorySource(Gaussians data, std::shared_ptr<const void> owner = nullptr, double numbers = 0)
      : data_(std::move(data)), owner_(std::move(owner)), numbers_(numbers) {}

  Index samples() const override { return data_.samples(); }
  const Gaussians& like() const override { return data_; }
  double numbers() const override { return numbers_ > 0 ? numbers_ : data_.numbers_per_sample(); }
  double rank() const override { return data_.mean_rank(); }
  const Gaussians* whole() const override { return &data_; }
  void all(const Cuts&, const Use& use) const override { use({data_, data_.ids(), 0}); }
  void some(const std::vector<Index>& positions, const Cuts&, const Use& use) const override {
    std::vector<Index> ids;
    ids.reserve(positions.size());
    for (const Index i : positions) ids.push_back(data_.ids()[static_cast<std::size_t>(i)]);
    use({data_, ids, 0});
  }
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    return std::make_shared<MemorySource>(data_.some(positions), owner_);
  }

 private:
  Gaussians data_;
  std::shared_ptr<const void> owner_;
  double numbers_;
};

}  // namespace svmgsu
