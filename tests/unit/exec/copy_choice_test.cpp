// Which way long pieces are copied into a ring, by pretended times.
#include "exec/copy_choice.hpp"

#include <gtest/gtest.h>

namespace fermata::exec {
namespace {

constexpr std::size_t kBytes = 10'000;

// Copies that many pieces; returns how many of them went past the caches.
std::uint32_t past_caches(CopyChoice& choice, std::uint32_t pieces, std::int64_t past_ns,
                          std::int64_t through_ns) {
  std::uint32_t past = 0;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const bool is_past = choice.is_past_caches();
    past += is_past ? 1 : 0;
    choice.count(kBytes, !choice.is_timed() ? 0 : is_past ? past_ns : through_ns);
  }
  return past;
}

TEST(CopyChoice, BeginsPastTheCachesAndStaysWithATryThatIsNotSlow) {
  CopyChoice choice;
  EXPECT_EQ(past_caches(choice, CopyChoice::kLeastRest, 300, 900), CopyChoice::kLeastRest);
  EXPECT_EQ(past_caches(choice, 100'000, 300, 900), 0U);
}

TEST(CopyChoice, SlowTriesAreShortAndBecomeRare) {
  CopyChoice choice;
  constexpr std::uint32_t kMost = CopyChoice::kSlow * CopyChoice::kTimed;  // pieces of a try
  std::uint32_t rest = CopyChoice::kLeastRest;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(past_caches(choice, rest, 300, 4000), rest);
    std::uint32_t tried = 0;
    for (; !choice.is_past_caches(); ++tried) past_caches(choice, 1, 300, 4000);
    EXPECT_GT(tried, 0U);
    EXPECT_LE(tried, kMost);
    rest = rest < CopyChoice::kMostRest ? 2 * rest : CopyChoice::kMostRest;
  }
}

TEST(CopyChoice, FollowsCpusThatMoveApartAndTogether) {
  CopyChoice choice;
  past_caches(choice, CopyChoice::kLeastRest + CopyChoice::kLong, 300, 900);
  EXPECT_FALSE(choice.is_past_caches());
  past_caches(choice, (CopyChoice::kSlow - 1) * CopyChoice::kTimed + 1, 300, 4000);  // apart
  EXPECT_TRUE(choice.is_past_caches());
  // The try before has lasted, so the rest is short again.
  EXPECT_EQ(past_caches(choice, 2 * CopyChoice::kLeastRest, 300, 900), CopyChoice::kLeastRest);
  EXPECT_FALSE(choice.is_past_caches());
}

TEST(CopyChoice, ADisturbedPieceEndsNoTry) {
  CopyChoice choice;
  past_caches(choice, CopyChoice::kLeastRest, 300, 900);
  for (int i = 0; i < 100; ++i) {
    past_caches(choice, CopyChoice::kTimed, 300, 1'000'000);
    EXPECT_EQ(past_caches(choice, 3 * CopyChoice::kTimed, 300, 900), 0U);
  }
}

}  // namespace
}  // namespace fermata::exec
