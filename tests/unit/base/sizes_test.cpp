// Sets of sizes by powers of two, and the rounding of sizes to lines.
#include "base/sizes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "base/line.hpp"

namespace fermata {
namespace {

TEST(Sizes, HaveEachSizeFromTheirLeastOn) {
  const Sizes sizes = Sizes::from(14);
  EXPECT_FALSE(sizes.has(0));
  EXPECT_FALSE(sizes.has(1));
  EXPECT_FALSE(sizes.has((1u << 14) - 1));
  EXPECT_TRUE(sizes.has(1u << 14));
  EXPECT_TRUE(sizes.has((1u << 20) + 1));
  EXPECT_TRUE(sizes.has(~std::size_t{0}));
}

TEST(Sizes, AreSetsAndNotOnlyLimits) {
  const Sizes only_kib{std::uint64_t{1} << 10};
  EXPECT_FALSE(only_kib.has(1023));
  EXPECT_TRUE(only_kib.has(1024));
  EXPECT_TRUE(only_kib.has(2047));
  EXPECT_FALSE(only_kib.has(2048));
}

TEST(Sizes, DirectTellsMovesFromFolds) {
  Direct direct = Direct::from(11);
  direct.folded[1] = {};
  EXPECT_TRUE(direct.of(false)[1].has(4096));
  EXPECT_TRUE(direct.of(true)[0].has(4096));
  EXPECT_FALSE(direct.of(true)[1].has(4096));
}

TEST(Line, RoundsUpToWholeUnits) {
  EXPECT_EQ(round_up(0, kMinLine), 0u);
  EXPECT_EQ(round_up(1, kMinLine), kMinLine);
  EXPECT_EQ(round_up(kMinLine, kMinLine), kMinLine);
  EXPECT_EQ(round_up(kMinLine + 1, kMaxLine), kMaxLine);
}

}  // namespace
}  // namespace fermata
