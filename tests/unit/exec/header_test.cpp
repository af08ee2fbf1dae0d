// A header holds the low bits of its episode. A slot's contents are a few episodes old, however often the
// bits have wrapped.
#include <gtest/gtest.h>

#include "exec/cursor.hpp"

namespace fermata::exec {
namespace {

// the first episode whose bits are 0 again
constexpr std::uint64_t kWraps = std::uint64_t{1} << (64 - Header::kTagBits);
constexpr std::uint64_t kTag = 5, kOther = (std::uint64_t{1} << Header::kTagBits) - 1;

TEST(Header, TellsOlderEpisodesFromNewerOnesWhereItWraps) {
  for (const std::uint64_t first : {std::uint64_t{8}, kWraps / 2, kWraps, 3 * kWraps})
    for (std::uint64_t e = first - 4; e < first + 4; ++e) {
      const Header awaited = Header::of(e, kTag);
      for (std::uint64_t ago = 1; ago <= 4; ++ago) {
        EXPECT_FALSE(awaited.has_come(Header::of(e - ago, kOther).bits)) << e << ", " << ago;
        EXPECT_TRUE(awaited.has_come(Header::of(e + ago, 0).bits)) << e << ", " << ago;
        EXPECT_FALSE(awaited.is_foreign(Header::of(e + ago, kOther).bits)) << "a later call's";
      }
      EXPECT_TRUE(awaited.has_come(awaited.bits));
      EXPECT_TRUE(awaited.has_come(Header::of(e, 0).bits)) << "with whatever tag";
      EXPECT_FALSE(awaited.is_foreign(awaited.bits));
      EXPECT_TRUE(awaited.is_foreign(Header::of(e, kOther).bits));
      EXPECT_TRUE(awaited.is_foreign(Header::of(e, 0).bits));
    }
}

}  // namespace
}  // namespace fermata::exec
