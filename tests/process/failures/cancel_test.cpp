// The team fails while operations are outstanding. Each operation ends at once with an error, its callback is
// called once, and it can be freed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "forked_members.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kMany = 40;

struct Ending {
  fermata_request* request = nullptr;
  std::vector<double> data = std::vector<double>(100, 1.0);
  int calls = 0;
  int status = FERMATA_PENDING;
};

void note(fermata_request*, int status, void* user) {
  auto& e = *static_cast<Ending*>(user);
  ++e.calls;
  e.status = status;
}

fermata_operation operation_on(Ending& e, std::size_t i) {
  fermata_operation o = in_place_sum(e.data.data(), e.data.size());
  if (i % 2 != 0) o.collective = FERMATA_BROADCAST;
  o.root = 1;
  return o;
}

// Every second operation is persistent.
void start_many(fermata_member* m, std::vector<Ending>& all, bool also_start) {
  for (std::size_t i = 0; i < kMany; i += 2) {
    const fermata_operation o = operation_on(all[i], i / 2);
    ASSERT_EQ(fermata_prepare(m, &o, &all[i].request), FERMATA_OK) << fermata_error_detail();
  }
  for (std::size_t i = 0; also_start && i < kMany; ++i) {
    const fermata_operation o = operation_on(all[i], i / 2);
    const int status =
        i % 2 == 0 ? fermata_request_start(all[i].request) : fermata_begin(m, &o, &all[i].request);
    ASSERT_EQ(status, FERMATA_OK) << fermata_error_detail();
    fermata_request_set_callback(all[i].request, note, &all[i]);
  }
}

void expect_over(std::vector<Ending>& all, int status) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].status, status) << i;
    EXPECT_EQ(all[i].calls, 1) << i;
    EXPECT_EQ(fermata_request_free(all[i].request), FERMATA_OK) << i << ": " << fermata_error_detail();
  }
}

// Member 0 starts many operations that member 1 never starts; then end(member 0, team) cancels them.
template <class End>
void with_outstanding_of(int engine, End&& end) {
  fermata_team* team = make_team(2, engine);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  std::vector<Ending> idle(kMany);
  fermata_member* other = nullptr;
  std::thread second([&] {
    ASSERT_EQ(fermata_team_join(team, 1, &other), FERMATA_OK);
    start_many(other, idle, false);
  });
  fermata_member* m = nullptr;
  ASSERT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  fermata_member_set_timeout(m, 20);
  std::vector<Ending> all(kMany);
  start_many(m, all, true);
  second.join();
  end(team, m, other, all);
  fermata_member_leave(m);
  fermata_member_leave(other);
  for (Ending& e : idle) EXPECT_EQ(fermata_request_free(e.request), FERMATA_OK);
  fermata_team_destroy(team);
}

// Runs in a team of threads, and in a team of processes of which this process has both members.
template <class End>
void with_outstanding(End&& end) {
  for (const int engine : {FERMATA_THREADS, FERMATA_PROCESSES}) {
    with_outstanding_of(engine, end);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Cancel, AbortEndsAllThatIsOutstanding) {
  with_outstanding([](fermata_team* team, fermata_member* m, fermata_member*, std::vector<Ending>& all) {
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      fermata_team_abort(team);
    });
    EXPECT_EQ(fermata_request_wait(all.back().request), FERMATA_ERR_BROKEN);
    killer.join();
    EXPECT_EQ(fermata_progress(m, 0), FERMATA_OK) << "nothing is active";
    expect_over(all, FERMATA_ERR_BROKEN);
    EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_BROKEN);
  });
}

TEST(Cancel, WhoOnlyAsksForProgressLearnsOfIt) {
  with_outstanding([](fermata_team* team, fermata_member* m, fermata_member*, std::vector<Ending>& all) {
    EXPECT_EQ(fermata_progress(m, 100), FERMATA_PENDING);
    fermata_team_abort(team);
    EXPECT_EQ(fermata_progress(m, 100), FERMATA_ERR_BROKEN);
    expect_over(all, FERMATA_ERR_BROKEN);
  });
}

TEST(Cancel, LeavingEndsOnesOwnAndTheOthersLearnWho) {
  with_outstanding([](fermata_team*, fermata_member*& m, fermata_member* other, std::vector<Ending>& all) {
    fermata_member_leave(m);
    m = nullptr;
    expect_over(all, FERMATA_ERR_BROKEN);
    fermata_member_set_timeout(other, 20);
    EXPECT_EQ(fermata_barrier(other), FERMATA_ERR_MEMBER_LOST);
    EXPECT_NE(std::string(fermata_error_detail()).find("rank 0"), std::string::npos)
        << fermata_error_detail();
  });
}

TEST(Cancel, ATimeoutLeavesAllAsTheyWere) {
  with_outstanding([](fermata_team* team, fermata_member* m, fermata_member*, std::vector<Ending>& all) {
    fermata_member_set_timeout(m, 0.02);
    for (Ending& e : all) {
      EXPECT_EQ(fermata_request_wait(e.request), FERMATA_ERR_TIMEOUT);
      EXPECT_EQ(e.calls, 0);
      EXPECT_EQ(fermata_request_free(e.request), FERMATA_ERR_BUSY);
    }
    fermata_team_abort(team);
    EXPECT_EQ(fermata_request_wait(all.front().request), FERMATA_ERR_BROKEN);
    expect_over(all, FERMATA_ERR_BROKEN);
  });
}

// Rank 1 ends the team: it aborts, leaves or exits. The other members' requests end with an error, whether
// they wait or test.
int gives_up(fermata_team* team, int members, std::atomic<int>& started, int rank, int how) {
  fermata_member* m = nullptr;
  if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 90;
  fermata_member_set_timeout(m, 20);
  std::vector<Ending> all(kMany);
  start_many(m, all, rank != 1);
  ++started;
  if (rank == 1) {
    for (int look = 0; look < 300'000 && started < members; ++look) usleep(100);
    if (how == 0) fermata_team_abort(team);
    if (how == 1) fermata_member_leave(m);
    return 0;
  }
  int status = FERMATA_PENDING;
  for (int turn = 0; turn < 200'000 && status == FERMATA_PENDING; ++turn)
    status = rank == 0 ? fermata_request_wait(all.back().request) : fermata_progress(m, 100);
  if (status != (how == 0 ? FERMATA_ERR_BROKEN : FERMATA_ERR_MEMBER_LOST)) return 91;
  if (how != 0 && std::string(fermata_error_detail()).find("rank 1") == std::string::npos) return 92;
  expect_over(all, status);
  fermata_member_leave(m);
  fermata_team_destroy(team);
  return testing::Test::HasFailure() ? 93 : 0;
}

TEST(Cancel, ByAnotherProcess) {
  for (int how = 0; how < 3; ++how)
    for (const int members : {2, 3}) {
      fermata_team* team = make_team(members, FERMATA_PROCESSES);
      ASSERT_NE(team, nullptr) << fermata_error_detail();
      const SharedCount started;
      ForkedMembers forked(members, [&](int rank) { return gives_up(team, members, *started, rank, how); });
      for (int r = 0; r < members; ++r)
        EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r << " of " << members << ", how " << how;
      fermata_team_destroy(team);
    }
}

}  // namespace
}  // namespace fermata::test
