// The knowledge proof, compared with a brute-force closure, and its reasons for a refusal.
#include <gtest/gtest.h>

#include "random_schedule.hpp"
#include "schedule/knowledge.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using test::Random;

TEST(Barrier, AgreesWithBruteForceClosure) {
  Random random(2026);
  int barriers = 0, others = 0, with_words = 0;
  for (int trial = 0; trial < 6000 / FERMATA_TEST_SCALE; ++trial) {
    const Schedule s = test::random_barrier(random, 1 + random.below(9));
    const auto structure = check_structure(s);
    ASSERT_TRUE(structure.ok()) << structure.error().message;
    const bool expected = test::is_barrier(s);
    ASSERT_EQ(verify(s, {}).ok(), expected) << "trial " << trial << ", members " << s.members;
    ++(expected ? barriers : others);
    with_words += s.words.empty() ? 0 : 1;
  }
  EXPECT_GT(barriers, 1000 / FERMATA_TEST_SCALE);
  EXPECT_GT(others, 1000 / FERMATA_TEST_SCALE);
  EXPECT_GT(with_words, 1000 / FERMATA_TEST_SCALE);
}

TEST(Barrier, NamesWhoIsMissing) {
  Schedule s;
  s.members = 3;
  s.stages = {{{{.from = 1, .to = 0}, {.from = 2, .to = 0}}}, {{{.from = 0, .to = 1}}}};
  const auto verdict = verify(s, {});
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().status, Status::kVerify);
  EXPECT_NE(verdict.error().message.find("member 2 does not know that member 0 has arrived"),
            std::string::npos)
      << verdict.error().message;
}

TEST(Barrier, ASignalCarriesWhatItsSenderHeldAtTheStagesBeginning) {
  Schedule s;  // 0 -> 1 and 1 -> 2 in one stage: 2 does not learn of 0
  s.members = 3;
  s.stages = {{{{.from = 0, .to = 1}, {.from = 1, .to = 2}}}};
  Knowledge k(s);
  k.advance(s.stages[0]);
  EXPECT_TRUE(k.knows(1, 0));
  EXPECT_TRUE(k.knows(2, 1));
  EXPECT_FALSE(k.knows(2, 0));
  EXPECT_EQ(k.known_pairs(), 5);
  EXPECT_EQ(k.first_unknown(2), 0);
}

TEST(Barrier, RowsBeyondOneWord) {
  Schedule s;
  s.members = 130;
  s.stages.resize(2);
  for (int i = 1; i < 130; ++i) {
    s.stages[0].transfers.push_back({.from = i, .to = 0});
    s.stages[1].transfers.push_back({.from = 0, .to = i});
  }
  EXPECT_TRUE(verify(s, {}).ok());
  s.stages[0].transfers.pop_back();
  EXPECT_FALSE(verify(s, {}).ok());
}

// ---- structure

Schedule two_members() {
  Schedule s;
  s.members = 2;
  s.stages = {{{{.from = 0, .to = 1}, {.from = 1, .to = 0}}}};
  return s;
}

std::string refusal(const Schedule& s) {
  const auto verdict = verify(s, {});
  return verdict ? "accepted" : verdict.error().message;
}

TEST(Structure, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(refusal(two_members()), "accepted");
  Schedule s = two_members();
  s.stages[0].transfers[0].to = 2;
  EXPECT_EQ(refusal(s), "stage 0, transfer 0: vertex out of range");
  s = two_members();
  s.stages[0].transfers[1].from = -1;
  EXPECT_EQ(refusal(s), "stage 0, transfer 1: vertex out of range");
  s = two_members();
  s.stages[0].transfers[0].to = 0;
  EXPECT_EQ(refusal(s), "stage 0, transfer 0: member 0 awaits itself");
  s = two_members();
  s.stages[0].transfers.push_back({.from = 0, .to = 1});
  EXPECT_EQ(refusal(s), "stage 0, transfer 2: member 0 signals member 1 twice in one stage");
  s = two_members();
  s.stages[0].transfers[0].action = Action::kCopy;
  EXPECT_NE(refusal(s), "accepted");
  s = two_members();
  s.members = 0;
  EXPECT_EQ(refusal(s), "members out of range");
  s = two_members();
  s.root = 2;
  EXPECT_EQ(refusal(s), "root out of range");
}

