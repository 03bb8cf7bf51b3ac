// How a pass over the data is cut up.
#pragma once

#include <algorithm>
#include <vector>

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// Samples visited together: as many as stay in a core's caches between the two uses of their numbers, so
// that memory is read once; four at least, which are read at once, unless even these are too many.
inline int batch_size(double numbers_per_sample) {
  constexpr double kSecondLevel = 32768, kLastLevel = 1 << 20;
  const double fit = kSecondLevel / std::max(1.0, numbers_per_sample);
  if (fit < 4) return 4 * numbers_per_sample < kLastLevel ? 4 : 1;
  return std::min(kMaxBatch, static_cast<int>(fit) / 4 * 4);
}

// From so many samples in a batch on, those of each side fill the loops that add them up.
constexpr int kManySamples = 12;

// The batch ids[first .. last), with what follows it.
inline Batch batch_at(const std::vector<Index>& ids, Index first, Index last) {
  return {ids.data() + first, static_cast<int>(last - first),
          static_cast<int>(std::min<Index>(last - first, static_cast<Index>(ids.size()) - last))};
}

// Blocks are large enough for their work to outweigh the summing of their results, about equal, of whole fours, which
// are read at once, and depend on the problem alone.
inline Index block_size(const Gaussians& like, double numbers, Index count, double sum_size) {
  const double effort = like.means().sparse() ? 6 : 1;  // a number of a sparse row takes longer
  const double per_sample = std::max(1.0, effort * numbers);
  const Index for_sums = static_cast<Index>(64 * sum_size / per_sample);
  const Index largest = std::max<Index>({32, for_sums, std::min<Index>(256, count / 64)});
  const Index blocks = std::max<Index>(1, (count + largest - 1) / largest);
  return std::max<Index>(4, ((count + blocks - 1) / blocks + 3) / 4 * 4);
}

// The blocks of a pass, which are summed in groups of neighbours, and the groups in their order: whoever has whole
// groups, in memory, in a file or on another machine, sums to the same bits.
struct Cuts {
  Index count = 0, block = 1, blocks = 0, per_group = 1;
  std::vector<Index> starts;  // of blocks that are not alike, with the end of the last; empty: they are alike
  std::vector<char> closing;  // whether such a block is the last of its group
  bool single = true;         // whether all the data, of which these may be a part, are one group

  Cuts() = default;
  // Of `count` samples whose sums are of `sum_size` numbers.
  Cuts(Index count_, Index block_, double sum_size)
      : count(count_), block(block_), blocks((count_ + block_ - 1) / block_) {
    constexpr double kNumbers = 1e7;  // of the sums of all groups
    const auto groups = static_cast<Index>(std::max(16.0, std::min(256.0, kNumbers / std::max(1.0, sum_size))));
    per_group = std::max<Index>(8, (blocks + groups - 1) / groups);
    single = blocks <= per_group;
  }
  // Of some samples of `of`, by their positions: those of a group stay together, in blocks of at most `largest`.
  Cuts(const Cuts& of, const std::vector<Index>& positions, Index largest)
      : count(static_cast<Index>(positions.size())), block(largest), single(of.single) {
    const Index rows = of.block * of.per_group;
    if (single) {
      blocks = (count + block - 1) / block;
      per_group = std::max<Index>(1, blocks);
      return;
    }
    for (Index first = 0; first < count;) {
      const Index group = positions[static_cast<std::size_t>(first)] / rows;
      const auto next = std::lower_bound(positions.begin() + first, positions.end(), (group + 1) * rows);
      const Index end = next - positions.begin(), parts = (end - first + largest - 1) / largest;
      for (Index k = 0; k < parts; ++k) {
        starts.push_back(first + k * largest);
        closing.push_back(k + 1 == parts);
      }
      first = end;
    }
    blocks = static_cast<Index>(starts.size());
    starts.push_back(count);
  }

  Index first(Index k) const { return starts.empty() ? k * block : starts[static_cast<std::size_t>(k)]; }
  Index end(Index k) const { return starts.empty() ? std::min(count, (k + 1) * block) : first(k + 1); }
  bool closes(Index k) const {
    return k + 1 == blocks || (starts.empty() ? (k + 1) % per_group == 0 : closing[static_cast<std::size_t>(k)] != 0);
  }
  // The block that begins at a sample.
  Index block_at(Index sample) const {
    if (starts.empty()) return sample / block;
    return std::lower_bound(starts.begin(), starts.end(), sample) - starts.begin();
  }
};

}  // namespace svmgsu
