// Text files of uncertain samples, read in parallel straight into arrays, and written back exactly.
//
// One sample a line, indices from 1, zeros omitted, items apart by blanks or tabs, CRLF or LF, `#` begins a comment:
//     means         id j:v j:v ...
//     labels        id label
//     covariances   id i,j:v ...      diagonal j,j:v; either triangle or both of a full matrix; isotropic: one value,
//                                     bare or as 1,1:v
//     svmlight      label j:v j:v ... (also libsvm; qid:k is skipped)
// An id is any word of bytes, in whatever encoding.
// An error says where and what: means.dat:17:23: expected a number after 4:, got "abc"
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// The bytes of a file. Every line of `body` ends with '\n'; a last line without one is in `tail`, with one added.
class Text {
 public:
  static Text map(const std::string& path);  // throws FileError
  static Text lend(std::string_view bytes);  // `bytes` must outlive it

  std::string_view body() const { return body_; }
  std::string_view tail() const { return tail_ ? std::string_view(*tail_) : std::string_view(); }

 private:
  void set(std::string_view bytes);

  std::shared_ptr<const void> owner_;
  std::string_view body_;
  std::shared_ptr<const std::string> tail_;
};

enum class TextFormat { means, labels, covariances, svmlight };

constexpr Index kMostTextFeatures = 2147483647;
constexpr Index kMostFullFeatures = 65535;  // beyond, one packed matrix has more than 2^31 entries

struct TextOptions {
  TextFormat format = TextFormat::means;
  std::string name = "text";                // what messages call the file
  Index most_features = kMostTextFeatures;  // a larger index is an error, which ends with `most_because`
  std::string most_because;
  bool zero_based = false;  // svmlight only: indices from 0
  bool diagonal = false;    // covariances: off-diagonal entries are an error
  bool as_written = false;  // covariances that are `diagonal`: a line keeps its order, and may repeat an index
  int threads = 0;
  std::function<void()> monitor;  // called now and then by the calling thread; may throw to stop
};

// The lines of a file in their order: row i has the entries [start[i], start[i + 1]), sorted by column (unless
// `as_written`).
struct TextRows {
  Text text;
  std::string name;
  std::vector<std::string_view> ids;  // views of `text`; empty for svmlight
  std::vector<Index> line;
  std::vector<double> label;  // labels and svmlight
  std::vector<Index> start;
  std::vector<std::int32_t> column;  // 0-based; if `packed`, b(b+1)/2 + a for the entry (a, b), a <= b
  std::vector<double> value;
  Index features = 0;   // the largest index of the file
  bool packed = false;  // covariances with off-diagonal entries
  bool bare = false;    // covariances: one value a line, without index

  Index samples() const { return static_cast<Index>(line.size()); }
  Index entries() const { return static_cast<Index>(value.size()); }
};

// The same rows for any number of threads; of several errors the first in the file is thrown.
TextRows read_rows(Text text, const TextOptions& options);

// For each file the rows whose ids are in all files, in the order of the first file. A final ':' of an id does not
// count. An id that a file has twice is a FormatError that names both lines.
std::vector<std::vector<Index>> join(const std::vector<const TextRows*>& files);

// Chosen rows as a dense array of zeros to be filled, which a caller provides: (select.size(), features), or upper
// triangles row after row, (select.size(), features (features + 1)/2).
void fill_dense(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out);
void fill_packed(const TextRows& rows, const std::vector<Index>& select, Index features, int threads, double* out);

// Lines of text: `lead` and the entries that are not zero, as short as they read back exactly. `row` has `features`
// numbers (packed: features (features + 1)/2), `value` and `column` have `count` each.
enum class EntryStyle { feature, diagonal, packed };
void append_line(std::string& out, std::string_view lead, const double* row, Index features, EntryStyle style);
void append_line(std::string& out, std::string_view lead, const double* value, const std::int32_t* column, Index count,
                 EntryStyle style);
// `lead number number ... tail`, as the lines of predictions.
void append_table_line(std::string& out, std::string_view lead, const double* row, Index count, std::string_view tail);

}  // namespace svmgsu
