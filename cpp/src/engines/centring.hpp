// Where the data lie, and means that are read as seen from there.
#pragma once

#include <memory>

#include "engines/source.hpp"

namespace svmgsu {

struct Centre {
  Vector at;         // near the mean of each feature; 0 where sparse columns are centred well enough as they are
  bool far = false;  // so far from 0, in units of a feature's spread, that w·x − w·at would lose digits
};

// From about a thousand samples, evenly spread over the data; of no length where the rows cannot be looked at, or
// sparse ones need no centring. A shift of the data is a shift of the centre.
Centre centre_of(const Source& source);

// The same samples as seen from `at`.
std::shared_ptr<const Source> seen_from(const std::shared_ptr<const Source>& source, const Vector& at);

}  // namespace svmgsu
