// Copies by words: every byte comes over, and none beyond.
#include "base/word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fermata {
namespace {

std::array<unsigned char, 80> counted() {
  std::array<unsigned char, 80> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i + 1);
  return bytes;
}

TEST(Word, CopiesAnyNumberOfBytesAndNoOther) {
  const auto from = counted();
  for (std::uint32_t bytes = 0; bytes < 64; ++bytes) {
    std::array<unsigned char, 80> to{};
    copy_bytes(to.data() + 8, from.data(), bytes);
    EXPECT_EQ(std::memcmp(to.data() + 8, from.data(), bytes), 0) << bytes;
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(to[i], 0) << bytes;
    for (std::size_t i = 8 + bytes; i < to.size(); ++i) EXPECT_EQ(to[i], 0) << bytes;
  }
}

TEST(Word, HasZerosAfterTheLastByte) {
  const auto from = counted();
  std::uint64_t whole = 0, part = 0;
  std::memcpy(&whole, from.data() + 8, 8);
  std::memcpy(&part, from.data() + 8, 3);
  EXPECT_EQ(word_at(from.data(), 1, 16), whole);
  EXPECT_EQ(word_at(from.data(), 1, 11), part);
  EXPECT_EQ(word_at(from.data(), 1, 8), 0u);
}

// The bytes lie alone on the heap: AddressSanitizer sees reads of others.
TEST(Word, EachWordOfAnyNumberOfBytes) {
  for (std::uint32_t bytes = 0; bytes < 64; ++bytes) {
    std::vector<unsigned char> from(bytes);
    for (std::uint32_t i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i + 1);
    std::array<std::uint64_t, 8> seen{};
    std::uint32_t calls = 0;
    each_word_of(from.data(), bytes, [&](std::uint32_t i, std::uint64_t word) __attribute__((always_inline)) {
      seen[i] = word;
      ++calls;
    });
    EXPECT_EQ(calls, (bytes + 7) / 8);
    std::array<std::uint64_t, 8> expected{};
    if (bytes != 0) std::memcpy(expected.data(), from.data(), bytes);
    EXPECT_EQ(seen, expected) << bytes;
  }
}

}  // namespace
}  // namespace fermata
