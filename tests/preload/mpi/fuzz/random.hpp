// Random numbers that depend on a seed only, so that every call can be generated without the calls before it.
#ifndef FERMATA_FUZZ_RANDOM_HPP
#define FERMATA_FUZZ_RANDOM_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace fuzz {

// After SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Here each
// result also changes the state.
class Random {
 public:
  Random(std::initializer_list<std::uint64_t> seeds) {
    for (const std::uint64_t s : seeds) {
      state_ ^= s;
      next();
    }
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15u;
    z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBu;
    state_ ^= z << 1;
    return z ^ z >> 31;
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

 private:
  std::uint64_t state_ = 0;
};

// FNV-1a.
class Digest {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* b = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ b[i]) * 1099511628211u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

}  // namespace fuzz
#endif
