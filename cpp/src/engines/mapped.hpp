// The objective of samples that are in several places, each with some that follow one another: processes, machines, or
// whatever makes them as they are read.
//
// Where samples stay in their places, a pass is one request to all of them at once, and each responds with the sums of
// its groups of blocks. The groups are summed in the order of the data: the same bits for any number of places. What is
// cached of each sample stays there as well, and steps along a line and estimates of the Hessian are requests whose
// responses are sums. Where samples are made as they are read, a pass makes those of one place after another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "svmgsu/data/training_set.hpp"
#include "svmgsu/engines/objective.hpp"

namespace svmgsu {

// Responds for the samples of one place, which are in its memory.
class ShardWorker {
 public:
  explicit ShardWorker(TrainingSet set, int threads = 1);
  ~ShardWorker();
  std::string respond(const std::string& request);

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
  std::shared_ptr<const Targets> targets;                         // of all
  std::function<Rows(const std::vector<Index>& positions)> take;  // samples, by increasing positions
  // One of these two. Each place's response to a request, in their order: one request for all, or one for each.
  std::function<std::vector<std::string>(const std::vector<std::string>& requests)> ask;
  // All samples of a place.
  std::function<Rows(std::size_t place)> make;
};

class Source;

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
