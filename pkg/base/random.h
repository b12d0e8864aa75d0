// Seeded random numbers, the same on every machine (the standard distributions are not).
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Thread safety: one Random per thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace yardmaster {

// Derives an independent seed from a seed and a name (FNV-1a).
inline std::uint64_t SeedOf(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ seed;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound). REQUIRES: bound > 0. The bias is below bound / 2^64.
  std::uint64_t Below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Fisher-Yates over anything with size() and operator[].
  template <typename Vector>
  void Shuffle(Vector& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      using std::swap;
      swap(values[i - 1], values[Below(i)]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace yardmaster
