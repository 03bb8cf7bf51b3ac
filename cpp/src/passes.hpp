// How a pass over the data is cut up.
#pragma once

#include <algorithm>

#include "svmgsu/gaussians.hpp"

namespace svmgsu {

// Examples visited together: as many as stay in a core's second-level cache between the two uses of
// their numbers, so that memory is read once.
inline int batch_size(double numbers_per_example) {
  constexpr double kCacheNumbers = 32768;
  const double fit = kCacheNumbers / std::max(1.0, numbers_per_example);
  if (fit < 4) return 1;
  return std::min(kMaxBatch, static_cast<int>(fit) / 4 * 4);
}

inline double numbers_per_example(const Gaussians& data) {
  double sum = data.means().numbers_per_example();
  for (const auto& term : data.covariance()) sum += term.kind->numbers_per_example();
  return sum;
}

// Below this many numbers a pass is over before a second thread has woken up.
constexpr double kSerialNumbers = 20000;

}  // namespace svmgsu
