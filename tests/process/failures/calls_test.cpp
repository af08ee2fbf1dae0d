// Mismatched calls and tags, time-outs, stalls, aborts, served and split teams.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "forked_members.hpp"

namespace fermata::test {
namespace {

// Runs one thread per member, each with its own handle.
template <class Body>
void with_threads(fermata_team* team, int members, Body&& body) {
  std::vector<std::thread> forked;
  for (int r = 0; r < members; ++r)
    forked.emplace_back([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK) << fermata_error_detail();
      body(m, r);
      fermata_member_leave(m);
    });
  for (std::thread& t : forked) t.join();
}

TEST(Mismatch, DifferentCallsAreNamed) {
  fermata_team* team = make_team(3, FERMATA_THREADS);
  with_threads(team, 3, [](fermata_member* m, int r) {
    double x = 1;
    const int status =
        r == 1 ? fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM) : fermata_barrier(m);
    EXPECT_EQ(status, FERMATA_ERR_MISMATCH);
  });
  fermata_team_destroy(team);
}

TEST(Mismatch, DetailNamesBothCalls) {
  fermata_team* team = make_team(2, FERMATA_THREADS);
  std::atomic<int> named{0};
  with_threads(team, 2, [&](fermata_member* m, int r) {
    double x = 1;
    const int status =
        r == 1 ? fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM) : fermata_barrier(m);
    EXPECT_EQ(status, FERMATA_ERR_MISMATCH);
    if (std::strstr(fermata_error_detail(), "barrier") && std::strstr(fermata_error_detail(), "allreduce"))
      ++named;
  });
  EXPECT_GE(named.load(), 1);
  fermata_team_destroy(team);
}

TEST(Tags, EqualPassDifferentFailEverywhereAndTheTeamGoesOn) {
  for (const int members : {2, 3, 5}) {
    fermata_team* team = make_team(members, FERMATA_THREADS, FERMATA_WAIT_AUTO, true);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    with_threads(team, members, [&](fermata_member* m, int r) {
      EXPECT_EQ(fermata_barrier_tagged(m, 7), FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(r == 0 ? fermata_barrier(m) : fermata_barrier_tagged(m, 0), FERMATA_OK);
      EXPECT_EQ(fermata_barrier_tagged(m, r == 1 ? 9 : 8), FERMATA_ERR_MISMATCH);
      EXPECT_EQ(r == 0 ? fermata_barrier(m) : fermata_barrier_tagged(m, r == 1 ? 0xffffffffu : 0),
                members == 2 ? FERMATA_OK : FERMATA_ERR_MISMATCH);
      EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
      EXPECT_EQ(fermata_barrier_tagged(m, 0xffffffffu), FERMATA_OK);
    });
    fermata_team_destroy(team);
  }
  fermata_team* plain = make_team(1, FERMATA_THREADS);
  with_threads(plain, 1, [](fermata_member* m, int) {
    EXPECT_EQ(fermata_barrier_tagged(m, 1), FERMATA_ERR_UNSUPPORTED);
  });
  fermata_team_destroy(plain);
}

TEST(Tags, OfProcesses) {
  for (const int members : {2, 3, 5}) {
    fermata_team* team = make_team(members, FERMATA_PROCESSES, FERMATA_WAIT_AUTO, true);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    ForkedMembers forked(members, [&](int r) {
      fermata_member* m = nullptr;
      if (fermata_team_join(team, r, &m) != FERMATA_OK) return 90;
      fermata_member_set_timeout(m, 20);
      if (fermata_barrier_tagged(m, 7) != FERMATA_OK) return 91;
      if ((r == 0 ? fermata_barrier(m) : fermata_barrier_tagged(m, 0)) != FERMATA_OK) return 92;
      if (fermata_barrier_tagged(m, r == 1 ? 9 : 8) != FERMATA_ERR_MISMATCH) return 93;
      return fermata_barrier_tagged(m, 0xffffffffu) == FERMATA_OK ? 0 : 94;
    });
    for (int r = 0; r < members; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r << " of " << members;
    fermata_team_destroy(team);
  }
}

TEST(Timeout, LeavesTheOperationOutstandingAndResumes) {
  for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK}) {
    fermata_team* team = make_team(2, FERMATA_THREADS, wait);
    std::atomic<bool> timed_out{false};
    with_threads(team, 2, [&](fermata_member* m, int r) {
      if (r == 1) {
        while (!timed_out) std::this_thread::yield();
        EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
      } else {
        fermata_member_set_timeout(m, 0.02);
        EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_TIMEOUT);
        EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_BUSY);
        timed_out = true;
        fermata_member_set_timeout(m, 20);
        EXPECT_EQ(fermata_resume(m), FERMATA_OK);
      }
      EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
      EXPECT_EQ(fermata_resume(m), FERMATA_ERR_ARGUMENT);
    });
    fermata_team_destroy(team);
  }
}

