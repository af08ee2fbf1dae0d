// Measures the costs of more than two members: further awaited slots, further readers of a line, adds on a
// shared word.
#include <algorithm>

#include "profile/measure.hpp"
#include "profile/statistics.hpp"

namespace fermata {

namespace {

struct Lines {
  probe::Flag published;
  probe::Flag slot[kMostTogether];
};

// Members 1..active signal member 0, which publishes one line to them.
void gather(Lines& lines, int member, int active, const probe::Command& command, probe::Control& control) {
  for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
    if (member == 0) {
      for (int m = 1; m <= active; ++m)
        if (!probe::await(lines.slot[m].value, e, control)) return;
      probe::signal(lines.published.value, e);
    } else {
      probe::signal(lines.slot[member].value, e);
      if (!probe::await(lines.published.value, e, control)) return;
    }
  }
}

// Member 0 publishes a line to members 1..active. Only the last of them answers, so only the cost of
// publishing grows with `active`.
void publish(Lines& lines, int member, int active, const probe::Command& command, probe::Control& control) {
  for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
    if (member == 0) {
      probe::signal(lines.published.value, e);
      if (!probe::await(lines.slot[active].value, e, control)) return;
    } else {
      if (!probe::await(lines.published.value, e, control)) return;
      if (member == active) probe::signal(lines.slot[member].value, e);
    }
  }
}

// For two CPUs: member 0 signals on several lines, and member 1 answers on one line.
void fan(Lines& lines, int member, int active, const probe::Command& command, probe::Control& control) {
  for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
    if (member == 0) {
      for (int m = 1; m <= active; ++m) probe::signal(lines.slot[m].value, e);
      if (!probe::await(lines.published.value, e, control)) return;
    } else {
      for (int m = 1; m <= active; ++m)
        if (!probe::await(lines.slot[m].value, e, control)) return;
      probe::signal(lines.published.value, e);
    }
  }
}

std::vector<double> counting(std::int32_t n) {
  std::vector<double> out;
  for (std::int32_t i = 1; i <= n; ++i) out.push_back(i);
  return out;
}

}  // namespace

std::optional<ManyCost> measure_many(const std::vector<std::int32_t>& cpus, bool processes, double seconds) {
  probe::SharedMemory memory(sizeof(Lines));
  if (!memory || cpus.size() < 2) return std::nullopt;
  Lines& lines = *memory.at<Lines>(0);
  const std::vector<std::int32_t> near(
      cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(std::min(cpus.size(), kMostTogether)));
  if (near.size() == 2) {
    constexpr std::int32_t kLines = 4;
    const auto times = probe::sample(
        {near, processes, seconds}, kLines,
        [&](int member, const auto& c, auto& control) { fan(lines, member, c.point + 1, c, control); });
    if (times.empty()) return std::nullopt;
    const double slope = fit_line(counting(kLines), times).slope;
    return ManyCost{slope, slope, true};
  }
  const auto most = static_cast<std::int32_t>(near.size()) - 1;
  const auto times =
      probe::sample({near, processes, seconds}, 2 * most, [&](int member, const auto& c, auto& control) {
        const int active = c.point % most + 1;
        if (member > active) return;  // touches none of these lines, and awaits the next command elsewhere
        if (c.point < most) gather(lines, member, active, c, control);
        else publish(lines, member, active, c, control);
      });
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + most;
  const double both = fit_line(counting(most), {times.begin(), middle}).slope;
  const double reader = fit_line(counting(most), {middle, times.end()}).slope;
  return ManyCost{std::max(0.0, both - reader), reader, false};
}

std::vector<double> measure_word_add(const std::vector<std::int32_t>& cpus, bool processes, double seconds) {
  struct Word {
    probe::Flag word, left;
  };
  std::vector<std::int32_t> counts;
  const auto n = static_cast<std::int32_t>(cpus.size());
  for (std::int32_t k = 1; k < n; k *= 2) counts.push_back(k);
  counts.push_back(n);
  probe::SharedMemory memory(sizeof(Word));
  if (!memory) return {};
  Word& shared = *memory.at<Word>(0);
  const auto role = [&](int member, const probe::Command& c, probe::Control& control) {
    const std::int32_t k = counts[static_cast<std::size_t>(c.point)];
    if (member >= k) return;
    for (std::uint32_t r = 0; r < c.rounds; ++r)
      // order: acq_rel, as kWordAdd; pairs with itself
      shared.word.value.fetch_add(1, std::memory_order_acq_rel);
    // Member 0 takes the time, which must include the adds of all members.
    if (member != 0) {
      // order: release, as kSlotPublish: after the adds; pairs with await
      shared.left.value.fetch_add(1, std::memory_order_release);
      return;
    }
    static_cast<void>(probe::await(shared.left.value, static_cast<std::uint64_t>(k - 1), control));
    // order: none needed; the next command publishes this value
    shared.left.value.store(0, std::memory_order_relaxed);
  };
  const auto times =
      probe::sample({cpus, processes, seconds}, static_cast<std::int32_t>(counts.size()), role);
  if (times.empty()) return {};
  std::vector<double> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double each = times[i] / counts[i];
    const std::int32_t from = i == 0 ? 0 : counts[i - 1];
    const double before = i == 0 ? each : out[static_cast<std::size_t>(from) - 1];
    for (std::int32_t k = from + 1; k <= counts[i]; ++k)
      out[static_cast<std::size_t>(k) - 1] = before + (each - before) * (k - from) / (counts[i] - from);
  }
  return out;
}

double measure_word_read(std::int32_t a, std::int32_t b, bool processes, double seconds) {
  struct Shared {
    probe::Flag word, reply, there;
  };
  probe::SharedMemory memory(sizeof(Shared));
  if (!memory) return 0;
  Shared& s = *memory.at<Shared>(0);
  // Point 0: member 0 adds, member 1 reads the word and replies on a line. Point 1: a signal on a line and a
  // reply on a line. Half of point 1 is one reply.
  const auto role = [&](int member, const probe::Command& c, probe::Control& control) {
    for (std::uint64_t r = 1; r <= c.rounds; ++r) {
      const std::uint64_t e = c.base + r;
      if (member == 0) {
        // order: acq_rel, as kWordAdd; pairs with await
        if (c.point == 0) s.word.value.fetch_add(1, std::memory_order_acq_rel);
        else probe::signal(s.there.value, e);
        if (!probe::await(s.reply.value, e, control)) return;
      } else {
        if (c.point == 0 ? !probe::await(s.word.value, c.point_base + r, control)
                         : !probe::await(s.there.value, e, control))
          return;
        probe::signal(s.reply.value, e);
      }
    }
  };
  const auto times = probe::sample({{a, b}, processes, seconds}, 2, role);
  return times.empty() ? 0 : std::max(0.0, times[0] - times[1] / 2);
}

}  // namespace fermata
