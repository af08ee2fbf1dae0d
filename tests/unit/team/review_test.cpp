// When an unpinned team's members are pinned later, it is planned again at an agreed call, and continues.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "os/os.hpp"
#include "team/handles.hpp"
#include "team/team.hpp"

namespace fermata {
namespace {

struct Outcome {
  std::atomic<int> moved{0};
  std::atomic<int> planned{0};
};

void repeat(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i)
    ASSERT_EQ(fermata_barrier(m), FERMATA_OK) << fermata_error_detail();
}

// Call number 4096, where the review is due, is not a barrier.
void alternate(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    std::int64_t one = 1;
    ASSERT_EQ(i % 2 == 0 ? fermata_barrier(m) : fermata_broadcast(m, &one, sizeof one, 0), FERMATA_OK)
        << fermata_error_detail();
  }
}

void reduce_only(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    std::int64_t one = 1;
    ASSERT_EQ(fermata_allreduce(m, &one, &one, 1, FERMATA_INT64, FERMATA_SUM), FERMATA_OK)
        << fermata_error_detail();
    ASSERT_EQ(one, 3);
  }
}

// No review follows these calls, nor a test with nothing to test: it would wait for members that do not
// review. The next barrier does it.
void split(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    ASSERT_EQ(fermata_arrive(m), FERMATA_OK) << fermata_error_detail();
    ASSERT_EQ(fermata_depart(m), FERMATA_OK) << fermata_error_detail();
    if (fermata_member_rank(m) != 0) continue;
    ASSERT_EQ(fermata_test(m), FERMATA_OK) << fermata_error_detail();
  }
  repeat(m, 1);
}

// Rank 0 tests before it departs, the others don't.
void split_and_ask(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    ASSERT_EQ(fermata_arrive(m), FERMATA_OK) << fermata_error_detail();
    while (fermata_member_rank(m) == 0 && fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
    ASSERT_EQ(fermata_depart(m), FERMATA_OK) << fermata_error_detail();
  }
  repeat(m, 1);
}

// Calls with and without a tag, which are the same collective.
void tag_some(fermata_member* m, std::uint64_t calls) {
  for (std::uint64_t i = 0; i < calls; ++i)
    ASSERT_EQ(fermata_member_rank(m) == 0 ? fermata_barrier(m) : fermata_barrier_tagged(m, 7), FERMATA_OK)
        << fermata_error_detail();
}

// A request begun before the call at which the review is due, and waited for after it.
void with_request(fermata_member* m, std::uint64_t calls) {
  std::vector<double> ones(1000, 1);
  const fermata_operation sum = test::in_place_sum(ones.data(), ones.size());
  fermata_request* request = nullptr;
  ASSERT_EQ(fermata_begin(m, &sum, &request), FERMATA_OK) << fermata_error_detail();
  repeat(m, calls);
  ASSERT_EQ(fermata_request_wait(request), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(ones, std::vector<double>(1000, 3));
  fermata_request_free(request);
}

using Calls = void (*)(fermata_member*, std::uint64_t);

void run(fermata_team* team, int rank, bool pin, Calls calls, Outcome& outcome) {
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
  calls(m, team::kFirstReview + 100);
  for (int i = 0; i < 50; ++i) {
    sum = rank + 1;
    ASSERT_EQ(fermata_allreduce(m, &sum, &sum, 1, FERMATA_INT64, FERMATA_SUM), FERMATA_OK);
  }
  EXPECT_EQ(sum, 6);
  if (&m->member->team() != before) ++outcome.moved;
  if (team::cpus_of(m->member->team()).size() == 3 &&
      team::cpus_of(m->member->team())[static_cast<std::size_t>(rank)] == cpus[rank % n])
    ++outcome.planned;
  fermata_member_leave(m);
}

void with_team(bool pin, Calls calls, Outcome& outcome, const std::function<void()>& before_they_join = {}) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 3;
  if (before_they_join) config.engine = FERMATA_PROCESSES;  // its segment is a file
  config.tagged = calls == tag_some ? 1 : 0;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  if (before_they_join) before_they_join();
  std::vector<std::thread> workers;
  for (int r = 0; r < 3; ++r) workers.emplace_back([&, r] { run(team, r, pin, calls, outcome); });
  for (std::thread& t : workers) t.join();
  fermata_team_destroy(team);
}

TEST(Review, PinnedMembersMoveToAPlanForTheirCpus) {
  for (const Calls calls : {repeat, alternate, reduce_only, split, split_and_ask, tag_some}) {
    Outcome outcome;
    with_team(true, calls, outcome);
    EXPECT_EQ(outcome.moved.load(), 3);
    EXPECT_EQ(outcome.planned.load(), 3);
  }
}

