#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>

#include "support/parallel.hpp"
#include "svmgsu/text/io.hpp"

namespace svmgsu {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
// As for matrices from memory: the triangles may differ by this much of the largest entry; their mean is taken.
constexpr double kSymmetryTolerance = 1e-6;
constexpr std::size_t kShownBytes = 40;

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string hex(char c) {
  const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

// A word as a message shows it: short, and without bytes that upset a terminal.
std::string quoted(std::string_view word) {
  if (word.empty()) return "nothing";
  std::string out = "\"";
  for (const char c : word.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);  // char has a sign on some machines only
    out += byte < ' ' || byte >= 127 ? hex(c) : std::string(1, c);
  }
  return out + (word.size() > kShownBytes ? "...\"" : "\"");
}

enum class Parsed { good, not_a_number, not_finite, too_large };

// Slow, but available everywhere, and it tells numbers that are too large from those that are too small, which become
// 0.
Parsed parse_by_stream(std::string_view word, double& value) {
  std::istringstream stream{std::string(word)};
  stream.imbue(std::locale::classic());
  if (!(stream >> value)) return std::abs(value) > 1 ? Parsed::too_large : Parsed::not_a_number;
  return stream.peek() == std::char_traits<char>::eof() ? Parsed::good : Parsed::not_a_number;
}

// Reads the number at p, which a blank or `end` must end, and moves p behind it.
Parsed parse_number(const char*& p, const char* end, double& value) {
#ifdef __cpp_lib_to_chars  // libc++ before 20 and libstdc++ before 11 have from_chars for integers alone
  const char* const first = end - p > 1 && *p == '+' && p[1] != '-' ? p + 1 : p;
  const auto [stop, code] = std::from_chars(first, end, value);
  if ((stop != end && !is_blank(*stop)) || code == std::errc::invalid_argument) return Parsed::not_a_number;
  if (code == std::errc()) {
    p = stop;
    return std::isfinite(value) ? Parsed::good : Parsed::not_finite;
  }
#endif
  const char* const word = p;
  p = std::find_if(p, end, is_blank);
  return parse_by_stream({word, static_cast<std::size_t>(p - word)}, value);
}

// What is wrong in a piece; lines and columns count from 1.
struct Fault {
  Index line;
  Index column;
  std::string reason;
};

// Some lines of a file as rows, up to the first fault; line numbers are relative to the piece.
struct Piece {
  TextRows rows;
  Index lines = 0;
  Index first_bare = 0, first_indexed = 0;  // lines; 0 if none
  std::optional<Fault> fault;
};

class Scanner {
 public:
  Scanner(const TextOptions& options, Piece& piece) : options_(options), piece_(piece), rows_(piece.rows) {}

