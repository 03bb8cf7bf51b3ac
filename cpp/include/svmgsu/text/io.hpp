// The text files of the method's authors, read in parallel straight into arrays.
//
// One sample a line, indices from 1, zeros omitted, items apart by blanks or tabs, CRLF or LF, `#` begins a comment:
//     means         id j:v j:v ...
//     labels        id label
//     covariances   id i,j:v ...      diagonal j,j:v; either triangle or both of a full matrix; isotropic: one value,
//                                     bare or as 1,1:v
// An id is any word of bytes, in whatever encoding.
// An error says where and what: means.dat:17:23: expected a number after 4:, got "abc"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

enum class TextFormat { means, labels, covariances };

constexpr Index kMostTextFeatures = 2147483647;

struct TextOptions {
  TextFormat format = TextFormat::means;
  std::string name = "text";                // what messages call the file
  Index most_features = kMostTextFeatures;  // a larger index is an error, which ends with `most_because`
  std::string most_because;
  bool diagonal = false;    // covariances: off-diagonal entries are an error
  bool as_written = false;  // covariances that are `diagonal`: a line keeps its order, and may repeat an index
  int threads = 0;
};

// The lines of a file in their order: row i has the entries [start[i], start[i + 1]), sorted by row and column
// (unless `as_written`).
struct TextRows {
  std::string name;
  std::vector<std::string_view> ids;  // views of the text
  std::vector<Index> line;
  std::vector<double> label;
  std::vector<Index> start{0};
  std::vector<std::int32_t> row;     // covariances: 0-based and <= column
  std::vector<std::int32_t> column;  // 0-based
  std::vector<double> value;
  Index features = 0;  // the largest index of the file
  bool full = false;   // covariances with off-diagonal entries
  bool bare = false;   // covariances: one value a line, without index

  Index samples() const { return static_cast<Index>(line.size()); }
  Index entries() const { return static_cast<Index>(value.size()); }
};

// Reads a text, which must outlive the rows. The same rows for any number of threads; of several errors the first in
// the file is thrown.
TextRows read_rows(std::string_view text, const TextOptions& options);

// For each file the rows whose ids are in all files, in the order of the first file. A final ':' of an id does not
// count. An id that a file has twice is a FormatError that names both lines.
std::vector<std::vector<Index>> join(const std::vector<const TextRows*>& files);

// Chosen rows as a dense array of zeros to be filled, which a caller provides: (select.size(), features), or upper
// triangles row after row, (select.size(), features (features + 1)/2).
void fill_dense(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out);
void fill_packed(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out);

}  // namespace svmgsu
