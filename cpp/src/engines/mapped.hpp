// The objective of samples that are in several places, each with some that follow one another: processes or machines.
//
// A pass is one question to all of them at once, and each answers with the sums of its groups of blocks (passes.hpp).
// The groups are summed in the order of the data: the same bits for any number of places. w·x and wᵀΣw of the samples
// come with them, 16 bytes each (8 where they are certain), and steps along a line and estimates of the Hessian are
// then found without another question; or they stay where they are (`keeps`), and these are questions as well, whose
// answers are sums. A question holds all that an answer needs, so that whoever has the samples can answer it; a worker
// that has answered the last one answers the next sooner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// Answers for the samples of one place, which lie in its memory.
class ShardWorker {
 public:
  explicit ShardWorker(TrainingSet set, int threads = 1, bool keeps = false);
  ~ShardWorker();
  std::string answer(const std::string& question);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct MappedSet {
  // Samples in memory; `owner` has their arrays.
  struct Rows {
    Gaussians data;
    std::shared_ptr<const void> owner;
  };
  std::vector<Index> sizes;  // samples of each place, in the order of the data
  Rows like;                 // a sample or more, of the same features and kinds as all
  double numbers = 0;        // that a pass reads of a sample on average, and rows of factors
  double rank = 0;
  std::shared_ptr<const Targets> targets;  // of all
  // Each place, in their order: one question for each, or one for all.
  std::function<std::vector<std::string>(const std::vector<std::string>& questions)> ask;
  std::function<Rows(const std::vector<Index>& positions)> take;  // samples, by increasing positions
  bool keeps = false;  // whether what is known of each sample stays where it is
};

class Mapped {
 public:
  explicit Mapped(MappedSet set);
  Objective objective(double lambda, int threads = 0, bool intercept = true,
                      std::shared_ptr<const Loss> loss = nullptr) const;
  Index samples() const;
  Index features() const;
  // Places must begin at multiples of so many samples.
  static Index group_rows(const Gaussians& like, double numbers, Index samples);

 private:
  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Targets> targets_;
};

}  // namespace svmgsu