  void run(std::string_view text) {
    while (!text.empty()) {
      line_ = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line_.size() + 1, text.size()));
      at_ = line_.data();
      end_ = at_ + line_.size();
      ++piece_.lines;
      if (!more()) continue;
      const std::string_view id = word(at_);
      at_ += id.size();
      for (const char& c : id)
        if (static_cast<unsigned char>(c) < ' ') fail(&c, "byte " + hex(c) + ": this is not a text file");
      rows_.ids.push_back(id);
      if (options_.format == TextFormat::means) means();
      if (options_.format == TextFormat::labels) label();
      if (options_.format == TextFormat::covariances) covariance();
      rows_.line.push_back(piece_.lines);
      rows_.start.push_back(rows_.entries());
    }
  }

 private:
  [[noreturn]] void fail(const char* at, const std::string& reason) const {
    // Editors count characters, not bytes.
    const auto before = std::count_if(line_.data(), at, [](char c) { return (c & 0xC0) != 0x80; });
    throw Fault{piece_.lines, static_cast<Index>(before) + 1, reason};
  }

  // Goes to the next word, if one is left before the end of the line or a comment.
  bool more() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
    return at_ != end_ && *at_ != '#';
  }

  // The word at a place.
  std::string_view word(const char* at) const {
    return {at, static_cast<std::size_t>(std::find_if(at, end_, is_blank) - at)};
  }

  // The number here. `entry` says where its word begins.
  double number(const char* entry) {
    double value = 0;
    const char* const first = at_;
    const Parsed parsed = parse_number(at_, end_, value);
    if (parsed != Parsed::good) fail_number(first, entry, parsed);
    return value;
  }

  [[noreturn]] void fail_number(const char* first, const char* entry, Parsed parsed) const {
    const std::string found = quoted(word(first)), before(entry, first);
    if (parsed == Parsed::too_large) fail(first, "the number " + found + " is too large");
    if (parsed == Parsed::not_a_number && options_.format == TextFormat::covariances && before.empty())
      fail(first, "expected i,j:value, got " + found);
    fail(first, std::string("expected a ") + (parsed == Parsed::not_finite ? "finite " : "") + "number" +
                    (options_.format == TextFormat::labels ? " as label"
                     : before.empty()                      ? " after the id"
                                                           : " after " + before) +
                    ", got " + found);
  }

  // The index here, 0-based, and behind it `mark`.
  Index index(const char* entry, char mark) {
    const char* const first = at_;
    Index index = 0;
    const auto [stop, code] = std::from_chars(first, end_, index);
    if (code == std::errc::invalid_argument || stop == end_ || *stop != mark)
      fail(entry, std::string("expected ") + (options_.format == TextFormat::means ? "index:value" : "i,j:value") +
                      ", got " + quoted(word(entry)));
    if (code == std::errc::result_out_of_range) index = std::numeric_limits<Index>::max();
    if (index < 1 || index > options_.most_features) fail_index(first, stop, index);
    at_ = stop + 1;
    return index - 1;
  }

  [[noreturn]] void fail_index(const char* first, const char* last, Index index) const {
    const std::string digits(first, std::min(last, first + kShownBytes));
    if (index < 1) fail(first, "indices begin at 1, got " + digits);
    fail(first, "index " + digits + " is beyond " +
                    (options_.most_because.empty() ? std::to_string(kMostTextFeatures) : options_.most_because));
  }

  void means() {
    const auto first = static_cast<std::size_t>(rows_.start.back());
    bool sorted = true;
    Index last = -1;
    while (more()) {
      const char* const entry = at_;
      const Index j = index(entry, ':');
      rows_.column.push_back(static_cast<std::int32_t>(j));
      rows_.value.push_back(number(entry));
      sorted &= j > last;
      last = j;
      rows_.features = std::max(rows_.features, j + 1);
    }
    if (!sorted) sort_line(first);
  }

  void label() {
    more();
    rows_.label.push_back(number(at_));
    if (more()) fail(at_, "expected one label, got also " + quoted(word(at_)));
  }

  // i,j:v ..., or one bare value.
  void covariance() {
    const auto first = static_cast<std::size_t>(rows_.start.back());
    bool sorted = true, lower_triangle = false;
    std::pair<Index, Index> last(-1, -1);
    while (more()) {
      const char* const entry = at_;
      if (rows_.value.size() == first && word(entry).find_first_of(",:") == std::string_view::npos) return bare();
      const Index i = index(entry, ',');
      const Index j = index(entry, ':');
      const char* const text = at_;
      const double value = number(entry);
      if (i == j && value < 0) fail(text, "a variance must be >= 0, got " + quoted(word(text)));
      if (i != j && options_.diagonal)
        fail(entry, "expected j,j:value in a diagonal covariance, got " + quoted(word(entry)));
      add(i, j, value);
      sorted &= std::pair(i, j) > last;
      lower_triangle |= i > j;
      last = {i, j};
      rows_.full |= i != j;
    }
    if (rows_.value.size() == first) return;
    if (piece_.first_indexed == 0) piece_.first_indexed = piece_.lines;
    if ((!sorted || lower_triangle) && !options_.as_written) sort_line(first);
  }

  void bare() {
    const char* const entry = at_;
    const double value = number(entry);
    if (value < 0) fail(entry, "a variance must be >= 0, got " + quoted(word(entry)));
    if (more()) fail(at_, "expected one variance, got also " + quoted(word(at_)));
    if (piece_.first_bare == 0) piece_.first_bare = piece_.lines;
    add(0, 0, value);
  }

  void add(Index i, Index j, double value) {
    rows_.row.push_back(static_cast<std::int32_t>(i));
    rows_.column.push_back(static_cast<std::int32_t>(j));
    rows_.value.push_back(value);
    rows_.features = std::max({rows_.features, i + 1, j + 1});
  }

  struct Entry {
    std::int32_t i, j;
    double value;
    std::pair<std::int32_t, std::int32_t> place() const { return {std::min(i, j), std::max(i, j)}; }
  };

  // Sorts the entries of the line from `first` on. Both triangles of a matrix may be given if they agree; else two
  // entries of one place are refused.
  void sort_line(std::size_t first) {
    const bool pairs = options_.format == TextFormat::covariances;
    std::vector<Entry> entries;
    double greatest = 0;
    for (std::size_t k = first; k < rows_.value.size(); ++k) {
      entries.push_back({pairs ? rows_.row[k] : rows_.column[k], rows_.column[k], rows_.value[k]});
      greatest = std::max(greatest, std::abs(rows_.value[k]));
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& x, const Entry& y) { return x.place() < y.place(); });
    std::size_t kept = first;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      Entry& entry = entries[k];
      const auto [i, j] = entry.place();
      const bool again = kept > first && rows_.column[kept - 1] == j && (!pairs || rows_.row[kept - 1] == i);
      if (again) {
        const Entry& other = entries[k - 1];
        const bool third = k > 1 && entries[k - 2].place() == entry.place();
        if (other.i == entry.i || third) fail_twice(entry);
        if (std::abs(other.value - entry.value) > kSymmetryTolerance * greatest) fail_contradiction(other, entry);
        rows_.value[kept - 1] = other.value / 2 + entry.value / 2;
        continue;
      }
      if (pairs) rows_.row[kept] = i;
      rows_.column[kept] = j;
      rows_.value[kept++] = entry.value;
    }
    if (pairs) rows_.row.resize(kept);
    rows_.column.resize(kept);
    rows_.value.resize(kept);
  }

  [[noreturn]] void fail_twice(const Entry& entry) const {
    const bool pairs = options_.format == TextFormat::covariances;
    fail(line_.data(), "index " + std::to_string(entry.i + 1) + (pairs ? "," + std::to_string(entry.j + 1) : "") +
                           " appears twice in this line");
  }

  [[noreturn]] void fail_contradiction(const Entry& x, const Entry& y) const {
    std::ostringstream reason;
    reason.imbue(std::locale::classic());
    reason << "the matrix is not symmetric: " << x.i + 1 << ',' << x.j + 1 << ':' << x.value << " but " << y.i + 1
           << ',' << y.j + 1 << ':' << y.value;
    fail(line_.data(), reason.str());
  }

  const TextOptions& options_;
  Piece& piece_;
  TextRows& rows_;
  std::string_view line_;
  const char* at_ = nullptr;   // where in the line
  const char* end_ = nullptr;  // of the line
};

