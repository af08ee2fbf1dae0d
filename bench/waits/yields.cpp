// yields MEMBERS BURNERS [park]: what waits by yields, or by parks, cost on this machine: the measurements
// behind the constants of the auto wait policy (sync/wait.hpp, docs/waiting.md). MEMBERS threads meet at a
// counter for two seconds beside BURNERS processes. It prints the time of a call, that time by the number of
// members, and how long single yields took.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/load.hpp"

namespace {

std::atomic<std::uint32_t> arrived{0}, phase{0};
std::atomic<bool> stop{false};
bool last_call = false;  // written by the last to arrive, read after the phase has changed
std::uint64_t calls = 0;

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Returns how long each yield took, in ns.
std::vector<std::int64_t> meet(std::uint32_t members, bool parks) {
  std::vector<std::int64_t> yields;
  yields.reserve(1 << 16);
  while (true) {
    const std::uint32_t now = phase.load();
    if (arrived.fetch_add(1) + 1 == members) {
      arrived = 0;
      ++calls;
      last_call = stop.load();
      phase.fetch_add(1);
      if (parks) syscall(SYS_futex, &phase, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
    while (phase.load() == now) {
      if (parks) {
        syscall(SYS_futex, &phase, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
        continue;
      }
      const std::int64_t begin = now_ns();
      sched_yield();
      yields.push_back(now_ns() - begin);
    }
    if (last_call) return yields;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || std::atoi(argv[1]) < 2) return std::fprintf(stderr, "yields MEMBERS BURNERS [park]\n"), 2;
  const auto members = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const bool parks = argc > 3;
  const fermata::bench::Burners burners({.burners = std::atoi(argv[2])});
  std::vector<std::vector<std::int64_t>> each(members);
  std::vector<std::thread> threads;
  const std::int64_t begin = now_ns();
  for (std::uint32_t m = 0; m < members; ++m)
    threads.emplace_back([&, m] { each[m] = meet(members, parks); });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double us = static_cast<double>(now_ns() - begin) / 1e3 / static_cast<double>(calls);
  std::printf("%u members, %s burners, %s: %.1f us a call, %.2f a member", members, argv[2],
              parks ? "parks" : "yields", us, us / members);
  std::vector<std::int64_t> all;
  for (const auto& one : each) all.insert(all.end(), one.begin(), one.end());
  std::sort(all.begin(), all.end());
  for (const double q : {0.5, 0.99, 0.999, 0.9999})
    if (!all.empty())
      std::printf(
          "; %g %% of yields up to %.1f us", q * 100,
          static_cast<double>(all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))]) / 1e3);
  std::printf("\n");
}