TEST(Structure, TakesCountsUpToTheirBounds) {
  const auto with = [](std::int32_t Schedule::* count, std::int32_t value) {
    Schedule s = two_members();
    s.*count = value;
    return refusal(s);
  };
  EXPECT_EQ(with(&Schedule::registers, kMaxScheduleRegisters), "accepted");
  EXPECT_EQ(with(&Schedule::registers, kMaxScheduleRegisters + 1), "registers out of range");
  EXPECT_EQ(with(&Schedule::registers, 0), "registers out of range");
  EXPECT_EQ(with(&Schedule::root, 1), "accepted");
  EXPECT_EQ(with(&Schedule::root, -1), "root out of range");
  EXPECT_EQ(with(&Schedule::members, kMaxScheduleMembers), "fewer signals than members - 1");
  EXPECT_EQ(with(&Schedule::members, kMaxScheduleMembers + 1), "members out of range");
  EXPECT_EQ(with(&Schedule::chunks, -1), "chunks out of range");
  EXPECT_EQ(with(&Schedule::chunks, kMaxScheduleChunks + 1), "chunks out of range");
  EXPECT_EQ(with(&Schedule::chunks, kMaxScheduleChunks), "a barrier has no chunks");
  Schedule s = two_members();
  s.collective = static_cast<Collective>(kCollectiveCount);
  EXPECT_EQ(refusal(s), "unknown collective");
  s.collective = static_cast<Collective>(kCollectiveCount - 1);
  EXPECT_EQ(refusal(s), "a collective with data has at least one chunk");
}

TEST(Structure, FindsARepeatedSignalAmongMany) {
  Schedule s;
  s.members = 40;
  s.stages.resize(1);
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      if (i != j) s.stages[0].transfers.push_back({.from = i, .to = j});
    }
  }
  EXPECT_EQ(refusal(s), "accepted");
  s.stages[0].transfers.push_back({.from = 17, .to = 23});
  EXPECT_NE(refusal(s).find("member 17 signals member 23 twice"), std::string::npos);
}

Schedule counter_of_two() {
  Schedule s;
  s.members = 2;
  s.words = {{.threshold = 2}};
  s.stages = {{{{.from = 0, .to = 2}, {.from = 1, .to = 2}}}, {{{.from = 2, .to = 0}, {.from = 2, .to = 1}}}};
  return s;
}

TEST(Structure, WordsMustFit) {
  EXPECT_EQ(refusal(counter_of_two()), "accepted");
  Schedule s = counter_of_two();
  s.words[0].threshold = 1;
  EXPECT_EQ(refusal(s), "word 0: threshold 1 but 2 in-edges an episode");
  s.words[0].threshold = 3;
  EXPECT_EQ(refusal(s), "word 0: threshold 3 but 2 in-edges an episode");
  s = counter_of_two();
  std::swap(s.stages[0].transfers[1], s.stages[1].transfers[0]);  // polled before it can be complete
  EXPECT_NE(refusal(s).find("is not complete before this stage"), std::string::npos);
  s = counter_of_two();
  s.words[0].agent = 0;
  EXPECT_NE(refusal(s).find("agent"), std::string::npos);
  s = counter_of_two();
  s.words.push_back({.threshold = 1, .agent = 0});
  s.stages[1].transfers.push_back({.from = 0, .to = 3});  // a member flips a phase
  EXPECT_NE(refusal(s).find("only its agent may flip it"), std::string::npos);
}

}  // namespace
}  // namespace fermata