// The lines that begin in the k-th window of kPieceBytes. A window inside one long line has none, and
// finding that out costs no more than the window.
std::string_view piece_of(std::string_view text, std::size_t k) {
  const std::size_t from = k * kPieceBytes, to = std::min(text.size(), from + kPieceBytes);
  std::size_t first = 0;
  if (k > 0) {
    const std::size_t before = text.substr(from - 1, to - from).find('\n');
    if (before == std::string_view::npos) return {};
    first = from + before;
  }
  const std::size_t last = to == text.size() ? to : text.find('\n', to - 1);
  return text.substr(first, last == std::string_view::npos ? last : last + 1 - first);
}

class Reader {
 public:
  explicit Reader(const TextOptions& options) : options_(options) { rows_.name = options.name; }

  TextRows read(std::string_view text) && {
    if (text.substr(0, 3) == "\xEF\xBB\xBF")
      fail(1, 1, "the file begins with a byte order mark; save it as plain UTF-8");
    const auto pieces = static_cast<Index>((text.size() + kPieceBytes - 1) / kPieceBytes);
    ordered_blocks<Piece>(
        pieces, options_.threads,
        [&](Index k, Piece& piece) {
          piece = {};
          try {
            Scanner(options_, piece).run(piece_of(text, static_cast<std::size_t>(k)));
          } catch (const Fault& fault) {
            piece.fault = fault;
          }
        },
        [&](const Piece& piece) { append(piece, static_cast<std::size_t>(pieces)); });
    check();
    return std::move(rows_);
  }

