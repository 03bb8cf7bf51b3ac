#include "engines/source.hpp"

namespace svmgsu {

double MemorySource::rank() const {
  double sum = 0;
  for (const auto& term : data_.covariance()) sum += term.kind->mean_rank();
  return sum;
}

void MemorySource::some(const std::vector<Index>& positions, const Cuts&, const Use& use) const {
  std::vector<Index> ids;
  ids.reserve(positions.size());
  for (const Index i : positions) ids.push_back(data_.ids()[static_cast<std::size_t>(i)]);
  use({data_, ids, 0});
}

}  // namespace svmgsu
