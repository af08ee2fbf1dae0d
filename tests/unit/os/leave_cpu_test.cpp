// Moves to another CPU leave no trace in the thread's affinity, signals or errno.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "os/os.hpp"

namespace fermata::os {
namespace {

std::vector<std::int32_t> mask() {
  std::vector<std::int32_t> cpus(8192);
  cpus.resize(static_cast<std::size_t>(affinity_list(cpus.data(), 8192)));
  return cpus;
}
void bind(const std::vector<std::int32_t>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::int32_t cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}
bool leave(std::int32_t cpu) { return leave_cpu(cpu, nullptr, 0); }
// Each test changes the affinity of a thread of its own.
template <class Body>
void in_a_thread(Body&& body) {
  std::thread(body).join();
}

// The kernel may move the thread at any time, so a try may fail.
TEST(LeaveCpu, TheThreadRunsElsewhereAndMayRunWhereItMightBefore) {
  in_a_thread([] {
    const std::vector<std::int32_t> before = mask();
    if (before.size() < 2) GTEST_SKIP() << "one CPU";
    int moved = 0;
    for (int i = 0; i < 20 && moved < 3; ++i) {
      const std::int32_t cpu = current_cpu();
      errno = EXDEV;
      EXPECT_TRUE(leave(cpu));
      EXPECT_EQ(errno, EXDEV);
      moved += current_cpu() != cpu;
      EXPECT_EQ(mask(), before);
    }
    EXPECT_EQ(moved, 3);
  });
}

TEST(LeaveCpu, AnAffinityThatTheProgramHasChosenStays) {
  const std::vector<std::int32_t> all = mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  const std::vector<std::vector<std::int32_t>> choices = {{all[0]}, {all[1]}, {all[0], all[1]}};
  for (const std::vector<std::int32_t>& chosen : choices)
    in_a_thread([&] {
      bind(chosen);
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(leave(current_cpu()), chosen.size() > 1);
        EXPECT_EQ(mask(), chosen);
      }
    });
}

TEST(LeaveCpu, OfACpuWhereItMayNotRunOrThatIsNoneItDoesNothing) {
  in_a_thread([] {
    const std::vector<std::int32_t> all = mask();
    bind({all.back()});
    for (const std::int32_t cpu : {all.front(), -1, 8191, 8192, INT32_MAX}) {
      leave(cpu);
      EXPECT_EQ(mask(), std::vector<std::int32_t>{all.back()});
      EXPECT_EQ(current_cpu(), all.back());
    }
  });
}

// The kernel may move the thread at any time, so some tries may fail.
TEST(LeaveCpu, ItAvoidsCpusThatOthersHaveTakenIfItCan) {
  const std::vector<std::int32_t> all = mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  in_a_thread([&] {
    int moved = 0, found = 0;
    for (int i = 0; i < 20; ++i) {
      std::vector<std::int32_t> taken = {-1, 8192, INT32_MIN, INT32_MAX};
      taken.insert(taken.end(), all.begin(), all.end());
      const std::int32_t first = current_cpu();
      leave_cpu(first, taken.data(), taken.size());
      const std::int32_t second = current_cpu();
      moved += second != first;
      std::erase(taken, first);
      leave_cpu(second, taken.data(), taken.size());
      found += current_cpu() == first;
      EXPECT_EQ(mask(), all);
    }
    EXPECT_GT(moved, 10) << "all are taken";
    EXPECT_GT(found, 10) << "one is not";
  });
}

// On the other CPU such a thread could wait for ever.
TEST(LeaveCpu, ThreadsOfRealTimeAndIdleOnesStay) {
  if (mask().size() < 2) GTEST_SKIP() << "one CPU";
  for (const int policy : {SCHED_IDLE, SCHED_FIFO, SCHED_RR, SCHED_BATCH})
    in_a_thread([&] {
      sched_param param{};
      param.sched_priority = policy == SCHED_FIFO || policy == SCHED_RR ? 1 : 0;
      if (sched_setscheduler(0, policy, &param) != 0) return;  // not permitted
      EXPECT_EQ(leave(current_cpu()), policy == SCHED_BATCH) << policy;
      EXPECT_EQ(join_cpu(current_cpu()), policy == SCHED_BATCH) << policy;
    });
}

TEST(LeaveCpu, ASmallStackSuffices) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more stack";
#endif
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const long least = sysconf(_SC_THREAD_STACK_MIN);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(std::max(least, 16'384L))), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void*) -> void* {
                  alignas(16) volatile char used[6'000];  // by the wait and a signal handler
                  used[0] = 1;
                  leave(current_cpu());
                  return used[0] != 0 ? nullptr : reinterpret_cast<void*>(1);
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(LeaveCpu, TheEnvironmentForbidsIt) {
  if (mask().size() < 2) GTEST_SKIP() << "one CPU";
  for (const bool allowed : {false, true}) {
    setenv("FERMATA_MOVE", allowed ? "1" : "0", 1);
    settle_moves();
    in_a_thread([&] {
      int moved = 0;
      for (int i = 0; i < 20; ++i) {
        const std::int32_t cpu = current_cpu();
        if (i % 2 == 0) leave(cpu);
        else join_cpu(mask()[mask()[0] == cpu ? 1 : 0]);
        moved += current_cpu() != cpu;
      }
      if (allowed) EXPECT_GT(moved, 10);
      else EXPECT_LT(moved, 10) << "the kernel may move it";
    });
  }
  unsetenv("FERMATA_MOVE");
  settle_moves();
}

// Two threads, one of which has its affinity changed by the other all the time: the last change stays.
TEST(LeaveCpu, AChangeByAnotherThreadStays) {
  const std::vector<std::int32_t> all = mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  std::atomic<std::int32_t> thread{0};
  std::atomic<int> tries{0};
  std::atomic<bool> over{false}, stays{false};
  std::thread mover([&] {
    thread = static_cast<std::int32_t>(thread_id());
    for (; !over; ++tries) stays = !leave(current_cpu());
    EXPECT_EQ(mask(), std::vector<std::int32_t>{all[0]});
  });
  while (thread == 0) std::this_thread::yield();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(all[0]), &set);
  // A change between the mover's last look and its last call is lost. Once one is not, the thread has one
  // CPU, and does not move.
  bool stayed = false;
  for (int i = 0; i < 5'000 && !stayed; ++i) {
    // at any place of a move, also if both threads run in turn
    std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 500));
    ASSERT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
    for (const int before = tries; tries < before + 2;) std::this_thread::yield();
    stayed = stays;  // it alone does not see the CPUs of its move
  }
  EXPECT_TRUE(stayed);
  over = true;
  mover.join();
}

TEST(JoinCpu, TheThreadRunsThereAndMayRunWhereItMightBefore) {
  in_a_thread([] {
    const std::vector<std::int32_t> before = mask();
    int there = 0;
    for (int i = 0; i < 20; ++i) {
      const std::int32_t cpu = before[static_cast<std::size_t>(i) % before.size()];
      errno = EXDEV;
      EXPECT_TRUE(join_cpu(cpu));
      EXPECT_EQ(errno, EXDEV);
      there += current_cpu() == cpu;
      EXPECT_EQ(mask(), before);
    }
    EXPECT_GT(there, 10) << "the kernel may move it at any time";
  });
}

TEST(JoinCpu, WhereItMayNotRunItDoesNotGo) {
  in_a_thread([] {
    const std::vector<std::int32_t> all = mask();
    bind({all.back()});
    std::vector<std::int32_t> others = {-1, 8191, 8192, INT32_MAX};
    if (all.size() > 1) others.push_back(all.front());
    for (const std::int32_t cpu : others) {
      EXPECT_FALSE(join_cpu(cpu)) << cpu;
      EXPECT_EQ(mask(), std::vector<std::int32_t>{all.back()});
      EXPECT_EQ(current_cpu(), all.back());
    }
  });
}

std::atomic<int> handled{0};
std::int32_t cpus_of_handler = 0;

// A handler runs with the thread's own affinity, and the signals are blocked as before.
TEST(LeaveCpu, HandlersSeeNothingOfIt) {
  in_a_thread([] {
    const std::vector<std::int32_t> before = mask();
    if (before.size() < 2) GTEST_SKIP() << "one CPU";
    cpus_of_handler = static_cast<std::int32_t>(before.size());
    struct sigaction action{}, old{};
    action.sa_handler = [](int) {
      std::int32_t cpus[64];
      if (affinity_list(cpus, 64) == cpus_of_handler) ++handled;
      else handled = -1'000'000;
    };
    ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
    sigset_t blocked, now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &blocked, nullptr), 0);
    const pthread_t self = pthread_self();
    std::atomic<bool> over{false};
    std::thread sender([&] {
      while (!over) {
        pthread_kill(self, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
    for (int i = 0; i < 2'000; ++i) leave(current_cpu());
    over = true;
    sender.join();
    EXPECT_GT(handled, 0);
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &now), 0);
    EXPECT_EQ(std::memcmp(&now, &blocked, sizeof(unsigned long)), 0);
    EXPECT_EQ(mask(), before);
    sigaction(SIGUSR1, &old, nullptr);
  });
}

}  // namespace
}  // namespace fermata::os
