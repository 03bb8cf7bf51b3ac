// Rows of a file that stores numbers by codes, as numbers.
#pragma once

#include <vector>

#include "svmgsu/engines/streamed.hpp"

namespace svmgsu {

// Of `count` rows, which lie one after another in `from`, into `to`; `row_of(i)` is the place of the i-th in the file.
template <class RowOf>
void decode(const FlatFile& file, const char* from, Index count, RowOf row_of, char* to);

// What is known of the codes of a file, in bytes.
std::int64_t parameter_bytes(const FlatFile& file);

// Refuses what cannot be.
void check_codes(const FlatFile& file);

struct FirstRow {
  Index first;
  Index operator()(Index i) const { return first + i; }
};
struct ChosenRows {
  const std::vector<Index>& rows;
  Index operator()(Index i) const { return rows[static_cast<std::size_t>(i)]; }
};

}  // namespace svmgsu