 private:
  [[noreturn]] void fail(Index line, Index column, const std::string& reason) const {
    throw FormatError(options_.name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + reason);
  }

  template <class Value>
  static void append(std::vector<Value>& all, const std::vector<Value>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  // In the order of the file.
  void append(const Piece& piece, std::size_t pieces) {
    const TextRows& more = piece.rows;
    if (lines_ == 0 && pieces > 1) {  // there is room for a file that goes on like its first piece
      rows_.column.reserve(more.column.size() * (pieces + pieces / 16));
      rows_.value.reserve(more.value.size() * (pieces + pieces / 16));
    }
    const Index before = rows_.entries();
    append(rows_.ids, more.ids);
    append(rows_.label, more.label);
    append(rows_.row, more.row);
    append(rows_.column, more.column);
    append(rows_.value, more.value);
    for (const Index line : more.line) rows_.line.push_back(lines_ + line);
    for (std::size_t i = 1; i < more.start.size(); ++i) rows_.start.push_back(before + more.start[i]);
    rows_.features = std::max(rows_.features, more.features);
    rows_.full |= more.full;
    if (first_bare_ == 0 && piece.first_bare > 0) first_bare_ = lines_ + piece.first_bare;
    if (first_indexed_ == 0 && piece.first_indexed > 0) first_indexed_ = lines_ + piece.first_indexed;
    if (piece.fault) fail(lines_ + piece.fault->line, piece.fault->column, piece.fault->reason);
    lines_ += piece.lines;
  }

  void check() {
    if (rows_.samples() == 0) throw FormatError(options_.name + ":1: there are no samples in this file");
    if (first_bare_ == 0) return;
    if (first_indexed_ > 0) {
      const bool bare_first = first_bare_ < first_indexed_;
      fail(std::max(first_bare_, first_indexed_), 1,
           bare_first ? "an indexed entry, but line " + std::to_string(first_bare_) + " has one bare variance"
                      : "one bare variance, but line " + std::to_string(first_indexed_) + " has indexed entries");
    }
    rows_.bare = true;
    for (std::size_t i = 0; i < rows_.line.size(); ++i)
      if (rows_.start[i] == rows_.start[i + 1]) fail(rows_.line[i], 1, "expected a variance after the id");
  }

  const TextOptions& options_;
  TextRows rows_;
  Index lines_ = 0, first_bare_ = 0, first_indexed_ = 0;
};

}  // namespace

TextRows read_rows(std::string_view text, const TextOptions& options) {
  require(text.data() || text.empty(), "text: null pointer");
  require(options.most_features >= 0 && options.most_features <= kMostTextFeatures,
          "most_features: must be in [0, " + std::to_string(kMostTextFeatures) + "], got " +
              std::to_string(options.most_features));
  return Reader(options).read(text);
}

}  // namespace svmgsu
