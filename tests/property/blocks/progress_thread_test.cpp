// The progress thread: it advances requests while their members' threads do nothing. It may start and stop
// while any thread makes calls of any kind. Callbacks still run in the members' own threads.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "../../operation.hpp"
#include "instance.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kVeryLong = std::size_t{1} << 21;  // doubles: hundreds of steps

// Tests the request from time to time, and counts the tests.
int ask_seldom(fermata_request* request, int most, int* asked) {
  int status = FERMATA_PENDING;
  for (*asked = 0; status == FERMATA_PENDING && *asked < most; ++*asked) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    status = fermata_request_test(request);
  }
  return status;
}

void moves_while_members_sleep(Seat& seat) {
  std::vector<double> data(kVeryLong, seat.rank + 1);
  fermata_operation o = in_place_sum(data.data(), kVeryLong);
  fermata_request* requests[2] = {};  // the second one waits for the channel of the first one
  std::vector<double> small(3, 1);
  if (!seat.holds(fermata_begin(seat.member, &o, &requests[0]), "begin")) return;
  o.out = small.data();
  o.count = 3;
  if (!seat.holds(fermata_begin(seat.member, &o, &requests[1]), "begin")) return;
  std::thread::id called{};
  const auto note = [](fermata_request*, int, void* user) {
    *static_cast<std::thread::id*>(user) = std::this_thread::get_id();
  };
  seat.holds(fermata_request_set_callback(requests[1], note, &called), "set_callback");
  int asked = 0;
  // Without the thread, the long one alone takes 16 MiB / 64 KiB = 256 tests.
  const int status = ask_seldom(requests[1], 120, &asked);
  if (!seat.holds(status == FERMATA_PENDING ? "nothing moves while the members sleep" : "")) return;
  if (!seat.holds(status, "test")) return;
  seat.holds(called == std::this_thread::get_id() ? "" : "the callback ran in another thread");
  seat.holds(small[2] == seat.members && data[kVeryLong - 1] == seat.members * (seat.members + 1) / 2.0
                 ? ""
                 : "a wrong sum");
  for (fermata_request* r : requests)
    if (seat.holds(fermata_request_free(r), "free")) seat.count_one();
}

// All kinds of calls, as in the tests of requests, while the thread runs or starts and stops.
void all_kinds(Seat& seat) {
  constexpr int kRounds = 40 / FERMATA_TEST_SCALE;
  constexpr std::size_t kCounts[] = {3, 2100, 60'000};
  std::vector<std::unique_ptr<Instance>> persistent;
  std::vector<fermata_request*> prepared;
  for (std::size_t i = 0; i < 3; ++i) {
    Shape s;
    s.collective = i == 1 ? FERMATA_ALLTOALL : FERMATA_ALLREDUCE;
    s.count = kCounts[i];
    persistent.push_back(std::make_unique<Instance>(s, seat.rank, seat.members));
    prepared.emplace_back();
    if (!seat.holds(fermata_prepare(seat.member, &persistent[i]->operation(), &prepared[i]), "prepare"))
      return;
  }
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      persistent[i]->fill(static_cast<std::uint64_t>(round) * 3 + i);
      const fermata_operation& o = persistent[i]->operation();
      if (!seat.holds(fermata_request_reset(prepared[i], o.in, o.out), "reset")) return;
    }
    for (std::size_t i = 0; i < 3; ++i)
      if (!seat.holds(fermata_request_start(prepared[(i + static_cast<std::size_t>(seat.rank)) % 3]),
                      "start"))
        return;
    Shape s;
    s.collective = 1 + round % 10;
    s.count = kCounts[round % 3];
    s.seed = static_cast<std::uint64_t>(round);
    const Instance begun(s, seat.rank, seat.members);
    fermata_request* request = nullptr;
    if (!seat.holds(fermata_begin(seat.member, &begun.operation(), &request), "begin")) return;
    if (round % 2 == 0) {
      const Instance call(s, seat.rank, seat.members);
      if (!seat.holds(call.call(seat.member, true), "call") || !seat.holds(call.check())) return;
    }
    if (!seat.holds(fermata_barrier(seat.member), "barrier")) return;
    prepared.push_back(request);
    const int waited = fermata_request_wait_all(prepared.data(), prepared.size());
    prepared.pop_back();
    if (!seat.holds(waited, "wait_all") || !seat.holds(begun.check()) ||
        !seat.holds(fermata_request_free(request), "free"))
      return;
    for (const auto& one : persistent)
      if (!seat.holds(one->check())) return;
    seat.count_one();
  }
  for (fermata_request* r : prepared)
    if (!seat.holds(fermata_request_free(r), "free")) return;
}

