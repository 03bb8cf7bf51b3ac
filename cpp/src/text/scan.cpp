#include "text/scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "text/number.hpp"

namespace svmgsu::text {
namespace {

// As for matrices from memory: the triangles may differ by this much of the largest entry; their mean is taken.
constexpr double kSymmetryTolerance = 1e-6;
constexpr int kShownBytes = 40;

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

inline Index packed_size(Index n) { return n * (n + 1) / 2; }

std::string hex(char c) {
  const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

// A token as a message shows it: short, and without bytes that upset a terminal.
std::string quoted(std::string_view token) {
  if (token.empty()) return "nothing";
  std::string out = "\"";
  for (const char c : token.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);  // char has a sign on some machines only
    out += byte < ' ' || byte >= 127 ? hex(c) : std::string(1, c);
  }
  return out + (token.size() > kShownBytes ? "...\"" : "\"");
}

class Scanner {
 public:
  Scanner(const TextOptions& options, Piece& out) : options_(options), out_(out), base_(options.zero_based ? 0 : 1) {}

  void run(const char* p, const char* end) {
    end_ = end;
    const bool has_ids = options_.format != TextFormat::svmlight;
    while (p < end) {
      line_ = p;
      ++out_.lines;
      skip_blanks(p);
      if (!at_end(p)) {
        const std::size_t first = out_.value.size();
        if (has_ids)
          id(p);
        else
          label(p);
        switch (options_.format) {
          case TextFormat::labels:
            skip_blanks(p);
            label(p);
            skip_blanks(p);
            if (!at_end(p)) fail(p, "expected one label, got also " + quoted(token(p)));
            break;
          case TextFormat::covariances:
            covariance(p, first);
            break;
          default:
            entries(p, first);
        }
        out_.line.push_back(out_.lines);
        out_.end.push_back(static_cast<Index>(out_.value.size()));
      }
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
    }
  }

 private:
  [[noreturn]] void fail(const char* at, const std::string& reason) const {
    // Editors count characters, not bytes.
    const auto before = std::count_if(line_, at, [](char c) { return (c & 0xC0) != 0x80; });
    throw Fault{out_.lines, static_cast<Index>(before) + 1, reason};
  }

  static void skip_blanks(const char*& p) {
    while (is_blank(*p)) ++p;
  }
  // At the end of what counts in a line.
  static bool at_end(const char* p) { return *p == '\n' || *p == '#'; }

  static std::string_view token(const char* p) {
    const char* last = p;
    while (!ends_token(*last)) ++last;
    return {p, static_cast<std::size_t>(last - p)};
  }

  void id(const char*& p) {
    const char* const first = p;
    for (; !ends_token(*p); ++p)
      if (static_cast<unsigned char>(*p) < ' ') fail(p, "byte " + hex(*p) + ": this is not a text file");
    out_.ids.emplace_back(first, static_cast<std::size_t>(p - first));
  }

  void label(const char*& p) {
    const char* const first = p;
    double value = 0;
    const Parsed parsed = parse_number(p, end_, value);
    if (parsed != Parsed::good) fail_number(first, " as label", parsed);
    out_.label.push_back(value);
  }

  // An index at p, 0-based; p is left behind it. -1 if there is none.
  [[gnu::always_inline]] inline Index index(const char*& p) const {
    const char* const first = p;
    Index value = 0;
    while (is_digit(*p) && p - first < 18) value = 10 * value + (*p++ - '0');
    if (p == first) return -1;
    while (is_digit(*p)) ++p, value = std::numeric_limits<Index>::max();
    if (value < base_) fail(first, "indices begin at 1, got 0");
    if (value - base_ >= options_.most_features) fail_large(first, p);
    return value - base_;
  }

  [[noreturn]] void fail_large(const char* first, const char* last) const {
    const std::string found = "index " + std::string(first, std::min(last, first + kShownBytes)) + " is beyond ";
    fail(first, found + (options_.most_because.empty() ? std::to_string(kMostTextFeatures) : options_.most_because));
  }

  // `place` says where a number was expected: " as label", or " after 4:".
  [[noreturn]] void fail_number(const char* at, const std::string& place, Parsed parsed) const {
    const std::string found = quoted(token(at));
    if (parsed == Parsed::too_large) fail(at, "the number " + found + " is too large");
    fail(at, std::string("expected a ") + (parsed == Parsed::not_finite ? "finite " : "") + "number" + place +
                 ", got " + found);
  }

  [[gnu::always_inline]] inline double number(const char*& p, const char* entry) const {
    const char* const first = p;
    double value = 0;
    const Parsed parsed = parse_number(p, end_, value);
    if (parsed != Parsed::good) fail_value(first, entry, parsed);
    return value;
  }

