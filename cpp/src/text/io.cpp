#include "svmgsu/text/io.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "support/parallel.hpp"
#include "text/scan.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define SVMGSU_MMAP
#endif

namespace svmgsu {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
constexpr Index kPiecesARound = 128;  // between two calls of the monitor: 32 MB

std::shared_ptr<std::string> slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (!file && !file.eof()) throw FileError(path + ": cannot be read");
  return bytes;
}

#ifdef SVMGSU_MMAP
// The mapped bytes of a regular file, or nothing if it must be read instead (a pipe, say).
std::optional<std::pair<std::shared_ptr<const void>, std::size_t>> map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw FileError(path + ": " + std::strerror(errno));
  struct stat about{};
  void* address = MAP_FAILED;
  std::size_t size = 0;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
    size = static_cast<std::size_t>(about.st_size);
    address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (S_ISDIR(about.st_mode)) throw FileError(path + ": " + std::strerror(EISDIR));
  if (address == MAP_FAILED) return std::nullopt;
  madvise(address, size, MADV_SEQUENTIAL);
  return std::pair(std::shared_ptr<const void>(address, [size](void* p) { munmap(p, size); }), size);
}
#endif

// Filling new memory page by page takes a quarter of the time of reading a file; with huge pages it does not.
void use_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHuge * kHuge;
  if (last > first + 8 * kHuge) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// The lines that begin in the k-th window of kPieceBytes. A window inside one long line has none, and
// finding that out costs no more than the window.
std::string_view piece_of(std::string_view body, std::size_t k) {
  const std::size_t from = k * kPieceBytes, to = std::min(body.size(), from + kPieceBytes);
  std::size_t first = 0;
  if (k > 0) {
    const void* before = std::memchr(body.data() + from - 1, '\n', to - from);
    if (before == nullptr) return {};
    first = static_cast<std::size_t>(static_cast<const char*>(before) - body.data()) + 1;
  }
  const std::size_t last = to == body.size() ? to : body.find('\n', to - 1) + 1;
  return body.substr(first, last - first);
}

class Reader {
 public:
  Reader(Text text, const TextOptions& options) : options_(options) {
    rows_.text = std::move(text);
    rows_.name = options.name;
    rows_.start.push_back(0);
  }

  TextRows read() && {
    const std::string_view body = rows_.text.body();
    if (body.substr(0, 3) == "\xEF\xBB\xBF" || rows_.text.tail().substr(0, 3) == "\xEF\xBB\xBF")
      fail(1, 1, "the file begins with a byte order mark; save it as plain UTF-8");
    const auto pieces = static_cast<Index>((body.size() + kPieceBytes - 1) / kPieceBytes);
    for (Index first = 0; first < pieces; first += kPiecesARound) {
      const Index count = std::min(kPiecesARound, pieces - first);
      ordered_blocks<text::Piece>(
          count, options_.threads,
          [&](Index k, text::Piece& piece) {
            text::scan(piece_of(body, static_cast<std::size_t>(first + k)), options_, piece);
          },
          [&](text::Piece& piece) { append(piece); });
      if (options_.monitor) options_.monitor();
    }
    text::Piece last;
    text::scan(rows_.text.tail(), options_, last);
    append(last);
    check();
    return std::move(rows_);
  }

 private:
  [[noreturn]] void fail(Index line, Index column, const std::string& reason) const {
    throw FormatError(options_.name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + reason);
  }

  // In the order of the file.
  void append(text::Piece& piece) {
    TextRows& rows = rows_;
    rows.features = std::max(rows.features, piece.features);
    if (piece.packed != rows.packed) {
      if (rows.features > kMostFullFeatures)
        throw FormatError(rows.name + ": index " + std::to_string(rows.features) +
                          ": full covariances are read up to " + std::to_string(kMostFullFeatures) + " features");
      std::vector<std::int32_t>& other = rows.packed ? piece.column : rows.column;
      text::pack_columns(other, 0, other.size());
      rows.packed = true;
    }
    if (first_bare_ == 0 && piece.first_bare > 0) first_bare_ = lines_ + piece.first_bare;
    if (first_indexed_ == 0 && piece.first_indexed > 0) first_indexed_ = lines_ + piece.first_indexed;
    if (rows.value.size() == 0) expect_like(piece);
    const auto before = static_cast<Index>(rows.value.size());
    rows.ids.insert(rows.ids.end(), piece.ids.begin(), piece.ids.end());
    for (const Index line : piece.line) rows.line.push_back(lines_ + line);
    for (const Index end : piece.end) rows.start.push_back(before + end);
    rows.label.insert(rows.label.end(), piece.label.begin(), piece.label.end());
    rows.column.insert(rows.column.end(), piece.column.begin(), piece.column.end());
    rows.value.insert(rows.value.end(), piece.value.begin(), piece.value.end());
    if (piece.fault) fail(lines_ + piece.fault->line, piece.fault->column, piece.fault->reason);
    lines_ += piece.lines;
  }

  // Makes room for a whole file that goes on like its first piece.
  void expect_like(const text::Piece& piece) {
    const std::size_t pieces = rows_.text.body().size() / kPieceBytes;
    if (pieces < 32) return;
    const std::size_t entries = piece.value.size() * (pieces + pieces / 16);
    rows_.column.reserve(entries);
    rows_.value.reserve(entries);
    use_huge_pages(rows_.column.data(), entries * sizeof(std::int32_t));
    use_huge_pages(rows_.value.data(), entries * sizeof(double));
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

void Text::set(std::string_view bytes) {
  const std::size_t last = bytes.rfind('\n');
  const std::size_t size = last == std::string_view::npos ? 0 : last + 1;
  body_ = bytes.substr(0, size);
  if (size < bytes.size()) tail_ = std::make_shared<const std::string>(std::string(bytes.substr(size)) + '\n');
}

Text Text::lend(std::string_view bytes) {
  require(bytes.data() || bytes.empty(), "bytes: null pointer");
  Text out;
  out.set(bytes);
  return out;
}

Text Text::map(const std::string& path) {
  Text out;
#ifdef SVMGSU_MMAP
  if (const auto mapped = map_file(path)) {
    out.owner_ = mapped->first;
    out.set({static_cast<const char*>(mapped->first.get()), mapped->second});
    return out;
  }
#endif
  const auto bytes = slurp(path);
  out.owner_ = bytes;
  out.set(*bytes);
  return out;
}

TextRows read_rows(Text text, const TextOptions& options) {
  require(options.most_features >= 0 && options.most_features <= kMostTextFeatures,
          "most_features: must be in [0, " + std::to_string(kMostTextFeatures) + "], got " +
              std::to_string(options.most_features));
  return Reader(std::move(text), options).read();
}

}  // namespace svmgsu
