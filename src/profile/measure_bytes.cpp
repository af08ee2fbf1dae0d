// Measures G: the cost of a byte beyond its signal, for each way in which collectives on blocks move bytes.
// Two members pass a buffer to and fro, so each member reads lines that the other has just written. Half a
// round trip over the bytes is a straight line whose slope is G.
#include <algorithm>
#include <cstring>

#include "os/os.hpp"
#include "profile/measure.hpp"
#include "profile/statistics.hpp"

namespace fermata {

namespace {

// Sizes through a slot: the sizes that fit into a slot. Sizes that a member reads directly: two buffers must
// fit into a core's own cache. measure_domain_bytes() measures the shared caches and the memory beyond.
constexpr std::size_t kInSlot[] = {1024, 4096, 16384};
constexpr std::size_t kDirect[] = {4096, 16384, 65536, 262144};
constexpr auto kSlotPoints = static_cast<std::int32_t>(std::size(kInSlot));
constexpr auto kDirectPoints = static_cast<std::int32_t>(std::size(kDirect));
constexpr std::size_t kBuffer = 262144;
constexpr std::size_t kShare = 65536;  // bytes of a member's buffer where many members read at once

struct Exchange {
  probe::Flag there, back;
  os::ProcessMemory owner[2];  // each member writes its own entry before its first signal of a command
  probe::Flag refused;
  alignas(kMaxLine) std::byte slot[2][16384];
};

// Private to each member: between processes the same address refers to separate memory.
using Buffers = std::vector<std::byte>;

class Handing {
 public:
  Handing(Exchange& shared, Buffers (&buffers)[2], bool processes)
      : shared_(shared), buffers_(buffers), processes_(processes) {}

  void operator()(int member, const probe::Command& command, probe::Control& control) const {
    const bool by_slot = command.point < kSlotPoints;
    const std::size_t bytes = by_slot ? kInSlot[command.point] : kDirect[command.point - kSlotPoints];
    if (processes_) shared_.owner[member] = os::own_memory();
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      if (member == 0) give(shared_.there, 0, e, by_slot, bytes);
      if (!probe::await(member == 0 ? shared_.back.value : shared_.there.value, e, control)) return;
      take(member, by_slot, bytes);
      if (member != 0) give(shared_.back, 1, e, by_slot, bytes);
    }
  }

 private:
  void give(probe::Flag& flag, int member, std::uint64_t e, bool by_slot, std::size_t bytes) const {
    if (by_slot) std::memcpy(shared_.slot[member], buffers_[member].data(), bytes);
    probe::signal(flag.value, e);
  }
  void take(int member, bool by_slot, std::size_t bytes) const {
    const int other = 1 - member;
    std::byte* mine = buffers_[member].data();
    if (by_slot) {
      std::memcpy(mine, shared_.slot[other], bytes);
    } else if (!processes_) {
      std::memcpy(mine, buffers_[other].data(), bytes);
    } else if (!os::read_memory(shared_.owner[other], buffers_[other].data(), mine, bytes)) {
      shared_.refused.value.store(1, std::memory_order_relaxed);  // order: read after the members have ended
    }
  }

