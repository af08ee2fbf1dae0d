// Measures the costs of the scheduler: a switch by yield between two members of one CPU, and a wake-up
// through a futex.
#include "os/os.hpp"
#include "profile/measure.hpp"
#include "profile/statistics.hpp"

namespace fermata {

namespace {

constexpr std::int32_t kBatches = 101;
// Other processes may use the CPUs: after this many times the budget, the batches so far are enough.
constexpr double kPatience = 3;

struct Shared {
  probe::Control control;
  alignas(kMaxLine) std::atomic<std::uint32_t> turn;  // counts the turns; even: member 0's turn
  std::int32_t batches = 0;
  double samples[kBatches] = {};
};

std::uint32_t turn_of(Shared& s) {
  return s.turn.load(std::memory_order_acquire);  // order: acquire, as kSlotAwait; pairs with hand_on
}

void hand_on(Shared& s, std::uint32_t turn) {
  s.turn.store(turn, std::memory_order_release);  // order: release, as kSlotPublish; pairs with turn_of
}

// Returns half a round trip, the median over batches of `each` round trips. wait(s, turn) returns true when
// the turn has come, and false when the time is up.
template <class Wait, class Pass>
double handover(const probe::Setting& setting, std::uint32_t each, const Wait& wait, const Pass& pass) {
  probe::SharedMemory memory(sizeof(Shared));
  if (!memory) return 0;
  Shared& s = *memory.at<Shared>(0);
  const std::int64_t last = os::now_ns() + static_cast<std::int64_t>(kPatience * setting.seconds * 1e9);
  const bool whole = probe::run_members(setting, s.control, [&](int member) {
    std::uint32_t turn = member == 0 ? 0 : 1;
    for (std::int32_t b = 0; b < kBatches; ++b) {
      const std::int64_t start = os::now_ns();
      for (std::uint32_t i = 0; i < each; ++i, turn += 2) {
        if (!wait(s, turn)) return;
        pass(s, turn + 1);
      }
      if (member != 0) continue;
      const std::int64_t now = os::now_ns();
      s.samples[s.batches++] = static_cast<double>(now - start) / (2.0 * each);
      // order: none needed; it only ends loops
      if (now >= last) return s.control.aborted.value.store(1, std::memory_order_relaxed);
    }
  });
  const bool enough = s.batches > 0 && (whole || os::now_ns() >= last);
  return enough ? median(std::vector<double>(s.samples, s.samples + s.batches)) : 0;
}

}  // namespace

double measure_yield(std::int32_t cpu, bool processes, double seconds) {
  const auto wait = [](Shared& s, std::uint32_t turn) {
    for (std::uint32_t n = 1; turn_of(s) < turn; ++n) {
      os::yield();
      if (n % 64 == 0 && s.control.expired()) return false;
    }
    return true;
  };
  const auto each = static_cast<std::uint32_t>(seconds * 1e9 / kBatches / 2 / 1000);
  return handover({{cpu, cpu}, processes, seconds}, each + 1, wait, hand_on);
}

double measure_futex(std::int32_t a, std::int32_t b, bool processes, double seconds) {
  const auto wait = [processes](Shared& s, std::uint32_t turn) {
    constexpr std::int64_t kTimedNs = 100'000'000;
    for (std::uint32_t now = turn_of(s); now < turn; now = turn_of(s)) {
      if (os::futex_sleep(s.turn, now, kTimedNs, processes) == os::Slept::kTimeout && s.control.expired())
        return false;
    }
    return true;
  };
  const auto pass = [processes](Shared& s, std::uint32_t turn) {
    hand_on(s, turn);
    os::futex_wake_all(s.turn, processes);
  };
  const auto each = static_cast<std::uint32_t>(seconds * 1e9 / kBatches / 2 / 20000);
  return handover({{a, b}, processes, seconds}, each + 1, wait, pass);
}

}  // namespace fermata
