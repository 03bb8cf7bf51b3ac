// One piece of a text file, line by line, into arrays. See io.hpp for the formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "svmgsu/text/io.hpp"

namespace svmgsu::text {

// What is wrong in a piece; lines and columns count from 1.
struct Fault {
  Index line;
  Index column;
  std::string reason;
};

// The rows of one piece up to the first fault, in the form of TextRows; line numbers are relative to the piece.
struct Piece {
  std::vector<std::string_view> ids;
  std::vector<Index> line, end;  // of each row: its line, and where its entries end
  std::vector<double> label, value;
  std::vector<std::int32_t> column;
  Index lines = 0;
  Index features = 0;
  bool packed = false;
  Index first_bare = 0, first_indexed = 0;  // lines; 0 if none
  std::optional<Fault> fault;
};

// Scans whole lines; the last byte must be '\n'. The memory of `out` is used again.
void scan(std::string_view lines, const TextOptions& options, Piece& out);

// Columns j of diagonal entries become those of packed triangles, j(j+1)/2 + j.
void pack_columns(std::vector<std::int32_t>& columns, std::size_t first, std::size_t last);

}  // namespace svmgsu::text
