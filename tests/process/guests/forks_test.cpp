// A child is forked while another thread is in a call of Fermata. The child lacks that thread, and the locks
// that the thread held have no owner there.
#include <fermata/fermata.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <thread>

#include "../../operation.hpp"
#include "../failures/forked_members.hpp"
#include "child.hpp"

namespace fermata {
namespace {

constexpr std::int64_t kMostNs = 20'000'000'000;

int make_team() {
  fermata_team* const team = test::make_team(2, FERMATA_THREADS);
  fermata_team_destroy(team);
  return team != nullptr ? 0 : 1;
}

// A process's first team reads the machine and its profile, which takes milliseconds.
int first_teams() {
  std::thread first([] { make_team(); });
  usleep(2000);
  const int result = in_child(kMostNs, make_team);
  first.join();
  return result;
}

TEST(Forks, WhileAnotherThreadMakesTheFirstTeam) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator keeps its locks in a forked child";
#endif
  for (int i = 0; i < 5; ++i) EXPECT_EQ(in_child(2 * kMostNs, first_teams), 0);
}

TEST(Forks, WhileAnotherThreadSwitchesTheProgressThread) {
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    while (!stop.load())
      for (const int on : {1, 0}) fermata_progress_thread(on);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(in_child(kMostNs, [] { return fermata_progress_thread(0); }), 0);
  stop.store(true);
  switcher.join();
}

// The parent's requests do not belong to the child. No call advances them in the child, whichever thread held
// the biased lock at the fork.
int no_call_is_allowed(fermata_member* member, fermata_request* request) {
  std::size_t index = 0;
  const int said[] = {fermata_request_test(request),
                      fermata_request_wait(request),
                      fermata_request_start(request),
                      fermata_request_test_any(&request, 1, &index),
                      fermata_request_wait_any(&request, 1, &index),
                      fermata_request_wait_all(&request, 1),
                      fermata_progress(member, 0),
                      fermata_progress(member, 1000),
                      fermata_barrier(member),
                      fermata_resume(member)};
  for (int i = 0; i < static_cast<int>(std::size(said)); ++i)
    if (said[i] != FERMATA_ERR_FORKED) return 10 + i;
  return 0;
}

void forks_with_a_request(int engine) {
  fermata_team* const team = test::make_team(2, engine);
  fermata_member* members[2] = {};
  for (int r = 0; r < 2; ++r) ASSERT_EQ(fermata_team_join(team, r, &members[r]), FERMATA_OK);
  const std::int32_t in[2] = {1, 2};
  std::int32_t out[2] = {};
  fermata_request* requests[2] = {};
  const auto begin = [&](int r) {
    const fermata_operation sum = test::operation(FERMATA_ALLREDUCE, &in[r], &out[r], 1, FERMATA_INT32);
    return fermata_begin(members[r], &sum, &requests[r]);
  };
  ASSERT_EQ(begin(0), FERMATA_OK);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(in_child(kMostNs, [&] { return no_call_is_allowed(members[0], requests[0]); }), 0);
  EXPECT_EQ(fermata_request_test(requests[0]), FERMATA_PENDING);
  ASSERT_EQ(begin(1), FERMATA_OK);
  EXPECT_EQ(fermata_request_wait_all(requests, 2), FERMATA_OK);
  for (const std::int32_t sum : out) EXPECT_EQ(sum, 3);
  for (int r = 0; r < 2; ++r) {
    fermata_request_free(requests[r]);
    fermata_member_leave(members[r]);
  }
  fermata_team_destroy(team);
}

TEST(Forks, AChildHasNoRequestsOfItsParents) {
  for (const int engine : {FERMATA_THREADS, FERMATA_PROCESSES}) forks_with_a_request(engine);
  ASSERT_EQ(fermata_progress_thread(1), FERMATA_OK);
  for (const int engine : {FERMATA_THREADS, FERMATA_PROCESSES}) forks_with_a_request(engine);
  EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK);
}

}  // namespace
}  // namespace fermata
