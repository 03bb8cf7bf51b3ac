// Feeds the text parsers with bytes that nobody would write. Built by -fsanitize=fuzzer it is a libFuzzer target
// (define SVMGSU_LIBFUZZER); else its own main changes good files at random: fuzz_text_io [seconds [seed]].
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "svmgsu/random.hpp"
#include "svmgsu/text_io.hpp"

using namespace svmgsu;

namespace {

constexpr Index kMostCells = 1 << 16;  // of a dense array: a file of one line may ask for gigabytes

void lay_out(const TextRows& rows) {
  std::vector<Index> all;
  for (Index i = 0; i < rows.examples(); ++i) all.push_back(i);
  const Index n = rows.features, triangle = n * (n + 1) / 2;
  if (!rows.packed && n * rows.examples() <= kMostCells) {
    std::vector<double> out(static_cast<std::size_t>(n * rows.examples()), 0.0);
    fill_dense(rows, all, n, 1, out.data());
  }
  if (n < kMostCells && triangle * rows.examples() <= kMostCells) {
    std::vector<double> out(static_cast<std::size_t>(triangle * rows.examples()), 0.0);
    fill_packed(rows, all, n, 1, out.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that a sanitizer sees every read beyond it.
  const std::unique_ptr<char[]> bytes(new char[size + (size == 0)]);
  std::copy_n(data, size, bytes.get());
  for (const TextFormat format :
       {TextFormat::means, TextFormat::labels, TextFormat::covariances, TextFormat::svmlight}) {
    TextOptions options;
    options.format = format;
    options.threads = 1;
    try {
      const TextRows rows = read_rows(Text::lend({bytes.get(), size}), options);
      lay_out(rows);
      if (format != TextFormat::svmlight) join({&rows, &rows});
    } catch (const FormatError&) {
    }
  }
  return 0;
}

#ifndef SVMGSU_LIBFUZZER
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  SplitMix64 random(argc > 2 ? static_cast<std::uint64_t>(std::atoll(argv[2])) : 1);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const std::vector<std::string> seeds = {"doc_1 1:1.5 2:-2e-3 7:0.25\ndoc_2: 2:3\n# c\r\n\ndoc_3 1:12345678.875",
                                          "a +1\nb -1\nc 2.5\n",
                                          "a 1,1:0.5 2,2:1\nb: 3,3:2\n",
                                          "a 1,1:2 1,2:1 2,1:1 2,2:2\nb 1,1:1\nc 3,1:0.5 3,3:1\n",
                                          "a 0.5\nb 1e-3\n",
                                          "+1 qid:3 1:0.1 4:1e300 # x\n-1 2:99999999999999999999\n"};
  const std::vector<std::string> words = {":",
                                          ",",
                                          " ",
                                          "\n",
                                          "\r\n",
                                          "\t",
                                          "#",
                                          "-",
                                          "+",
                                          ".",
                                          "e",
                                          "nan",
                                          "inf",
                                          "1e999",
                                          "1e-999",
                                          "0",
                                          "2147483647",
                                          "2147483648",
                                          "65536",
                                          "18446744073709551616",
                                          "\xEF\xBB\xBF",
                                          "\xC3",
                                          "\xF0\x9F\x98\x80",
                                          std::string(1, '\0')};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t change = below(8); change-- > 0;) {
      const std::size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, words[below(words.size())]);
          break;
        case 1:
          text.erase(at, below(6));
          break;
        case 2:
          text.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size() + 1), below(30)));
          break;
        default:
          text += seeds[below(seeds.size())];
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%ld texts read or refused\n", runs);
}
#endif
