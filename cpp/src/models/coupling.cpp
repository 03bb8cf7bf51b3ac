#include "svmgsu/models/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace svmgsu {
namespace {

// The messages only where they are needed: these functions are called for every object.
void require_pairs(const double* pairs, Index classes, const double* out) {
  if (classes < 2) require(false, "classes: at least two are wanted, got " + std::to_string(classes));
  if (!pairs) require(false, "pairs: null pointer");
  if (!out) require(false, "out: null pointer");
  const Index count = count_pairs(classes);
  for (Index k = 0; k < count; ++k)
    if (std::isnan(pairs[k])) require(false, "pairs: number " + std::to_string(k) + " is not a number");
}

}  // namespace

void couple(const double* pairs, Index classes, double* out) {
  require_pairs(pairs, classes, out);
  // Odds against each class, Σ exp(-z_ij), as logarithms: the largest term, and the sum relative to it.
  constexpr double kMost = std::numeric_limits<double>::max() / 4;  // so that differences stay finite
  const auto count = static_cast<std::size_t>(classes);
  std::vector<double> most(count, -kMost), sum(count, 0.0);
  const auto each = [&](const auto& add) {
    const double* z = pairs;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j, ++z) {
        const double value = std::clamp(*z, -kMost, kMost);
        add(i, value);
        add(j, -value);
      }
  };
  each([&](std::size_t k, double against) { most[k] = std::max(most[k], against); });
  each([&](std::size_t k, double against) { sum[k] += std::exp(against - most[k]); });
  for (std::size_t k = 0; k < count; ++k) out[k] = -(most[k] + std::log(sum[k]));
}

void vote(const double* pairs, Index classes, double* out) {
  require_pairs(pairs, classes, out);
  const auto count = static_cast<std::size_t>(classes);
  std::vector<double> margins(count, 0.0);
  std::fill(out, out + count, 0.0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j, ++pairs) {
      out[*pairs > 0 ? j : i] += 1;
      margins[i] -= *pairs;
      margins[j] += *pairs;
    }
  for (std::size_t k = 0; k < count; ++k) out[k] += margins[k] / (3 * (std::abs(margins[k]) + 1));
}

}  // namespace svmgsu
