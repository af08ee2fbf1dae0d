// Measures O and L of a pair as in section IV.A of heterogeneous-mpi-barriers. The signal is Fermata's: a
// store to the line on which the reader spins. A stage of k signals goes one way, and a stage of k signals
// comes back. Half the round trip over k is a straight line: its intercept is O, its slope is L. As in the
// paper, links count as symmetric.
#include "profile/measure.hpp"
#include "profile/statistics.hpp"

namespace fermata {

namespace {

constexpr std::int32_t kSignals[] = {1, 2, 4, 8, 16, 32};
constexpr std::int32_t kPoints = static_cast<std::int32_t>(std::size(kSignals));
constexpr std::int32_t kMaxSignals = 32;

struct Lines {
  probe::Flag there[kMaxSignals], back[kMaxSignals];
};

template <bool (*Await)(const std::atomic<std::uint64_t>&, std::uint64_t, probe::Control&)>
void exchange(Lines& lines, int member, std::int32_t k, const probe::Command& command,
              probe::Control& control) {
  probe::Flag* out = member == 0 ? lines.there : lines.back;
  const probe::Flag* in = member == 0 ? lines.back : lines.there;
  for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
    if (member == 0)
      for (std::int32_t i = 0; i < k; ++i) probe::signal(out[i].value, e);
    for (std::int32_t i = 0; i < k; ++i)
      if (!Await(in[i].value, e, control)) return;
    if (member != 0)
      for (std::int32_t i = 0; i < k; ++i) probe::signal(out[i].value, e);
  }
}

}  // namespace

std::optional<PairCost> measure_pair(std::int32_t a, std::int32_t b, bool processes, double seconds) {
  probe::SharedMemory memory(sizeof(Lines));
  if (!memory) return std::nullopt;
  Lines& lines = *memory.at<Lines>(0);
  const auto role = [&](int member, const probe::Command& command, probe::Control& control) {
    if (command.point == kPoints) exchange<probe::await_bare>(lines, member, 1, command, control);
    else exchange<probe::await>(lines, member, kSignals[command.point], command, control);
  };
  const auto round_trips = probe::sample({{a, b}, processes, seconds}, kPoints + 1, role);
  if (round_trips.empty()) return std::nullopt;
  std::vector<double> x, y;
  for (std::int32_t p = 0; p < kPoints; ++p) {
    x.push_back(kSignals[p]);
    y.push_back(round_trips[static_cast<std::size_t>(p)] / 2);
  }
  const LineFit fit = fit_line(x, y);
  return PairCost{fit.intercept, fit.slope, std::min(y[0], round_trips.back() / 2)};
}

std::optional<PairCost> measure_self(std::int32_t cpu, double seconds,
                                     const std::vector<std::int32_t>& siblings) {
  constexpr std::int32_t kOwn[] = {0, 1, 4, 16, 32};
  probe::SharedMemory memory(sizeof(Lines));
  if (!memory) return std::nullopt;
  Lines& lines = *memory.at<Lines>(0);
  const auto role = [&](int member, const probe::Command& command, probe::Control& control) {
    if (member > 0) return;  // spins until the next command
    const std::int32_t k = kOwn[command.point];
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      for (std::int32_t i = 0; i < k; ++i) probe::signal(lines.there[i].value, e);
      for (std::int32_t i = 0; i < k; ++i)
        if (!probe::await(lines.there[i].value, e, control)) return;
      // order: compiler fence: the compiler must not merge an empty stage with the next one
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  };
  std::vector<std::int32_t> cpus = {cpu};
  cpus.insert(cpus.end(), siblings.begin(), siblings.end());
  const auto times = probe::sample({cpus, false, seconds}, static_cast<std::int32_t>(std::size(kOwn)), role);
  if (times.empty()) return std::nullopt;
  std::vector<double> x(std::begin(kOwn) + 1, std::end(kOwn)), y(times.begin() + 1, times.end());
  return PairCost{times[0], fit_line(x, y).slope, 0};
}

}  // namespace fermata
