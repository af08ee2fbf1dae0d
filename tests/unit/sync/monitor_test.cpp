// Monitored waits: which one is chosen, by pretended CPUs, and that it misses no write, on this CPU.
#include "sync/monitor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/line.hpp"

namespace fermata {
namespace {

TEST(Monitor, OnlyWhatTheCpuHasIsUsed) {
  using os::best_monitor;
  EXPECT_EQ(best_monitor({}), Monitor::kNone);
  EXPECT_EQ(best_monitor({.waitpkg = true}), Monitor::kUmwait);
  EXPECT_EQ(best_monitor({.monitorx = true}), Monitor::kMwaitx);
  EXPECT_EQ(best_monitor({.waitpkg = true, .monitorx = true}), Monitor::kUmwait);
  EXPECT_EQ(best_monitor({.event_stream = true}), Monitor::kWfe);
  EXPECT_EQ(best_monitor({.wfxt = true, .event_stream = true}), Monitor::kWfet);
  EXPECT_EQ(best_monitor({.wfxt = true}), Monitor::kWfet);
}

// Its pauses take 100 ticks. Its monitored waits end `late` ticks after the limit, or at `most` ticks.
struct PretendedCpu {
  std::uint64_t late = 0, most = ~std::uint64_t{0};
  mutable std::uint64_t now = 1;
  mutable int waits = 0;
  std::uint64_t ticks() const { return now; }
  void pause() const { now += 100; }
  template <class Ready>
  void wait(Monitor, std::uint64_t ticks, Ready&&) const {
    now += std::min(ticks, most) + late;
    ++waits;
  }
};

constexpr auto kNeverReady = [] { return false; };

TEST(Monitor, ItIsWorthItIfItWakesUpSoonEnough) {
  const auto worth = [](std::uint64_t late, Monitor kind, std::uint32_t pauses) {
    return is_monitor_worth(PretendedCpu{.late = late}, kind, pauses, kNeverReady);
  };
  // A first spin of 256 pauses takes 25,600 ticks, so 1,280 are allowed.
  EXPECT_EQ(worth(0, Monitor::kUmwait, 256), Worth::kYes);
  EXPECT_EQ(worth(1'280, Monitor::kUmwait, 256), Worth::kYes);
  EXPECT_EQ(worth(1'400, Monitor::kUmwait, 256), Worth::kNo);
  EXPECT_EQ(worth(1'280, Monitor::kMwaitx, 128), Worth::kNo);
  EXPECT_EQ(worth(100'000, Monitor::kWfet, 256), Worth::kNo);
}

// A thread that loses its CPU in its first spin takes that for no spin.
TEST(Monitor, ASpinThatIsHeldUpDoesNotCount) {
  struct HeldUp : PretendedCpu {
    mutable int pauses = 0;
    void pause() const { now += ++pauses == 100 ? 10'000'000 : 100; }
  };
  HeldUp cpu;
  EXPECT_EQ(is_monitor_worth(cpu, Monitor::kUmwait, 256, kNeverReady), Worth::kYes);
  EXPECT_LT(cpu.now, 10'000'000U + 8 * 25'600);
  HeldUp late;
  late.late = 1'400;
  EXPECT_EQ(is_monitor_worth(late, Monitor::kUmwait, 256, kNeverReady), Worth::kNo);
}

TEST(Monitor, ASystemThatEndsWaitsEarlyIsNoReasonAgainstIt) {
  const PretendedCpu cpu{.most = 50};
  EXPECT_EQ(is_monitor_worth(cpu, Monitor::kUmwait, 256, kNeverReady), Worth::kYes);
  EXPECT_GE(cpu.waits, kMonitorTries * 6'400 / 50);
}

TEST(Monitor, NothingIsMeasuredWhereThereIsNothingToChoose) {
  for (const Monitor kind : {Monitor::kNone, Monitor::kWfe}) {
    const PretendedCpu cpu;
    EXPECT_EQ(is_monitor_worth(cpu, kind, 256, kNeverReady), Worth::kNo);
    EXPECT_EQ(cpu.now, 1u);
    EXPECT_EQ(cpu.waits, 0);
  }
}

// It may come in the first spin, in the pauses or in the CPU's own waits.
TEST(Monitor, TheAwaitedWriteEndsTheMeasurement) {
  const PretendedCpu whole;
  EXPECT_EQ(is_monitor_worth(whole, Monitor::kUmwait, 256, kNeverReady), Worth::kYes);
  for (std::uint64_t comes = 1; comes < whole.now; comes += whole.now / 16) {
    const PretendedCpu cpu;
    const auto ready = [&] { return cpu.now >= comes; };
    EXPECT_EQ(is_monitor_worth(cpu, Monitor::kUmwait, 256, ready), Worth::kInterrupted) << comes;
    EXPECT_LE(cpu.now, comes + 6'400) << comes;  // one wait of the measurement
  }
}

// What this CPU can execute. WFE is part of every AArch64.
std::vector<Monitor> kinds_here() {
  std::vector<Monitor> kinds = {Monitor::kNone};
  const Monitor best = os::best_monitor(os::monitor_features());
  if (best != Monitor::kNone) kinds.push_back(best);
#if defined(__aarch64__)
  if (best != Monitor::kWfe) kinds.push_back(Monitor::kWfe);
#endif
  return kinds;
}

struct alignas(kMaxLine) Word {
  std::atomic<std::uint64_t> value{0};
};

void await(Monitor kind, const Word& word, std::uint64_t wanted) {
  const auto ready = [&] { return word.value.load(std::memory_order_acquire) >= wanted; };
  while (!ready()) monitored_wait(kind, &word.value, longest_monitored_wait(), ready);
}

TEST(Monitor, AWriteBeforeTheWaitEndsItAtOnce) {
  for (const Monitor kind : kinds_here()) {
    Word word;
    word.value = 1;
    int looks = 0;
    monitored_wait(kind, &word.value, longest_monitored_wait(), [&] { return ++looks != 0; });
    EXPECT_EQ(looks, kind == Monitor::kNone ? 0 : 1);
    await(kind, word, 1);
  }
}

// Each thread writes as soon as it has seen the other's write, or some time later. So writes come before the
// other watches the line, between that and its sleep, and during the sleep.
TEST(Monitor, NoWriteIsMissed) {
  for (const Monitor kind : kinds_here()) {
    constexpr std::uint64_t kTurns = 20'000 / FERMATA_TEST_SCALE;
    Word words[2];
    const auto work = [&](int self) {
      for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
        for (std::uint64_t n = (turn * (self + 3)) % 64; n > 32; --n) RealAtomics::pause();
        words[self].value.store(turn, std::memory_order_release);
        await(kind, words[1 - self], turn);
      }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_EQ(words[0].value.load(), kTurns);
    EXPECT_EQ(words[1].value.load(), kTurns);
  }
}

TEST(Monitor, TheChoiceOfThisProcessIsOneThatTheCpuHas) {
  if (std::getenv("FERMATA_MONITOR") != nullptr) GTEST_SKIP() << "FERMATA_MONITOR is set";
  const Word word;
  const auto choice = [&](bool ready) { return MonitorChoice::of_wait(&word, [=] { return ready; }); };
  const Monitor best = os::best_monitor(os::monitor_features());
  EXPECT_EQ(choice(false), Monitor::kNone);  // nobody has read the environment
  MonitorChoice::settle();
  EXPECT_TRUE(MonitorChoice::may_wait());
  EXPECT_EQ(choice(true), Monitor::kNone);  // that wait is over before it has measured
  const Monitor chosen = choice(false);
  EXPECT_TRUE(chosen == Monitor::kNone || chosen == best);
  EXPECT_EQ(choice(true), chosen);
  EXPECT_EQ(MonitorChoice::may_wait(), chosen != Monitor::kNone);
}

}  // namespace
}  // namespace fermata
