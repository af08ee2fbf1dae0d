// What a member publishes of its calls, remembers of them and undoes, without a team.
#include "exec/call_log.hpp"

#include <gtest/gtest.h>

namespace fermata::exec {
namespace {

Call broadcast(std::uint64_t bytes, std::uint32_t root = 1) {
  return {.collective = Collective::kBroadcast, .root = root, .bytes = bytes, .order = Call::kLineOrder};
}

void make(CallLog& log, const Call& call) {
  log.say(call.packed());
  if (!synchronizes(call.collective)) log.remember(call.packed());
  log.say_over();
}

TEST(CallLog, PublishesTheNewestCallAndWhetherItIsOver) {
  StatusLine line{};
  CallLog log(line);
  log.say(broadcast(8).packed());
  EXPECT_EQ(log.sequence(), 1U);
  EXPECT_EQ(newest_call<RealAtomics>(line), 2U);
  log.say_over();
  EXPECT_EQ(newest_call<RealAtomics>(line), 3U);
  std::uint64_t call = 0;
  EXPECT_EQ(recall<RealAtomics>(line, 1, call), Recalled::kKnown);
  EXPECT_EQ(call, broadcast(8).packed());
}

TEST(CallLog, TheTagOfTheNextCallDependsOnTheRememberedOnes) {
  StatusLine lines[2] = {};
  CallLog one(lines[0]), other(lines[1]);
  make(one, broadcast(8));
  make(other, broadcast(8));
  make(other, Call{});  // a barrier synchronizes, so it is no part of the history
  EXPECT_EQ(one.history().tag(0), other.history().tag(0));
  make(one, broadcast(8));
  make(other, broadcast(16));
  EXPECT_NE(one.history().tag(0), other.history().tag(0));
}

TEST(CallLog, LengthsOfABoundedTeamAreNotCompared) {
  StatusLine lines[2] = {};
  CallLog one(lines[0]), other(lines[1]);
  one.set_bounded(true);
  other.set_bounded(true);
  make(one, broadcast(8));
  make(other, broadcast(16));
  EXPECT_EQ(one.history().digest(), other.history().digest());
  make(one, broadcast(8, 1));
  make(other, broadcast(8, 2));
  EXPECT_NE(one.history().digest(), other.history().digest());
}

TEST(CallLog, ARetractedCallLeavesNoTrace) {
  for (const bool bounded : {false, true}) {
    StatusLine line{};
    CallLog log(line);
    log.set_bounded(bounded);
    make(log, broadcast(8));
    const std::uint64_t before = log.history().digest();
    log.say(broadcast(24).packed());
    log.remember(broadcast(24).packed());
    EXPECT_EQ(log.own(), broadcast(24).packed());
    log.retract(bounded);
    EXPECT_EQ(log.history().digest(), before);
    EXPECT_EQ(log.sequence(), 1U);
    EXPECT_EQ(log.adapted(), bounded ? 2U : 0U);
  }
}

TEST(CallLog, FindsItsCallsEvenIfAnotherMemberOverwritesTheLine) {
  StatusLine line{};
  CallLog log(line);
  make(log, Call{});
  make(log, broadcast(8));
  std::uint64_t call = 0;
  ASSERT_TRUE(log.find(1, &call));
  EXPECT_EQ(call, Call{}.packed());
  EXPECT_FALSE(log.find(3, &call));
  for (auto& descriptor : line.calls) descriptor.store(broadcast(56).packed());
  ASSERT_TRUE(log.find(2, &call));  // not from the line
  EXPECT_EQ(call, broadcast(8).packed());
  log.say(Call{}.packed());
  line.calls[3].store(broadcast(56).packed());
  EXPECT_FALSE(log.find(3, &call));  // the present call was no broadcast, or it would be remembered
}

TEST(CallLog, ForgetsCallsThatTheLineNoLongerHas) {
  StatusLine line{};
  CallLog log(line);
  for (std::uint64_t n = 0; n <= kCallsKept<StatusLine>; ++n) make(log, Call{});
  std::uint64_t call = 0;
  EXPECT_FALSE(log.find(1, &call));
  EXPECT_TRUE(log.find(log.sequence(), &call));
}

TEST(CallLog, UnorderedStartsCountForParkingAlone) {
  StatusLine line{};
  CallLog log(line);
  make(log, Call{});
  log.count_unordered_start();
  EXPECT_EQ(log.sequence(), 1U);
  EXPECT_EQ(log.paced_calls(), 2U);
}

TEST(CallLog, AReviewIsDueFromItsCallOn) {
  StatusLine line{};
  CallLog log(line);
  make(log, Call{});
  EXPECT_FALSE(log.review_due());
  log.set_review(2);
  EXPECT_FALSE(log.review_due());
  make(log, Call{});
  EXPECT_TRUE(log.review_due());
  log.set_review(kNoReview);
  EXPECT_FALSE(log.review_due());
}

}  // namespace
}  // namespace fermata::exec