  Exchange& shared_;
  Buffers (&buffers_)[2];
  bool processes_;
};

LineFit line_over(const std::size_t* bytes, const double* times, std::int32_t points) {
  const std::vector<double> x(bytes, bytes + points), y(times, times + points);
  LineFit fit = fit_line(x, y);
  fit.slope = unit_cost(fit.slope, x.back(), y.back());
  return fit;
}

// A plain loop that the compiler optimizes. A profile needs to be right only within a quarter.
[[gnu::noinline]] void add(double* out, const double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

double domain_bytes_once(const std::vector<std::int32_t>& cpus, bool processes, double seconds) {
  struct Flags {
    probe::Flag turn;
  };
  const std::size_t members = cpus.size();
  const std::size_t flags = members * sizeof(Flags);
  probe::SharedMemory memory(flags + members * 2 * kShare);
  if (!memory || members < 2) return 0;
  const auto flag = [&](std::size_t member) -> std::atomic<std::uint64_t>& {
    return memory.at<Flags>(member % members * sizeof(Flags))->turn.value;
  };
  const auto buffer = [&](std::size_t member, std::uint64_t half) {
    return memory.at<std::byte>(flags + (member % members * 2 + half % 2) * kShare);
  };
  // Each member reads the bytes that the next member has written in the previous round.
  const auto role = [&](int rank, const probe::Command& command, probe::Control& control) {
    const auto me = static_cast<std::size_t>(rank);
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      std::memcpy(buffer(me, e + 1), buffer(me + 1, e), kShare);
      probe::signal(flag(me), e);
      // The next member must have written again. The previous member must have read what this member
      // overwrites next.
      if (!probe::await(flag(me + 1), e, control) || !probe::await(flag(me + members - 1), e, control))
        return;
    }
  };
  const auto times = probe::sample({cpus, processes, seconds}, 1, role);
  return times.empty() ? 0 : times[0] / static_cast<double>(members * kShare);
}

}  // namespace

std::optional<ByteCost> measure_bytes(std::int32_t a, std::int32_t b, bool processes, double one_way_ns,
                                      double seconds) {
  probe::SharedMemory memory(sizeof(Exchange));
  if (!memory) return std::nullopt;
  Exchange& shared = *memory.at<Exchange>(0);
  Buffers buffers[2] = {Buffers(kBuffer, std::byte{1}), Buffers(kBuffer, std::byte{2})};
  auto times = probe::sample({{a, b}, processes, seconds}, kSlotPoints + kDirectPoints,
                             Handing(shared, buffers, processes));
  if (times.empty()) return std::nullopt;
  for (double& round_trip : times) round_trip /= 2;
  ByteCost cost;
  cost.slot = line_over(kInSlot, times.data(), kSlotPoints).slope;
  // order: relaxed: all members have ended
  if (shared.refused.value.load(std::memory_order_relaxed) != 0 || (processes && !os::may_single_copy()))
    return cost;
  const LineFit direct = line_over(kDirect, times.data() + kSlotPoints, kDirectPoints);
  cost.direct = direct.slope;
  cost.direct_once = std::max(0.0, direct.intercept - one_way_ns);
  return cost;
}

std::optional<OwnBytes> measure_own_bytes(std::int32_t cpu, double seconds) {
  constexpr std::size_t kValues = kBuffer / sizeof(double);
  std::vector<double> left(kValues, 1), right(kValues, 2), out(kValues, 0);
  const auto role = [&](int, const probe::Command& command, probe::Control&) {
    const std::size_t bytes = kDirect[command.point % kDirectPoints];
    for (std::uint32_t r = 0; r < command.rounds; ++r) {
      if (command.point < kDirectPoints) std::memcpy(out.data(), left.data(), bytes);
      else add(out.data(), left.data(), right.data(), bytes / sizeof(double));
      // order: compiler fence: the compiler must not merge a copy with the next one
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  };
  const auto times = probe::sample({{cpu}, false, seconds}, 2 * kDirectPoints, role);
  if (times.empty()) return std::nullopt;
  const double* const copies = times.data();
  const double* const folds = copies + kDirectPoints;
  return OwnBytes{line_over(kDirect, copies, kDirectPoints).slope,
                  line_over(kDirect, folds, kDirectPoints).slope};
}

double measure_domain_bytes(const std::vector<std::int32_t>& cpus, bool processes, double seconds) {
  // A member that loses its CPU delays all members, so the result is the fastest of several tries.
  constexpr int kTries = 3;
  double least = domain_bytes_once(cpus, processes, seconds / kTries);
  for (int i = 1; i < kTries && least > 0; ++i)
    least = std::min(least, domain_bytes_once(cpus, processes, seconds / kTries));
  return least;
}

}  // namespace fermata
