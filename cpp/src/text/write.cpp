#include <charconv>
#include <cmath>

#include "svmgsu/text/io.hpp"
#include "text/number.hpp"

namespace svmgsu {
namespace {

void append_index(std::string& out, Index index) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, index + 1).ptr);
}

// Zeros are omitted; a negative zero is written, so that it comes back.
void append_entry(std::string& out, Index i, Index j, double value, bool pair) {
  if (value == 0 && !std::signbit(value)) return;
  out += ' ';
  append_index(out, i);
  if (pair) {
    out += ',';
    append_index(out, j);
  }
  out += ':';
  text::append_number(out, value);
}

// The messages only where they are needed: a call writes one line.
void require_numbers(const void* numbers, Index count, const char* name, const char* count_name) {
  if (count < 0) require(false, std::string(count_name) + ": must be >= 0, got " + std::to_string(count));
  if (!numbers && count > 0) require(false, std::string(name) + ": null pointer");
}

}  // namespace

void append_line(std::string& out, std::string_view lead, const double* row, Index features, EntryStyle style) {
  require_numbers(row, features, "row", "features");
  out += lead;
  for (Index i = 0; i < features; ++i) {
    if (style != EntryStyle::packed) {
      append_entry(out, i, i, row[i], style == EntryStyle::diagonal);
      continue;
    }
    for (Index j = i; j < features; ++j) append_entry(out, i, j, *row++, true);
  }
  out += '\n';
}

void append_line(std::string& out, std::string_view lead, const double* value, const std::int32_t* column, Index count,
                 EntryStyle style) {
  require_numbers(value, count, "value", "count");
  require_numbers(column, count, "column", "count");
  if (style == EntryStyle::packed) require(false, "style: entries of a triangle are written from whole rows alone");
  for (Index k = 0; k < count; ++k)
    if (column[k] < 0) require(false, "column: number " + std::to_string(k) + " is " + std::to_string(column[k]));
  out += lead;
  for (Index k = 0; k < count; ++k) append_entry(out, column[k], column[k], value[k], style == EntryStyle::diagonal);
  out += '\n';
}

void append_table_line(std::string& out, std::string_view lead, const double* row, Index count, std::string_view tail) {
  require_numbers(row, count, "row", "count");
  out += lead;
  for (Index k = 0; k < count; ++k) {
    out += ' ';
    text::append_number(out, row[k]);
  }
  out += ' ';
  out += tail;
  out += '\n';
}

}  // namespace svmgsu
