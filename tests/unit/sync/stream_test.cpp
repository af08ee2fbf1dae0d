#include "sync/stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace fermata {
namespace {

// Every length up to several lines, and a long one, from sources that begin anywhere in a line.
TEST(CopyPastCaches, WritesAllBytesAndNoOther) {
  constexpr std::size_t kMost = 5 * kMinLine, kLong = 16384 + 7;
  std::vector<std::byte> given(kLong + kMinLine), room(kLong + 3 * kMinLine);
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<std::byte>(i * 7 + i / 256);
  std::byte* const to = room.data() + kMinLine +
                        (kMinLine - reinterpret_cast<std::uintptr_t>(room.data()) % kMinLine) % kMinLine;
  const auto check = [&](std::size_t first, std::size_t bytes) {
    room.assign(room.size(), std::byte{0xee});
    copy_past_caches(to, given.data() + first, bytes);
    const std::size_t begin = static_cast<std::size_t>(to - room.data());
    for (std::size_t i = 0; i < room.size(); ++i) {
      const bool inside = i >= begin && i < begin + bytes;
      ASSERT_EQ(room[i], inside ? given[first + i - begin] : std::byte{0xee})
          << "byte " << i << " of " << bytes << " from " << first;
    }
  };
  for (std::size_t bytes = 0; bytes <= kMost; ++bytes) check(bytes % 13, bytes);
  for (const std::size_t first : {0, 1, 8, 16, 33, 63}) check(first, kLong);
}

}  // namespace
}  // namespace fermata
