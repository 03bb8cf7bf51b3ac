// Feeds the text parsers with bytes that nobody would write: fuzz_text_io corpus/text [seconds [seed]].
#include <algorithm>
#include <memory>
#include <vector>

#include "fuzz.hpp"
#include "svmgsu/text/io.hpp"

using namespace svmgsu;

namespace {

constexpr Index kMostCells = 1 << 16;  // of a dense array: a file of one line may ask for gigabytes

void lay_out(const TextRows& rows) {
  std::vector<Index> all;
  for (Index i = 0; i < rows.samples(); ++i) all.push_back(i);
  const Index n = rows.features, triangle = n * (n + 1) / 2;
  if (!rows.full && n * rows.samples() <= kMostCells) {
    std::vector<double> out(static_cast<std::size_t>(n * rows.samples()), 0.0);
    fill_dense(rows, all, n, 1, out.data());
  }
  if (!rows.row.empty() && n < kMostCells && triangle * rows.samples() <= kMostCells) {
    std::vector<double> out(static_cast<std::size_t>(triangle * rows.samples()), 0.0);
    fill_packed(rows, all, n, 1, out.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that a sanitizer sees every read beyond it.
  const std::unique_ptr<char[]> bytes(new char[size + (size == 0)]);
  std::copy_n(data, size, bytes.get());
  for (const TextFormat format : {TextFormat::means, TextFormat::labels, TextFormat::covariances}) {
    TextOptions options;
    options.format = format;
    options.threads = 1;
    try {
      const TextRows rows = read_rows({bytes.get(), size}, options);
      lay_out(rows);
      options.diagonal = options.as_written = true;
      read_rows({bytes.get(), size}, options);
      join({&rows, &rows});
    } catch (const FormatError&) {
    }
  }
  return 0;
}
