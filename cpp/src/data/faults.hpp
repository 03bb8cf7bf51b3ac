// What may be wrong with the numbers of samples, in words.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "support/parallel.hpp"
#include "svmgsu/data/gaussians.hpp"

namespace svmgsu {

// The first of some numbers that is not in [least, most], nor the 0 that `zero` allows; -1 if there is none. NaN and
// infinity are in no range.
template <class Scalar>
Index first_outside(const Scalar* values, Index count, double least, double most, bool zero);

}  // namespace svmgsu

namespace svmgsu::faults {

// Whose numbers are looked at. Texts are made where there is a fault, and not for every sample.
struct Whose {
  const char* what;
  Index number;
  std::string text() const { return std::string(what) + " " + std::to_string(number); }
};
inline Whose sample(Index id) { return {"sample", id}; }

enum class Wanted { finite, variance };

std::string variance_fault(double variance, Whose whose);
// Of a row of numbers; of sparse rows, of their columns as well.
std::string row_fault(const Rows& rows, Index row, Whose whose, Wanted wanted);
// Of a row that is a packed symmetric matrix: variances, and |Σ_ab| ≤ √(Σ_aa Σ_bb).
std::string matrix_fault(const Rows& rows, Index row, Whose whose, Index n);

// Of what fault(id) says of the samples, the first that is not empty.
template <class Fault>
std::string first_fault(const std::vector<Index>& ids, int threads, Fault fault) {
  constexpr Index kBlock = 128;
  const auto count = static_cast<Index>(ids.size());
  std::atomic<Index> first{count};
  parallel_for((count + kBlock - 1) / kBlock, threads, [&](Index block) {
    for (Index i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      if (fault(ids[static_cast<std::size_t>(i)]).empty()) continue;
      Index seen = first;
      while (i < seen && !first.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  return first == count ? std::string() : fault(ids[static_cast<std::size_t>(first.load())]);
}

}  // namespace svmgsu::faults
