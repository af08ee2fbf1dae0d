// What two hosts of a team tell each other beside signals.
#include "exec/host_notices.hpp"

#include <gtest/gtest.h>

#include "bare_host.hpp"

namespace fermata::exec {
namespace {

// Rank 1 is on host 1, all others are on host 0.
struct Notices : testing::Test {
  Wire wire;
  BareHost near{{0, 1, 0}, 0}, far{{0, 1, 0}, 1};
  std::uint64_t number = 0, call = 0;
  const char* detail = "";

  void SetUp() override {
    ASSERT_EQ(near.port.connect(wire[0].port(), &detail), Status::kOk) << detail;
    ASSERT_EQ(far.port.connect(wire[1].port(), &detail), Status::kOk) << detail;
  }
};

TEST_F(Notices, WhoHasLeftIsToldToEachViewer) {
  for (const std::uint32_t viewer : {0U, 2U}) EXPECT_FALSE(near.notices.has_left(1, viewer));
  far.notices.tell_left(1);
  for (const std::uint32_t viewer : {0U, 2U}) EXPECT_TRUE(near.notices.has_left(1, viewer));
  EXPECT_FALSE(far.notices.has_left(0, 1));
  EXPECT_EQ(wire[1].written.size(), 2U) << "none to the own host";
}

TEST_F(Notices, ABreachIsToldOnce) {
  EXPECT_EQ(near.notices.told_breach().cause, 0U);
  far.notices.tell_breach({3, 2});
  far.notices.tell_breach({4, 1});
  EXPECT_EQ(near.notices.told_breach().cause, 3U);
  EXPECT_EQ(near.notices.told_breach().culprit, 2U);
  EXPECT_EQ(far.notices.told_breach().cause, 0U);
  EXPECT_EQ(wire[1].written.size(), 2U);
}

TEST_F(Notices, TheLastCallIsTold) {
  constexpr std::uint64_t kCall = 0x123456789abcdef0;
  EXPECT_FALSE(near.notices.told_call(1, 0, &number, &call));
  far.notices.tell_call(1, 40, ~kCall);
  far.notices.tell_call(1, 41, kCall);
  for (const std::uint32_t viewer : {0U, 2U}) {
    ASSERT_TRUE(near.notices.told_call(1, viewer, &number, &call)) << viewer;
    EXPECT_EQ(number, 41U);
    EXPECT_EQ(call, kCall);
  }
  EXPECT_FALSE(near.notices.told_call(1, 1, &number, &call)) << "rank 1 is no viewer";
}

TEST_F(Notices, ACallOfWhichAPartIsMissingIsNotKnown) {
  far.notices.tell_call(1, 40, 7);
  wire[1].written.clear();
  const net::Window window = wire[0].window;
  wire[0].window = {};  // from now on this test lands the lines
  far.notices.tell_call(1, 41, 8);
  std::uint64_t parts = 0;
  for (const net::Line& line : wire[1].written) {
    if (line.rank != 0) continue;
    window.land(window.team, &line, nullptr);
    EXPECT_EQ(near.notices.told_call(1, 0, &number, &call), ++parts == kSaidWords);
  }
  EXPECT_EQ(number, 41U);
  EXPECT_EQ(call, 8U);
  ASSERT_TRUE(near.notices.told_call(1, 2, &number, &call));
  EXPECT_EQ(number, 40U) << "rank 2 has not been told yet";
}

// Ranks 1 and 2 are on host 1. Each notice has a place of its own, before the slots.
TEST(HostNotices, DoNotOverlap) {
  constexpr std::uint64_t kCall = ~std::uint64_t{0};
  Wire wire;
  BareHost near{{0, 1, 1}, 0}, far{{0, 1, 1}, 1};
  const char* detail = "";
  ASSERT_EQ(near.port.connect(wire[0].port(), &detail), Status::kOk) << detail;
  ASSERT_EQ(far.port.connect(wire[1].port(), &detail), Status::kOk) << detail;
  for (const std::uint32_t rank : {1U, 2U}) far.notices.tell_call(rank, 40 + rank, kCall);
  EXPECT_EQ(near.notices.told_breach().cause, 0U);
  for (std::uint32_t pair = 0; pair < 9; ++pair) EXPECT_FALSE(near.notices.has_left(pair / 3, pair % 3));
  far.notices.tell_left(2);
  EXPECT_FALSE(near.notices.has_left(1, 0));
  EXPECT_EQ(near.notices.told_breach().cause, 0U);
  far.notices.tell_breach({255, 3});
  EXPECT_FALSE(near.notices.has_left(1, 0));
  for (const std::uint32_t rank : {1U, 2U}) {
    std::uint64_t number = 0, call = 0;
    ASSERT_TRUE(near.notices.told_call(rank, 0, &number, &call)) << rank;
    EXPECT_EQ(number, 40 + rank);
    EXPECT_EQ(call, kCall);
  }
  for (std::uint64_t at = near.slot(0); at < near.segment.bytes(); at += 8)
    ASSERT_EQ(near.word(at), 0U) << at;
}

}  // namespace
}  // namespace fermata::exec
