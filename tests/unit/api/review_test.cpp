// An unpinned team that was pinned later is planned again, at an agreed call, and goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "os/os.hpp"

namespace fermata {
namespace {

struct Outcome {
  std::atomic<int> moved{0};
  std::atomic<int> planned{0};
};

void run(fermata_team* team, int rank, bool pin, Outcome& outcome) {
  std::int32_t cpus[1024];
  const std::int32_t n = os::affinity_list(cpus, 1024);
  if (pin) {
    ASSERT_EQ(fermata_pin(cpus[rank % n]), FERMATA_OK);
  }
  fermata_member* m = nullptr;
  ASSERT_EQ(fermata_team_join(team, rank, &m), FERMATA_OK) << fermata_error_detail();
  const exec::Team* before = &m->member->team();
  ASSERT_EQ(fermata_member_set_timeout(m, 60), FERMATA_OK);
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < api::kFirstReview + 100; ++i) ASSERT_EQ(fermata_barrier(m), FERMATA_OK) << fermata_error_detail();
  for (int i = 0; i < 50; ++i) {
    sum = rank + 1;
    ASSERT_EQ(fermata_allreduce(m, &sum, &sum, 1, FERMATA_INT64, FERMATA_SUM), FERMATA_OK);
  }
  EXPECT_EQ(sum, 6);
  if (&m->member->team() != before) ++outcome.moved;
  if (m->planned_for.size() == 3 && m->planned_for[static_cast<std::size_t>(rank)] == cpus[rank % n]) ++outcome.planned;
  fermata_member_leave(m);
}

void with_team(bool pin, Outcome& outcome) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 3;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::vector<std::thread> crew;
  for (int r = 0; r < 3; ++r) crew.emplace_back([&, r] { run(team, r, pin, outcome); });
  for (std::thread& t : crew) t.join();
  fermata_team_destroy(team);
}

TEST(Review, PinnedMembersMoveToAPlanForTheirCpus) {
  Outcome outcome;
  with_team(true, outcome);
  EXPECT_EQ(outcome.moved.load(), 3);
  EXPECT_EQ(outcome.planned.load(), 3);
}

TEST(Review, UnpinnedMembersStay) {
  if (os::affinity_count() == 1) GTEST_SKIP() << "one CPU: every thread is pinned";
  Outcome outcome;
  with_team(false, outcome);
  EXPECT_EQ(outcome.moved.load(), 0);
}

}  // namespace
}  // namespace fermata
