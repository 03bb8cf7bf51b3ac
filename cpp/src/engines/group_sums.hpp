// Sums of a few numbers over examples of which w·x and wᵀΣw are known: group by group, as passes have them
// (passes.hpp).
#pragma once

#include <array>

#include "engines/passes.hpp"
#include "svmgsu/support/parallel.hpp"

namespace svmgsu {

// One after another, `kCount` of each group. add(first, count, sums) adds up to kMaxBatch examples.
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