TEST(IdleHook, IsCalledByEveryPolicyAndCanInterrupt) {
  for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK}) {
    fermata_team* team = make_team(2, FERMATA_THREADS, wait);
    std::atomic<int> calls{0};
    with_threads(team, 2, [&](fermata_member* m, int r) {
      if (r == 1) {
        while (calls < 3) std::this_thread::yield();
        EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
        return;
      }
      const auto hook = [](fermata_member*, void* user) {
        return ++*static_cast<std::atomic<int>*>(user) >= 3 ? 1 : 0;
      };
      fermata_member_set_idle_hook(m, hook, &calls);
      EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_INTERRUPTED);
      fermata_member_set_idle_hook(m, nullptr, nullptr);
      EXPECT_EQ(fermata_resume(m), FERMATA_OK);
    });
    fermata_team_destroy(team);
  }
}

TEST(Abort, WakesAllAndSticks) {
  fermata_team* team = make_team(3, FERMATA_THREADS, FERMATA_WAIT_PARK);
  std::atomic<int> waiting{0};
  std::thread killer([&] {
    while (waiting < 2) std::this_thread::yield();
    usleep(30'000);
    fermata_team_abort(team);
  });
  with_threads(team, 3, [&](fermata_member* m, int r) {
    if (r == 2) return;
    ++waiting;
    const int status = fermata_barrier(m);
    EXPECT_TRUE(status == FERMATA_ERR_BROKEN || status == FERMATA_ERR_MEMBER_LOST) << status;
    EXPECT_EQ(fermata_barrier(m), status);
  });
  killer.join();
  fermata_team_destroy(team);
}

// A member of a team of one never waits.
TEST(Abort, IsSeenByWhoNeverWaits) {
  constexpr int kMostCalls = 40'000;
  const std::vector<std::pair<const char*, std::function<int(fermata_member*, std::vector<double>&)>>> calls =
      {
          {"barrier", [](fermata_member* m, std::vector<double>&) { return fermata_barrier(m); }},
          {"one word",
           [](fermata_member* m, auto& x) {
             return fermata_allreduce(m, x.data(), x.data(), 1, FERMATA_DOUBLE, FERMATA_SUM);
           }},
          {"a line",
           [](fermata_member* m, auto& x) {
             return fermata_allreduce(m, x.data(), x.data(), 7, FERMATA_DOUBLE, FERMATA_SUM);
           }},
          {"broadcast", [](fermata_member* m, auto& x) { return fermata_broadcast(m, x.data(), 8, 0); }},
          {"blocks",
           [](fermata_member* m, auto& x) { return fermata_broadcast(m, x.data(), 8 * x.size(), 0); }},
      };
  for (const auto& [name, call] : calls) {
    fermata_team* team = make_team(1, FERMATA_THREADS);
    fermata_member* m = nullptr;
    ASSERT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK) << fermata_error_detail();
    std::vector<double> data(100);
    EXPECT_EQ(call(m, data), FERMATA_OK) << name;
    fermata_team_abort(team);
    int status = FERMATA_OK;
    for (int i = 0; status == FERMATA_OK && i < kMostCalls; ++i) status = call(m, data);
    EXPECT_EQ(status, FERMATA_ERR_BROKEN) << name;
    EXPECT_EQ(call(m, data), FERMATA_ERR_BROKEN) << name;
    EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_BROKEN) << name;
    fermata_member_leave(m);
    fermata_team_destroy(team);
  }
}

