// What a fuzz target needs beside LLVMFuzzerTestOneInput. Built by -fsanitize=fuzzer (define SVMGSU_LIBFUZZER) that
// is nothing; else this main replays every file of a corpus, then changes them at random: TARGET CORPUS [seconds
// [seed]].
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#ifndef SVMGSU_LIBFUZZER
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace svmgsu::fuzz {

// Pieces of which files are made, right and wrong ones.
inline const std::vector<std::string> kWords = {":",
                                                ",",
                                                " ",
                                                "\n",
                                                "\r\n",
                                                "\t",
                                                "#",
                                                "%",
                                                "%4",
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

inline constexpr std::size_t kPlaces = 1 << 16, kLongest = 2048;
inline bool places[kPlaces];  // of the code that was reached, by the low bits of its address
inline long reached = 0;

inline std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the order of a folder is its own; the same seed, the same texts
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {}

  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    for (std::size_t change = below(8); change-- > 0;) {
      const std::size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, kWords[below(kWords.size())]);
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
          text += corpus_[below(corpus_.size())];
      }
    }
    return text;
  }

  void keep(const std::string& text) {
    if (text.size() <= kLongest) corpus_.push_back(text);
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::vector<std::string> corpus_;
  SplitMix64 random_;
};

inline void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace svmgsu::fuzz

extern "C" void __sanitizer_cov_trace_pc() {
  bool& seen =
      svmgsu::fuzz::places[reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) % svmgsu::fuzz::kPlaces];
  svmgsu::fuzz::reached += !seen;
  seen = true;
}

int main(int argc, char** argv) {
  using namespace svmgsu::fuzz;
  const std::vector<std::string> corpus = argc > 1 ? read_corpus(argv[1]) : std::vector<std::string>();
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s CORPUS [seconds [seed]]; CORPUS is a folder of files\n", argv[0]);
    return 2;
  }
  for (const std::string& text : corpus) run(text);
  Mutator mutator(corpus, argc > 3 ? static_cast<std::uint64_t>(std::atoll(argv[3])) : 1);
  const std::chrono::duration<double> seconds(argc > 2 ? std::atof(argv[2]) : 0);
  const auto end = std::chrono::steady_clock::now() + seconds;
  long runs = 0, kept = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const long before = reached;
    const std::string text = mutator.next();
    run(text);
    if (reached > before) mutator.keep(text), ++kept;
  }
  std::printf("%zu files of the corpus and %ld changed ones read or refused", corpus.size(), runs);
  if (reached) std::printf("; %ld places reached, %ld texts kept", reached, kept);
  std::printf("\n");
}
#endif
