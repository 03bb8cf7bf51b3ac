// Where the examples of an objective are: passes go over pieces of consecutive blocks, each of which lies in memory
// only while it is worked on. Examples in memory are one piece.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engines/passes.hpp"

namespace svmgsu {

// Examples `first`, `first` + 1, ... of those that a walk is about: rows ids[0], ids[1], ... of these arrays.
struct Piece {
  const Gaussians& data;
  const std::vector<Index>& ids;
  Index first;
};

class Source {
 public:
  using Use = std::function<void(const Piece&)>;

  virtual ~Source() = default;
  virtual Index examples() const = 0;
  // Examples that are like all others in their features and kinds of covariance; there may be but one of them.
  virtual const Gaussians& like() const = 0;
  // Numbers that a pass reads of an example, and rows of its covariance's factors, on average.
  virtual double numbers() const = 0;
  virtual double rank() const = 0;
  // All of them, where they lie in memory as long as this does; or null.
  virtual const Gaussians* whole() const { return nullptr; }
  // Whether there is room for so many more of them in memory.
  virtual bool has_room(Index /*rows*/) const { return true; }

  // All examples in their order, in pieces of whole blocks.
  virtual void all(const Cuts& cuts, const Use& use) const = 0;
  // Some of them, by increasing positions, whose blocks are the cuts.
  virtual void some(const std::vector<Index>& positions, const Cuts& cuts, const Use& use) const = 0;
  // Some of them, in memory.
  virtual std::shared_ptr<const Source> take(const std::vector<Index>& positions) const = 0;
};

class MemorySource final : public Source {
 public:
  // `owner` has the arrays, if nobody else has.
  explicit MemorySource(Gaussians data, std::shared_ptr<const void> owner = nullptr)
      : data_(std::move(data)), owner_(std::move(owner)) {}

  Index examples() const override { return data_.examples(); }
  const Gaussians& like() const override { return data_; }
  double numbers() const override { return numbers_per_example(data_); }
  double rank() const override;
  const Gaussians* whole() const override { return &data_; }
  void all(const Cuts&, const Use& use) const override { use({data_, data_.ids(), 0}); }
  void some(const std::vector<Index>& positions, const Cuts&, const Use& use) const override;
  std::shared_ptr<const Source> take(const std::vector<Index>& positions) const override {
    return std::make_shared<MemorySource>(data_.some(positions), owner_);
  }

 private:
  Gaussians data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace svmgsu
