// parting BURNERS NICE spins|yields [TIMES]: how long the kernel leaves two threads of one CPU there, beside
// so many processes that always run, while the first two CPUs that this process may use are free to both. For
// kAwakeNs of the auto wait policy (sync/wait.hpp, docs/waiting.md). Prints the times in ms, sorted; a second
// is the most.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/load.hpp"
#include "os/os.hpp"
#include "sync/atomics.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kMost = 1s;

struct Two {
  explicit Two(const std::int32_t* cpus) : first(cpus[0]) {
    CPU_ZERO(&both);
    for (int i = 0; i < 2; ++i) CPU_SET(static_cast<std::size_t>(cpus[i]), &both);
  }
  std::int32_t first;
  cpu_set_t both;
  std::atomic<int> ready{0};
  std::atomic<int> cpu[2] = {-1, -1};
  std::atomic<bool> over{false};

  void run(std::size_t me, bool yields) {
    fermata::os::pin_thread(first);
    for (++ready; ready < 2;) sched_yield();
    sched_setaffinity(0, sizeof both, &both);
    while (!over) {
      cpu[me] = sched_getcpu();
      if (yields) sched_yield();
      else fermata::RealAtomics::pause();
    }
  }
};

double time_ms(const std::int32_t* cpus, bool yields) {
  Two two(cpus);
  std::thread first([&] { two.run(0, yields); }), second([&] { two.run(1, yields); });
  while (two.ready < 2) std::this_thread::sleep_for(200us);
  const auto begin = Clock::now();
  auto passed = Clock::duration::zero();
  do {
    std::this_thread::sleep_for(500us);
    passed = Clock::now() - begin;
  } while ((two.cpu[0] < 0 || two.cpu[1] < 0 || two.cpu[0] == two.cpu[1]) && passed < kMost);
  two.over = true;
  first.join();
  second.join();
  return std::chrono::duration<double, std::milli>(passed).count();
}

}  // namespace

int main(int argc, char** argv) {
  std::int32_t cpus[2] = {};
  if (argc < 4 || fermata::os::affinity_list(cpus, 2) < 2)
    return std::fprintf(stderr, "parting BURNERS NICE spins|yields [TIMES], with two CPUs\n"), 2;
  const fermata::bench::Burners burners({.burners = std::atoi(argv[1]), .nice = std::atoi(argv[2])});
  const bool yields = std::strcmp(argv[3], "yields") == 0;
  std::vector<double> times(argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 20);
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + 7 * i % 50));  // not in step with the kernel
    times[i] = time_ms(cpus, yields);
  }
  std::sort(times.begin(), times.end());
  for (const double ms : times) std::printf("%.0f ", ms);
  std::printf("\n");
}
