// The teams that members hand to the other members of their process.
#include "exec/handoffs.hpp"

#include <gtest/gtest.h>

#include "builtin_team.hpp"

namespace fermata::exec {
namespace {

// A team of processes, so that its place in another team's file shows whether it still exists.
Team* team_of_processes(Team* within) {
  const std::unique_ptr<ProgramHeader, decltype(&std::free)> barrier(make_builtin(builtin_barrier(2, 2)),
                                                                     &std::free);
  TeamOptions options;
  options.members = 2;
  options.shared = true;
  options.within = within;
  options.programs[static_cast<int>(PlanSlot::kBarrier)] = barrier.get();
  Team* team = nullptr;
  const char* detail = "";
  EXPECT_EQ(Team::create(options, &team, &detail), Status::kOk) << detail;
  return team;
}

bool exists(Team& owner, std::uint64_t place) {
  Team* team = nullptr;
  const char* detail = "";
  if (Team::attach_within(owner, place, nullptr, 0, &team, &detail) != Status::kOk) return false;
  team->release();
  return true;
}

struct HandoffsOf : testing::Test {
  Team* owner = team_of_processes(nullptr);
  Team* made = team_of_processes(owner);
  const std::uint64_t place = made->segment().memory().place();
  TeamLayout layout;

  HandoffsOf() { layout.members = 3; }
  ~HandoffsOf() override { owner->release(); }
};

TEST_F(HandoffsOf, EachRankHasItsOwn) {
  Handoffs handoffs(layout);
  EXPECT_EQ(handoffs.take(1), nullptr);
  EXPECT_EQ(handoffs.give(1, made), Status::kOk);
  EXPECT_EQ(handoffs.take(0), nullptr);
  Team* const taken = handoffs.take(1);
  EXPECT_EQ(taken, made);
  taken->release();
  made->release();
}

TEST_F(HandoffsOf, ATeamLivesUntilItIsReplaced) {
  Handoffs handoffs(layout);
  ASSERT_EQ(handoffs.give(2, made), Status::kOk);
  made->release();
  EXPECT_TRUE(exists(*owner, place)) << "what is stored has a reference";
  Team* const taken = handoffs.take(2);
  EXPECT_EQ(handoffs.give(2, nullptr), Status::kOk);
  EXPECT_EQ(handoffs.take(2), nullptr);
  EXPECT_TRUE(exists(*owner, place)) << "so has what was taken";
  taken->release();
  EXPECT_FALSE(exists(*owner, place));
}

TEST_F(HandoffsOf, TheEndReleasesAll) {
  {
    Handoffs handoffs(layout);
    ASSERT_EQ(handoffs.give(0, made), Status::kOk);
    ASSERT_EQ(handoffs.give(1, made), Status::kOk);
    made->release();
    EXPECT_TRUE(exists(*owner, place));
  }
  EXPECT_FALSE(exists(*owner, place));
}

}  // namespace
}  // namespace fermata::exec