  [[noreturn]] void fail_value(const char* first, const char* entry, Parsed parsed) const {
    const bool bare = first == entry;
    if (bare && parsed == Parsed::not_a_number) fail(entry, "expected i,j:value, got " + quoted(token(entry)));
    fail_number(first, " after " + (bare ? "the id" : std::string(entry, first)), parsed);
  }

  [[noreturn]] void fail_entry(const char* entry, const char* wanted) const {
    const std::string_view found = token(entry);
    if (found[0] == '-' && found.find(':') != std::string_view::npos)
      fail(entry, std::string(base_ == 1 ? "indices begin at 1" : "indices begin at 0") + ", got " + quoted(found));
    fail(entry, "expected " + std::string(wanted) + ", got " + quoted(found));
  }

  // Means and svmlight: j:v ...
  void entries(const char*& at, std::size_t first) {
    bool sorted = true;
    Index last = -1;
    const char* p = at;  // stays in a register
    for (skip_blanks(p); !at_end(p); skip_blanks(p)) {
      const char* const entry = p;
      const Index j = index(p);
      if (j < 0 || *p != ':') {
        if (options_.format == TextFormat::svmlight && token(entry).substr(0, 4) == "qid:") {
          while (!ends_token(*p)) ++p;
          continue;
        }
        fail_entry(entry, "index:value");
      }
      ++p;
      const double value = number(p, entry);
      sorted &= j > last;
      last = j;
      out_.column.push_back(static_cast<std::int32_t>(j));
      out_.value.push_back(value);
    }
    at = p;
    if (!sorted) sort_line(first);
    if (out_.value.size() > first) note_features(out_.column.back());
  }

  void note_features(Index largest) { out_.features = std::max(out_.features, largest + 1); }

  // The entries of the line from `first` on, by column; two of the same column are refused.
  void sort_line(std::size_t first) {
    order_.clear();
    for (std::size_t k = first; k < out_.value.size(); ++k) order_.push_back({out_.column[k], 0, out_.value[k]});
    std::sort(order_.begin(), order_.end(), [](const Entry& x, const Entry& y) { return x.a < y.a; });
    for (std::size_t k = 0; k < order_.size(); ++k) {
      if (k > 0 && order_[k].a == order_[k - 1].a) fail_twice(order_[k].a, order_[k].a);
      out_.column[first + k] = order_[k].a;
      out_.value[first + k] = order_[k].value;
    }
  }

  [[noreturn]] void fail_twice(Index a, Index b) const {
    const bool pairs = options_.format == TextFormat::covariances;
    const std::string second = pairs ? "," + std::to_string(b + base_) : "";
    fail(line_, "index " + std::to_string(a + base_) + second + " appears twice in this line");
  }

  // Covariances: i,j:v ..., or one bare value.
  void covariance(const char*& at, std::size_t first) {
    bool sorted = true, off_diagonal = false;
    Index last = -1, largest = -1;
    const char* p = at;  // stays in a register
    rows_.clear();
    for (skip_blanks(p); !at_end(p); skip_blanks(p)) {
      const char* const entry = p;
      if (!begins_with_index(p)) {
        at = bare(entry, first);
        return;
      }
      const Index i = index(p);
      ++p;
      const Index j = index(p);
      if (j < 0 || *p != ':') fail_entry(entry, "i,j:value");
      ++p;
      const char* const text = p;
      const double value = number(p, entry);
      if (i == j && value < 0) fail(text, "a variance must be >= 0, got " + quoted(token(text)));
      if (i != j && options_.diagonal)
        fail(entry, "expected j,j:value in a diagonal covariance, got " + quoted(token(entry)));
      off_diagonal |= i != j;
      sorted &= j > last;
      last = j;
      largest = std::max({largest, i, j});
      rows_.push_back(static_cast<std::int32_t>(i));
      out_.column.push_back(static_cast<std::int32_t>(j));
      out_.value.push_back(value);
    }
    at = p;
    if (out_.value.size() == first) return;
    if (out_.first_indexed == 0) out_.first_indexed = out_.lines;
    note_features(largest);
    if ((off_diagonal || out_.packed) && out_.features > kMostFullFeatures)
      fail(line_, "index " + std::to_string(out_.features) + ": full covariances are read up to " +
                      std::to_string(kMostFullFeatures) + " features");
    if (off_diagonal) {
      full_line(first, largest + 1);
    } else {
      if (!sorted && !options_.as_written) sort_line(first);
      if (out_.packed) pack_columns(out_.column, first, out_.column.size());
    }
  }

  // Whether there is an index followed by a comma; if not, the token must be a value.
  [[gnu::always_inline]] inline bool begins_with_index(const char* first) const {
    const char* p = first;
    while (is_digit(*p)) ++p;
    if (p > first && *p == ',') return true;
    const std::string_view found = token(first);
    if (found.find(':') != std::string_view::npos || found.find(',') != std::string_view::npos)
      fail_entry(first, "i,j:value");
    return false;
  }

