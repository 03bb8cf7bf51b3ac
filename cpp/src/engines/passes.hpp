// How a pass over the data is cut up.
#pragma once

#include <algorithm>
#include <vector>

#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// Examples visited together: as many as stay in a core's caches between the two uses of their numbers, so
// that memory is read once; four at least, which are read at once, unless even these are too many.
inline int batch_size(double numbers_per_example) {
  constexpr double kSecondLevel = 32768, kLastLevel = 1 << 20;
  const double fit = kSecondLevel / std::max(1.0, numbers_per_example);
  if (fit < 4) return 4 * numbers_per_example < kLastLevel ? 4 : 1;
  return std::min(kMaxBatch, static_cast<int>(fit) / 4 * 4);
}

// From so many examples in a batch on, those of each side fill the loops that add them up.
constexpr int kManyExamples = 12;

// The batch ids[first .. last), with what follows it.
inline Batch batch_at(const std::vector<Index>& ids, Index first, Index last) {
  return {ids.data() + first, static_cast<int>(last - first),
          static_cast<int>(std::min<Index>(last - first, static_cast<Index>(ids.size()) - last))};
}

inline double numbers_per_example(const Gaussians& data) {
  double sum = data.means().numbers_per_example();
  for (const auto& term : data.covariance()) sum += term.kind->numbers_per_example();
  return sum;
}

// Blocks are large enough for their work to outweigh the summing of their results, about equal, and depend
// on the problem alone.
inline Index block_size(const Gaussians& data, Index count, double sum_size) {
  const double effort = data.means().rows().column ? 6 : 1;  // a number of a sparse row takes longer
  const double per_example = std::max(1.0, effort * numbers_per_example(data));
  const Index for_sums = static_cast<Index>(48 * sum_size / per_example);
  const Index largest = std::max<Index>({32, for_sums, std::min<Index>(256, count / 64)});
  const Index blocks = std::max<Index>(1, (count + largest - 1) / largest);
  return std::max<Index>(1, (count + blocks - 1) / blocks);
}

// Below this many numbers a pass is over before a second thread has woken up.
constexpr double kSerialNumbers = 20000;

}  // namespace svmgsu
