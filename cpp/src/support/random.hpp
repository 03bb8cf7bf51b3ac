// Random numbers that the pure-Python twin can repeat: SplitMix64 and Lemire's bounded integers.
#pragma once

#include <cstdint>

namespace svmgsu {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // What the draw number `k` (from 0) of a generator with this seed gives.
  static std::uint64_t at(std::uint64_t seed, std::uint64_t k) { return SplitMix64(seed + k * 0x9E3779B97F4A7C15u)(); }

  // Uniform on 0 .. bound − 1, without bias; bound < 2³².
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = ((*this)() >> 32) * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0u - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) product = ((*this)() >> 32) * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace svmgsu