  const char* bare(const char* entry, std::size_t first) {
    const char* p = entry;
    if (out_.value.size() > first) fail(entry, "expected i,j:value, got " + quoted(token(entry)));
    const double value = number(p, entry);
    if (value < 0) fail(entry, "a variance must be >= 0, got " + quoted(token(entry)));
    skip_blanks(p);
    if (!at_end(p)) fail(p, "expected one variance, got also " + quoted(token(p)));
    if (out_.first_bare == 0) out_.first_bare = out_.lines;
    note_features(0);
    out_.column.push_back(0);
    out_.value.push_back(value);
    return p;
  }

  // The line's matrix as a packed upper triangle; both triangles may be given if they agree.
  void full_line(std::size_t first, Index n) {
    if (!out_.packed) {
      pack_columns(out_.column, 0, first);
      out_.packed = true;
    }
    const std::size_t count = out_.value.size() - first;
    double greatest = 0;
    order_.clear();
    for (std::size_t k = 0; k < count; ++k) {
      order_.push_back({rows_[k], out_.column[first + k], out_.value[first + k]});
      greatest = std::max(greatest, std::abs(out_.value[first + k]));
    }
    sort_by_key(n);
    std::size_t kept = first;
    for (std::size_t k = 0; k < count; ++k) {
      const Entry& entry = order_[k];
      double value = entry.value;
      if (k + 1 < count && order_[k + 1].key() == entry.key()) {
        const Entry& other = order_[++k];
        if (other.a == entry.a) fail_twice(entry.a, entry.b);
        if (std::abs(other.value - value) > kSymmetryTolerance * greatest) fail_contradiction(entry, other);
        value = value / 2 + other.value / 2;
        if (k + 1 < count && order_[k + 1].key() == entry.key()) fail_twice(order_[k + 1].a, order_[k + 1].b);
      }
      out_.column[kept] = static_cast<std::int32_t>(entry.key());
      out_.value[kept++] = value;
    }
    out_.column.resize(kept);
    out_.value.resize(kept);
  }

  struct Entry {
    std::int32_t a, b;
    double value;
    Index key() const { return packed_size(std::max(a, b)) + std::min(a, b); }
  };

  [[noreturn]] void fail_contradiction(const Entry& x, const Entry& y) const {
    const auto name = [](const Entry& e) { return std::to_string(e.a + 1) + "," + std::to_string(e.b + 1) + ":"; };
    std::string first, second;
    append_number(first, x.value);
    append_number(second, y.value);
    fail(line_, "the matrix is not symmetric: " + name(x) + first + " but " + name(y) + second);
  }

  // Stable, and linear where the line is not much sparser than its triangle.
  void sort_by_key(Index n) {
    const auto before = [](const Entry& x, const Entry& y) { return x.key() < y.key(); };
    if (std::is_sorted(order_.begin(), order_.end(), before)) return;
    if (static_cast<std::size_t>(packed_size(n)) > 4 * order_.size()) {
      std::stable_sort(order_.begin(), order_.end(), before);
      return;
    }
    place_.assign(static_cast<std::size_t>(packed_size(n)) + 1, 0);
    for (const Entry& entry : order_) ++place_[static_cast<std::size_t>(entry.key()) + 1];
    for (std::size_t k = 1; k < place_.size(); ++k) place_[k] += place_[k - 1];
    sorted_.resize(order_.size());
    for (const Entry& entry : order_) sorted_[place_[static_cast<std::size_t>(entry.key())]++] = entry;
    order_.swap(sorted_);
  }

  const TextOptions& options_;
  Piece& out_;
  const Index base_;
  const char* line_ = nullptr;
  const char* end_ = nullptr;
  std::vector<std::int32_t> rows_;  // the row indices of one covariance
  std::vector<Entry> order_, sorted_;
  std::vector<std::size_t> place_;
};

}  // namespace

void pack_columns(std::vector<std::int32_t>& columns, std::size_t first, std::size_t last) {
  for (std::size_t k = first; k < last; ++k)
    columns[k] = static_cast<std::int32_t>(packed_size(Index{columns[k]}) + columns[k]);
}

void scan(std::string_view lines, const TextOptions& options, Piece& out) {
  out.ids.clear();
  out.line.clear();
  out.end.clear();
  out.label.clear();
  out.value.clear();
  out.column.clear();
  out.lines = out.features = out.first_bare = out.first_indexed = 0;
  out.packed = false;
  out.fault.reset();
  try {
    Scanner(options, out).run(lines.data(), lines.data() + lines.size());
  } catch (const Fault& fault) {
    out.fault = fault;
  }
}

}  // namespace svmgsu::text
