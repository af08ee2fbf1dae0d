// The machine is shared and changes. While threads meet, the CPUs that they may use shrink to one and grow
// again, and another process keeps CPUs busy. A thread that waits long uses hardly any CPU time. The tests
// count meetings and CPU time, and never measure elapsed time.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "crowd.hpp"

namespace fermata::test {
namespace {

// The CPU time that a waiter may use in 1 s, warm-up included. The policy's own bound is 8 ms of spinning or
// 5 ms of yields in one wait, then one look every 20 to 50 ms.
constexpr double kWait = 1.0;
// instrumented looks cost more
constexpr double kMostCpu = 0.1 * FERMATA_TEST_SCALE / (FERMATA_TEST_SCALE > 1 ? 4 : 1);

double thread_cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

cpu_set_t allowed() {
  cpu_set_t cpus;
  EXPECT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  return cpus;
}

cpu_set_t one_of(const cpu_set_t& cpus, int nth) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus) || nth-- > 0) continue;
    CPU_SET(cpu, &one);
    break;
  }
  return one;
}

class Cotenant : public ::testing::TestWithParam<Kind> {};

// All but the last rank wait for kWait, twice: once before any other wait, and once after many short waits.
void wait_long(const Kind& kind, std::uint32_t members) {
  const std::unique_ptr<Place> place = kind.make(members);
  std::vector<double> used(members);
  std::atomic<int> failed{0};
  std::vector<std::thread> forked;
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    forked.emplace_back([&, rank] {
      const double before = thread_cpu_seconds();
      for (int round = 0; round < 2; ++round) {
        if (rank + 1 == members) std::this_thread::sleep_for(std::chrono::duration<double>(kWait / 2));
        for (int i = 0; i < 20; ++i) failed += !place->meet(rank);
      }
      used[rank] = thread_cpu_seconds() - before;
      place->leave(rank);
    });
  }
  for (std::thread& thread : forked) thread.join();
  EXPECT_EQ(failed, 0);
  for (std::uint32_t rank = 0; rank < members; ++rank)
    EXPECT_LT(used[rank], kMostCpu) << "rank " << rank << " of " << members;
}

TEST_P(Cotenant, WhoWaitsLongSleeps) {
  const cpu_set_t cpus = allowed();
  const auto crowded = static_cast<std::uint32_t>(CPU_COUNT(&cpus) < 4 ? 2 * CPU_COUNT(&cpus) + 1 : 9);
  std::thread few([] { wait_long(GetParam(), 2); });
  wait_long(GetParam(), crowded);
  few.join();
}

// A process that keeps a CPU busy until it is told to pause. It is forked before the threads start.
class Burner {
 public:
  Burner() : pid_(fork()) {
    if (pid_ == 0) {
      alarm(100);  // in case the parent dies first
      for (volatile unsigned long i = 0;;) i = i + 1;
    }
    pause();
  }
  ~Burner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  void burn(const cpu_set_t& where) {
    sched_setaffinity(pid_, sizeof where, &where);
    kill(pid_, SIGCONT);
  }
  void pause() { kill(pid_, SIGSTOP); }

 private:
  pid_t pid_;
};

// Threads that meet without end. run() returns after so many more meetings.
class Walkers {
 public:
  Walkers(Place& place, std::uint32_t members) : place_(place), written_(members) {
    for (std::uint32_t rank = 0; rank < members; ++rank) crew_.emplace_back([this, rank] { walk(rank); });
  }
  ~Walkers() {
    stop_ = true;
    for (std::thread& thread : crew_) thread.join();
  }
  Walkers(const Walkers&) = delete;

  void only_on(const cpu_set_t& cpus) {
    for (std::thread& thread : crew_)
      EXPECT_EQ(pthread_setaffinity_np(thread.native_handle(), sizeof cpus, &cpus), 0);
  }
  void run(long meetings) {
    const long end = met_ + meetings;
    while (met_ < end && wrong_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int wrong() const { return wrong_; }

 private:
  // All threads read plain data after the meeting. They meet a second time before it is written again.
  void walk(std::uint32_t rank) {
    for (long episode = 1;; ++episode) {
      written_[rank] = episode;
      if (rank == 0) last_ = stop_;
      if (!place_.meet(rank)) break;
      for (const long other : written_) wrong_ += other != episode;
      const bool last = last_;
      if (!place_.meet(rank)) break;
      if (rank == 0) ++met_;
      if (last) return place_.leave(rank);
    }
    ++wrong_;
  }

  Place& place_;
  std::vector<long> written_;
  bool last_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<long> met_{0};
  std::atomic<int> wrong_{0};
  std::vector<std::thread> crew_;
};

void check_changes(const Kind& kind, std::uint32_t members) {
  constexpr long kMeetings = 200 / FERMATA_TEST_SCALE;
  const cpu_set_t all = allowed();
  Burner burner;
  const std::unique_ptr<Place> place = kind.make(members);
  Walkers walkers(*place, members);
  for (int round = 0; round < 6; ++round) {
    const cpu_set_t one = one_of(all, round % CPU_COUNT(&all));
    walkers.run(kMeetings);
    // the burner disturbs all of them first, and later those that stay on this CPU
    if (round >= 3) burner.burn(one);
    walkers.only_on(one);
    walkers.run(kMeetings);
    walkers.only_on(all);
    walkers.run(kMeetings);
    burner.pause();
  }
  EXPECT_EQ(walkers.wrong(), 0) << members << " members";
}

TEST_P(Cotenant, MembersMoveToOneCpuAndBackBesideABurningProcess) {
  check_changes(GetParam(), 2);
  check_changes(GetParam(), 5);
}

INSTANTIATE_TEST_SUITE_P(All, Cotenant, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(CotenantProcesses, WhoWaitsLongSleeps) {
  TeamPlace place(2, FERMATA_PROCESSES);
  const pid_t pid = fork();
  if (pid == 0) {
    const double before = thread_cpu_seconds();
    bool met = true;
    for (int round = 0; round < 2; ++round) met = met && place.meet(1);
    const double used = thread_cpu_seconds() - before;
    place.leave(1);
    _exit(!met ? 1 : used < kMostCpu ? 0 : 2);
  }
  EXPECT_TRUE(place.meet(0));
  std::this_thread::sleep_for(std::chrono::duration<double>(kWait));
  EXPECT_TRUE(place.meet(0));
  place.leave(0);
  int how = -1;
  ASSERT_EQ(waitpid(pid, &how, 0), pid);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 0) << "1: an error, 2: too much CPU time";
}

}  // namespace
}  // namespace fermata::test