// Returns what a separate process writes to stderr. That process has to exit with 0.
std::string stderr_of(const std::function<int()>& body) {
  int out[2];
  EXPECT_EQ(pipe(out), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], STDERR_FILENO);
    _exit(body());
  }
  close(out[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(out[0]);
  int how = 0;
  waitpid(pid, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 0) << text;
  return text;
}

TEST(Stall, TheReportNamesTheMissing) {
  const std::string text = stderr_of([] {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    config.stall_seconds = 0.05;
    fermata_team* team = nullptr;
    if (fermata_team_create(&config, &team) != FERMATA_OK) return 1;
    fermata_member* m = nullptr;
    if (fermata_team_join(team, 0, &m) != FERMATA_OK) return 1;
    fermata_member_set_timeout(m, 0.2);
    return fermata_barrier(m) == FERMATA_ERR_TIMEOUT ? 0 : 1;
  });
  EXPECT_NE(text.find("rank 0 has waited"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 (process 0, thread 0) has not joined"), std::string::npos) << text;
}

// Rank 0 has left the reduction in which rank 1, its root, waits for rank 2.
TEST(Stall, TheReportSaysWhatEachIsIn) {
  const std::string text = stderr_of([] {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 3;
    fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
    request.members = 3;
    request.collective = FERMATA_REDUCE;
    request.payload = 8;
    request.algorithm = "linear";
    fermata_plan* plan = nullptr;
    if (fermata_plan_make(&request, &plan) != FERMATA_OK) return 1;
    const fermata_plan* plans[] = {plan};
    config.plans = plans;
    config.plan_count = 1;
    config.stall_seconds = 0.05;
    fermata_team* team = nullptr;
    if (fermata_team_create(&config, &team) != FERMATA_OK) return 2;
    fermata_member* m[3];
    for (int r = 0; r < 3; ++r)
      if (fermata_team_join(team, r, &m[r]) != FERMATA_OK) return 3;
    const double one = 1;
    double sum = 0;
    std::thread root([&] {
      fermata_member_set_timeout(m[1], 3);
      fermata_reduce(m[1], &one, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM, 1);
    });
    if (fermata_reduce(m[0], &one, nullptr, 1, FERMATA_DOUBLE, FERMATA_SUM, 1) != FERMATA_OK) return 4;
    if (!comes_to_say(team, 1, "is in call 1")) return 6;
    fermata_member_set_timeout(m[0], 0.4);
    const int status = fermata_barrier(m[0]);
    root.join();
    return status == FERMATA_ERR_TIMEOUT ? 0 : 5;
  });
  const std::size_t begin = text.find("rank 0 has waited");
  ASSERT_NE(begin, std::string::npos) << text;
  const std::string report = text.substr(begin, text.find("fermata:", begin) - begin);
  EXPECT_NE(report.find("in call 2 for:"), std::string::npos) << text;
  EXPECT_NE(report.find("is in call 1, reduce(double, sum, 8 bytes, root 1)"), std::string::npos) << text;
  EXPECT_NE(report.find("rank 2 (process"), std::string::npos) << text;
  EXPECT_NE(report.find("has called nothing yet"), std::string::npos) << text;
}

TEST(Serve, UnrelatedProcessesAttach) {
  const std::string name = "test." + std::to_string(getpid());
  ForkedMembers forked(3, [&](int rank) {
    fermata_team* team = nullptr;
    if (rank == 0) {
      team = make_team(3, FERMATA_PROCESSES);
      if (team == nullptr || fermata_team_serve(team, name.c_str(), 2, 20) != FERMATA_OK) return 90;
    } else if (fermata_team_attach(name.c_str(), 20, &team) != FERMATA_OK) {
      return 91;
    }
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 92;
    fermata_member_set_timeout(m, 20);
    double x = rank + 1;
    if (fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM) != FERMATA_OK) return 93;
    fermata_member_leave(m);
    fermata_team_destroy(team);
    return x == 6.0 ? 0 : 94;
  });
  for (int r = 0; r < 3; ++r) EXPECT_EQ(forked.wait_for(r), 0);
  fermata_team* none = nullptr;
  EXPECT_EQ(fermata_team_attach(name.c_str(), 0.05, &none), FERMATA_ERR_TIMEOUT);
}

int split_and_sum(fermata_member* m, int rank) {
  const int colour = rank == 4 ? -1 : rank % 2;
  fermata_member* sub = nullptr;
  if (fermata_team_split(m, colour, -rank, &sub) != FERMATA_OK) return 80;
  if (colour < 0) return sub == nullptr && fermata_barrier(m) == FERMATA_OK ? 0 : 81;
  // Keys descend with the rank, so the new ranks descend with it, too.
  if (fermata_member_count(sub) != 2 || fermata_member_rank(sub) != (rank < 2 ? 1 : 0)) return 82;
  int sum = rank;
  for (int e = 0; e < 20; ++e) {
    sum = rank;
    if (fermata_allreduce(sub, &sum, &sum, 1, FERMATA_INT32, FERMATA_SUM) != FERMATA_OK) return 83;
  }
  fermata_member_leave(sub);
  if (fermata_barrier(m) != FERMATA_OK) return 84;
  return sum == (colour == 0 ? 0 + 2 : 1 + 3) ? 0 : 85;
}

TEST(Split, ThreadsByColourAndKey) {
  fermata_team* team = make_team(5, FERMATA_THREADS);
  with_threads(team, 5,
               [](fermata_member* m, int r) { EXPECT_EQ(split_and_sum(m, r), 0) << fermata_error_detail(); });
  fermata_team_destroy(team);
}

TEST(Split, ProcessesByColourAndKey) {
  fermata_team* team = make_team(5, FERMATA_PROCESSES);
  ForkedMembers forked(5, [&](int rank) {
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 92;
    fermata_member_set_timeout(m, 60);
    const int code = split_and_sum(m, rank);
    fermata_member_leave(m);
    return code;
  });
  for (int r = 0; r < 5; ++r) EXPECT_EQ(forked.wait_for(r), 0) << r;
  fermata_team_destroy(team);
}

TEST(SplitPhase, ArriveTestDepart) {
  fermata_team* team = make_team(2, FERMATA_THREADS);
  std::atomic<int> stage{0};
  with_threads(team, 2, [&](fermata_member* m, int r) {
    if (r == 0) {
      EXPECT_EQ(fermata_arrive(m), FERMATA_OK);
      EXPECT_EQ(fermata_test(m), FERMATA_PENDING);
      EXPECT_EQ(fermata_arrive(m), FERMATA_ERR_BUSY);
      stage = 1;
      while (fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
      EXPECT_EQ(fermata_depart(m), FERMATA_OK);
      EXPECT_EQ(fermata_depart(m), FERMATA_ERR_ARGUMENT);
    } else {
      while (stage == 0) std::this_thread::yield();
      EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
    }
  });
  fermata_team_destroy(team);
}

TEST(Arguments, BadOnesAreRefusedAndChangeNothing) {
  fermata_team* team = make_team(2, FERMATA_THREADS);
  with_threads(team, 2, [](fermata_member* m, int) {
    double x[8] = {};
    EXPECT_EQ(fermata_allreduce(m, x, x, SIZE_MAX, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, SIZE_MAX / 8, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, 17, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_DOUBLE, FERMATA_XOR), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_BFLOAT16, FERMATA_OR), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_DOUBLE, FERMATA_MINLOC), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_DOUBLE_INT, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_INT16_INT + 1, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 1, FERMATA_DOUBLE, FERMATA_MAXLOC + 1), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, nullptr, x, 8, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, nullptr, x, 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_reduce(m, x, x, 1, FERMATA_DOUBLE, FERMATA_SUM, 2), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_reduce(m, x, x, 1, FERMATA_DOUBLE, FERMATA_SUM, -1), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_broadcast(m, x, 57, 2), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_broadcast(m, nullptr, 57, 0), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allreduce(m, x, x, 0, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
    EXPECT_EQ(fermata_broadcast(m, nullptr, 0, 1), FERMATA_OK);
    EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
  });
  fermata_member* late = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &late), FERMATA_ERR_BUSY);
  EXPECT_EQ(fermata_team_join(team, 5, &late), FERMATA_ERR_ARGUMENT);
  fermata_team_destroy(team);
  EXPECT_EQ(fermata_barrier(nullptr), FERMATA_ERR_ARGUMENT);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 0;
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_ERR_ARGUMENT);
  config.members = 2;
  config.size = 3;
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_ERR_ARGUMENT);
}

}  // namespace
}  // namespace fermata::test
