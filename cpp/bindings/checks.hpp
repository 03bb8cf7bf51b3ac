// The last door before memory: arrays whose indices or lengths would lead outside an array are refused here, whatever
// Python did not see. One pass over the indices, at memory speed.
#pragma once

#include <algorithm>
#include <string>

#include "bindings.hpp"

namespace svmgsu::python {

inline void require_size(Index found, Index wanted, const char* name) {
  if (found != wanted)
    require(false,
            std::string(name) + ": expected " + std::to_string(wanted) + " numbers, got " + std::to_string(found));
}

// All of 0 <= index < below.
template <class Int>
void require_indices(const Int* index, Index count, Index below, const char* name) {
  Int least = 0, most = 0;
  for (Index i = 0; i < count; ++i) {
    least = std::min(least, index[i]);
    most = std::max(most, index[i]);
  }
  if (least < 0 || (count > 0 && static_cast<Index>(most) >= below))
    require(false, std::string(name) + ": indices from " + std::to_string(least) + " to " + std::to_string(most) +
                       ", but they must be >= 0 and < " + std::to_string(below));
}

// Where rows begin: rises from 0 to the number of entries.
inline void require_starts(const Array<Index>& start, Index entries, const char* name) {
  const Index* const at = start.data();
  const Index size = start.size();
  bool rises = size > 0 && at[0] == 0 && at[size - 1] == entries;
  for (Index i = 1; i < size; ++i) rises &= at[i - 1] <= at[i];
  if (!rises)
    require(false, std::string(name) + ": must rise from 0 to the number of entries, " + std::to_string(entries));
}

// Rows of n(n+1)/2 numbers, or of n.
inline void require_triangles(const py::array& packed, Index features, bool diagonal = false) {
  require(features >= 0 && features < (Index{1} << 31), "features: must be >= 0 and < 2^31");
  require_size(size_of(packed, 1), diagonal ? features : features * (features + 1) / 2, "packed: rows");
}

// Compressed rows whose columns and starts have been looked at.
template <class Scalar>
Rows sparse_rows(const Array<Scalar>& value, const Array<std::int32_t>& column, const Array<Index>& start,
                 Index features) {
  require_size(column.size(), value.size(), "column");
  require_starts(start, value.size(), "start");
  require_indices(column.data(), column.size(), features, "column");
  return {value.data(), column.data(), start.data(), start.size() - 1, features};
}

// Matrices, one a row, that samples share; `group` is None or one number for each sample.
inline Covariance shared_of(const Array<double>& packed, bool diagonal, const py::object& group) {
  const Rows rows(packed.data(), size_of(packed, 0), size_of(packed, 1));
  const Covariance kind = diagonal ? Diagonal(rows) : Full(rows);
  if (group.is_none()) return Shared(kind);
  require(py::isinstance<Array<std::int32_t>>(group), "group: expected an array of int32");
  const auto array = py::cast<Array<std::int32_t>>(group);
  require_indices(array.data(), array.size(), size_of(packed, 0), "group");
  return Shared(kind, array.data(), array.size());
}

}  // namespace svmgsu::python
