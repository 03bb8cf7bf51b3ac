#include "engines/source.hpp"

namespace svmgsu {

void MemorySource::some(const std::vector<Index>& positions, const Cuts&, const Use& use) const {
  std::vector<Index> ids;
  ids.reserve(positions.size());
  for (const Index i : positions) ids.push_back(data_.ids()[static_cast<std::size_t>(i)]);
  use({data_, ids, 0});
}

}  // namespace svmgsu
