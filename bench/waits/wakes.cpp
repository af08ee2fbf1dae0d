// wakes MEMBERS BURNERS: how the last to arrive best wakes members that sleep (docs/waiting.md). MEMBERS
// threads meet at a counter, and all but the last sleep until they are woken, in one of four ways:
//   all    everybody sleeps on one word, and the last one wakes all by one call
//   chain  each has a word of its own; the last one wakes the first, which wakes the second, and so on
//   tree   the same, but each wakes two others
//   root   the last one wakes member 0, which wakes all others by one call: a reduce and a broadcast
// For each way it prints the median time of a call over nine windows, interleaved, beside BURNERS processes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/line.hpp"
#include "bench/load.hpp"
#include "os/os.hpp"

namespace {

constexpr int kWindows = 9;
constexpr auto kWindow = std::chrono::milliseconds(300);

struct alignas(fermata::kMaxLine) Word {
  std::atomic<std::uint32_t> phase{0};
  std::atomic<bool> asleep{false};
};

enum Way : std::uint8_t { kAll, kChain, kTree, kRoot, kWays };

struct Team {
  Team(std::uint32_t count, Way how) : members(count), way(how), words(count) {}
  const std::uint32_t members;
  const Way way;
  std::vector<Word> words;
  Word all;
  std::atomic<std::uint32_t> arrived{0};
  std::atomic<bool> stop{false};
  std::uint32_t last = 0;  // who arrived last; with `over` written before the wakes and read after them
  bool over = false;

  static void wake(Word& word, std::uint32_t phase) {
    word.phase = phase;
    fermata::os::futex_wake_all(word.phase, false);
  }
  static void sleep(Word& word, std::uint32_t phase) {
    word.asleep = true;
    while (word.phase != phase) fermata::os::futex_sleep(word.phase, phase - 1, fermata::os::kNoLimit, false);
    word.asleep = false;
  }
  // The members whose turn it is to be woken by the one that is `place` places after the last.
  void wake_next(std::uint32_t place, std::uint32_t phase) {
    const std::uint32_t fan_out = way == kChain ? 1 : 2;
    for (std::uint32_t next = fan_out * place + 1; next <= fan_out * (place + 1) && next < members; ++next) {
      Word& word = words[(last + next) % members];
      word.phase = phase;
      if (word.asleep) fermata::os::futex_wake_all(word.phase, false);  // the only one there
    }
  }
  void meet(std::uint32_t rank) {
    const bool passes_on = way == kChain || way == kTree, is_root = way == kRoot && rank == 0;
    Word& mine = passes_on || is_root ? words[rank] : all;
    for (std::uint32_t phase = 1;; ++phase) {
      if (arrived.fetch_add(1) + 1 == members) {
        arrived = 0;
        last = rank;
        over = stop;
        if (passes_on || is_root) mine.phase = phase;
        else wake(way == kRoot ? words[0] : all, phase);
      }
      if (mine.phase != phase) sleep(mine, phase);
      const bool ends = over;
      if (is_root) wake(all, phase);
      if (passes_on) wake_next((rank + members - last) % members, phase);
      if (ends) return;
      if (rank == last) calls += 1;
    }
  }
  std::atomic<std::uint64_t> calls{0};
};

double us_a_call(std::uint32_t members, Way way) {
  Team team(members, way);
  std::vector<std::thread> threads;
  for (std::uint32_t m = 0; m < members; ++m) threads.emplace_back([&, m] { team.meet(m); });
  std::this_thread::sleep_for(kWindow / 6);
  const std::uint64_t before = team.calls;
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWindow);
  const std::uint64_t calls = team.calls - before;
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  team.stop = true;
  for (std::thread& thread : threads) thread.join();
  return time.count() / static_cast<double>(std::max<std::uint64_t>(calls, 1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[1]) < 2) return std::fprintf(stderr, "wakes MEMBERS BURNERS\n"), 2;
  const auto members = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const fermata::bench::Burners burners({.burners = std::atoi(argv[2])});
  std::vector<double> us[kWays];
  for (int window = 0; window < kWindows; ++window)
    for (const Way way : {kAll, kChain, kTree, kRoot}) us[way].push_back(us_a_call(members, way));
  for (std::vector<double>& each : us) std::sort(each.begin(), each.end());
  std::printf("%u members, %s burners: all %.1f, chain %.1f, tree %.1f, root %.1f us a call\n", members,
              argv[2], us[kAll][kWindows / 2], us[kChain][kWindows / 2], us[kTree][kWindows / 2],
              us[kRoot][kWindows / 2]);
}
