// When the residence of a crowd ends because its regions were faster without.
#include "../../../preload/openmp/compare.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace fermata::preload {
namespace {

constexpr std::int64_t kUs = 1'000;

// Regions of this length, of which the first is the one after `needed` others begins a residence.
PlainRegions timed(std::uint32_t needed, std::int64_t each_ns, std::int64_t now) {
  PlainRegions plain{};
  for (std::uint32_t streak = 1; streak <= needed; ++streak, now += each_ns)
    if (PlainRegions::is_first(streak, needed)) plain.begin(now);
  plain.end(now);
  return plain;
}

TEST(PlainRegions, TheLastEightAreTimed) {
  EXPECT_EQ(timed(8, 50 * kUs, 0).each_ns(), 50 * kUs);
  EXPECT_EQ(timed(4096, 50 * kUs, 0).each_ns(), 50 * kUs);
  const std::int64_t late = (std::int64_t{1} << 32) * kUs - 100 * kUs;  // the microseconds start anew
  EXPECT_EQ(timed(8, 50 * kUs, late).each_ns(), 50 * kUs);
}

TEST(ResidentRegions, LookAtPowersOfTwo) {
  ResidentRegions timed;
  timed.begin(0);
  int looks = 0;
  for (std::uint64_t regions = 0; regions <= 16'384; ++regions)
    if (timed.must_look(regions)) {
      EXPECT_EQ(regions, std::uint64_t{1024} << looks);
      ++looks;
      timed.are_slow(regions, 0, 1);
    }
  EXPECT_EQ(looks, 5);
}

TEST(ResidentRegions, AreSlowIfTheyTwiceTakeTwiceAsLong) {
  ResidentRegions timed;
  std::int64_t now = 0;
  std::uint64_t regions = 0;
  const auto look = [&](std::uint64_t more, std::int64_t each_ns, std::int64_t plain_ns) {
    regions += more;
    now += static_cast<std::int64_t>(more) * each_ns;
    return timed.are_slow(regions, plain_ns, now);
  };
  timed.begin(0);
  EXPECT_FALSE(look(64, 21 * kUs, 10 * kUs)) << "a pause of the program";
  EXPECT_FALSE(look(64, 20 * kUs, 10 * kUs)) << "only those since the last look";
  EXPECT_FALSE(look(64, 21 * kUs, 10 * kUs));
  EXPECT_TRUE(look(64, 21 * kUs, 10 * kUs));
  timed.begin(now);
  regions = 0;
  EXPECT_FALSE(look(64, 21 * kUs, 10 * kUs)) << "another residence";
  EXPECT_FALSE(look(64, 1000 * kUs, 0)) << "it is not known how long others took";
  EXPECT_FALSE(look(64, 1000 * kUs, 0));
}

}  // namespace
}  // namespace fermata::preload