// The team stays: requests refer to its memory.
TEST(Review, PinnedMembersWithRequestsStay) {
  Outcome outcome;
  with_team(true, with_request, outcome);
  EXPECT_EQ(outcome.moved.load(), 0);
}

// Files may not grow, so there is no segment for the new team. All members go on in the old one.
TEST(Review, MembersStayIfTheNewTeamCannotBeMade) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  Outcome outcome;
  with_team(true, repeat, outcome, [&] {
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(outcome.moved.load(), 0);
}

// A team that has moved is reviewed again.
TEST(Review, MembersPinnedElsewhereMoveOn) {
  std::int32_t cpus[1024];
  if (os::affinity_list(cpus, 1024) == 1) GTEST_SKIP() << "one CPU: there is no elsewhere";
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::vector<std::int32_t> planned[2];
  std::vector<std::thread> workers;
  for (int r = 0; r < 2; ++r)
    workers.emplace_back([&, r] {
      ASSERT_EQ(fermata_pin(cpus[r]), FERMATA_OK);
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK) << fermata_error_detail();
      repeat(m, team::kFirstReview + 1);
      ASSERT_EQ(team::cpus_of(m->member->team())[static_cast<std::size_t>(r)], cpus[r]);
      ASSERT_EQ(fermata_pin(cpus[1 - r]), FERMATA_OK);
      repeat(m, team::kFirstReview * team::kReviewStep + 1);
      planned[r] = team::cpus_of(m->member->team());
      EXPECT_EQ(&m->member->team(), &team->current());  // which reports and aborts follow
      EXPECT_EQ(fermata_member_set_timeout(m, 60), FERMATA_OK);
      repeat(m, 1);
      if (r == 0) fermata_team_abort(team);
      int status = FERMATA_OK;
      for (int i = 0; i < 40'000 && status == FERMATA_OK; ++i) status = fermata_barrier(m);
      EXPECT_EQ(status, FERMATA_ERR_BROKEN) << fermata_error_detail();
      fermata_member_leave(m);
    });
  for (std::thread& t : workers) t.join();
  fermata_team_destroy(team);
  for (const auto& of : planned) EXPECT_EQ(of, (std::vector<std::int32_t>{cpus[1], cpus[0]}));
}

// An idle hook that interrupts every wait after the call at which the first review is due.
struct Hooked {
  std::atomic<bool> called{false};
  static int call(fermata_member* m, void* self) {
    if (m->member->calls() <= team::kFirstReview) return 0;
    static_cast<Hooked*>(self)->called = true;
    return 1;
  }
};

// A member whose call times out there takes part in the review as well. The other waits for it in the review.
// Neither its time limit nor its hook ends that wait.
TEST(Review, ATimeoutInTheCallThatIsDue) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::atomic<bool> timed_out{false};
  Hooked hooked;
  std::vector<std::thread> workers;
  for (int r = 0; r < 2; ++r)
    workers.emplace_back([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK) << fermata_error_detail();
      ASSERT_EQ(fermata_member_set_timeout(m, 60), FERMATA_OK);
      repeat(m, team::kFirstReview - 1);
      if (r == 0) {
        while (!timed_out) std::this_thread::yield();
        fermata_member_set_idle_hook(m, Hooked::call, &hooked);
        repeat(m, 1);
        fermata_member_set_idle_hook(m, nullptr, nullptr);
      } else {
        fermata_member_set_timeout(m, 0.01);
        ASSERT_EQ(fermata_barrier(m), FERMATA_ERR_TIMEOUT);
        timed_out = true;
        while (!hooked.called) std::this_thread::yield();
        fermata_member_set_timeout(m, 60);
        ASSERT_EQ(fermata_resume(m), FERMATA_OK) << fermata_error_detail();
      }
      std::int64_t one = 1;
      ASSERT_EQ(fermata_allreduce(m, &one, &one, 1, FERMATA_INT64, FERMATA_SUM), FERMATA_OK)
          << fermata_error_detail();
      EXPECT_EQ(one, 2);
      fermata_member_leave(m);
    });
  for (std::thread& t : workers) t.join();
  fermata_team_destroy(team);
}

TEST(Review, UnpinnedMembersStay) {
  if (os::affinity_count() == 1) GTEST_SKIP() << "one CPU: every thread is pinned";
  Outcome outcome;
  with_team(false, repeat, outcome);
  EXPECT_EQ(outcome.moved.load(), 0);
}

}  // namespace
}  // namespace fermata