struct Running {
  Running() { EXPECT_EQ(fermata_progress_thread(1), FERMATA_OK); }
  ~Running() { EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK); }
};

TEST(ProgressThread, MovesDataWhileTheMembersSleep) {
  const Running running;
  for (const int members : {2, 3}) {
    long ran = 0;
    EXPECT_EQ(run_team({members, FERMATA_THREADS, FERMATA_WAIT_AUTO}, moves_while_members_sleep, &ran), "");
    EXPECT_EQ(ran, 2 * members);
  }
}

TEST(ProgressThread, IsOneHoweverOftenItIsSwitched) {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  // A joined thread may remain listed for a short time.
  const auto in_a_while = [](const auto& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return holds();
  };
  // ThreadSanitizer starts a thread of its own together with a program's first thread.
  std::string first;
  std::thread([&first] { first = "/proc/self/task/" + std::to_string(gettid()); }).join();
  ASSERT_TRUE(in_a_while([&first] { return !std::filesystem::exists(first); }));
  const auto before = threads();
  for (const int on : {1, 1, 0, 0, 1, 0}) {
    EXPECT_EQ(fermata_progress_thread(on), FERMATA_OK);
    EXPECT_TRUE(in_a_while([&] { return threads() == before + on; }))
        << threads() << " threads, " << before << " before";
  }
}

// Each process has its own progress thread, switched on by the environment.
TEST(ProgressThread, EnvironmentSwitchesItOn) {
  ASSERT_EQ(setenv("FERMATA_PROGRESS_THREAD", "1", 1), 0);
  ASSERT_EQ(fermata_progress_thread(-1), FERMATA_OK);
  const pid_t child = fork();
  if (child == 0) {
    long ran = 0;
    const std::string problem =
        run_team({2, FERMATA_PROCESSES, FERMATA_WAIT_PARK}, moves_while_members_sleep, &ran);
    fprintf(stderr, "%s", problem.c_str());
    _exit(problem.empty() && ran == 4 ? 0 : 1);
  }
  int how = 0;
  waitpid(child, &how, 0);
  unsetenv("FERMATA_PROGRESS_THREAD");
  EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

// Each member switches it on, although several members may share a process.
void all_kinds_beside_it(Seat& seat) {
  if (seat.holds(fermata_progress_thread(1), "progress_thread")) all_kinds(seat);
}

TEST(ProgressThread, MayRunBesideEverything) {
  // threads, which use this process, come last
  for (const int engine : {kMixed, static_cast<int>(FERMATA_PROCESSES), static_cast<int>(FERMATA_THREADS)})
    for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_PARK}) {
      long ran = 0;
      EXPECT_EQ(run_team({3, engine, wait}, all_kinds_beside_it, &ran), "");
      EXPECT_GE(ran, 3);
    }
  EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK);
}

TEST(ProgressThread, MayComeAndGo) {
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    for (int on = 1; !stop.load(); on = 1 - on) {
      EXPECT_EQ(fermata_progress_thread(on), FERMATA_OK);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK);
  });
  long ran = 0;
  EXPECT_EQ(run_team({2, FERMATA_THREADS, FERMATA_WAIT_AUTO}, all_kinds, &ran), "");
  EXPECT_GE(ran, 2);
  stop.store(true);
  switcher.join();
}

}  // namespace
}  // namespace fermata::test
