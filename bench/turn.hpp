// The ONE worker loop that all subjects run in. It times the subject and checks its results at the same time,
// so a wrong barrier gets no number.
//
// Every `check_every` episodes, and at the end of warm-up and batch, there is a check, with a new number c:
//   barrier: each member writes c into a plain cell of its own before the episode, and reads the cells of one
//   or two others after it. The cell of c's parity must hold exactly c. Otherwise the member left before the
//   other one entered, or does not see plain data written before. There are two cells by parity, since a
//   correct barrier lets a neighbour be one episode ahead.
//   data: the contribution depends on c; the result is compared with the exact sum (or the sender's value).
//   From 256 bytes on, 16 to 24 elements per block depend on c, other elements each time; all others keep
//   their values. Once per batch, untimed, the whole last result is compared.
// Cost: a barrier's check moves about two lines per member; a check of data touches up to 24 elements of each
// block, or all of a small one. Fast episodes have one check in 256, which hardly counts.
#ifndef FERMATA_BENCH_TURN_HPP
#define FERMATA_BENCH_TURN_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/line.hpp"
#include "bench/arena.hpp"
#include "bench/case.hpp"
#include "bench/clock.hpp"
#include "bench/order.hpp"
#include "bench/probes.hpp"

namespace fermata::bench {

class Turn {
 public:
  Turn(const Case& c, Arena& arena)
      : members(c.members),
        doubles(c.doubles()),
        collective(c.collective),
        rotating(c.rotating),
        lines(arena.make_array<MemberLine>(static_cast<std::size_t>(c.members))),
        cells(arena.make_array<Cell>(static_cast<std::size_t>(c.members))),
        stamps(static_cast<Stamps*>(arena.allocate(sizeof(Stamps) * static_cast<std::size_t>(c.members)))),
        buffers_(static_cast<std::byte*>(arena.allocate(buffer_bytes(c) + kPage))) {
    buffers_ += round_up(reinterpret_cast<std::uintptr_t>(buffers_), kPage) -
                reinterpret_cast<std::uintptr_t>(buffers_);
  }

  // The part of the arena that the members' buffers need.
  static std::size_t buffer_bytes(const Case& c) {
    return 2 * static_cast<std::size_t>(c.members) * stride(c.collective, c.members, c.doubles());
  }
  // Each member's contribution and result, on pages of their own, which every member can read and write. Only
  // floors access those of other members.
  double* in_of(int rank) const { return buffer(2 * rank); }
  double* out_of(int rank) const { return buffer(2 * rank + 1); }

  // Runs this turn's order for one member. The callable of a barrier subject takes no arguments; a data
  // subject's takes (const double* in, double* out). Both may keep state in their captures: rooted
  // collectives keep Roots.
  template <class Episode>
  void run(int rank, Episode&& episode);

  const int members;
  const int doubles;
  const Collective collective;
  const bool rotating;
  Order order;                    // the host sets it between turns
  std::uint64_t first_check = 1;  // also; numbers are never used twice, so a stale cell never passes
  MemberLine* const lines;
  Cell* const cells;
  Stamps* const stamps;
  // A subject can become a thousand times slower within a batch (a co-tenant, yields). Rank 0 then names the
  // check number after which all members stop. order: relaxed: rank 0 writes it before it enters the episode
  // of that check, and members read it after that episode.
  alignas(kMaxLine) std::atomic<std::uint64_t> stop_after{0};
  // Counts arrivals at the harness's own meetings. Episodes with skewed arrivals begin with such a meeting,
  // so that members are late by the skew alone.
  alignas(kMaxLine) std::atomic<std::uint64_t> met{0};

 private:
  static constexpr std::size_t kPage = 4096;
  static std::size_t stride(Collective collective, int members, int doubles) {
    const int blocks = std::max(blocks_in(collective, members), blocks_out(collective, members));
    return round_up(sizeof(double) * static_cast<std::size_t>(blocks) * static_cast<std::size_t>(doubles),
                    kPage);
  }
  double* buffer(int index) const {
    return reinterpret_cast<double*>(buffers_ +
                                     static_cast<std::size_t>(index) * stride(collective, members, doubles));
  }
  std::byte* buffers_;
  // The loop itself; returns the number of episodes, the same for all members.
  template <class Probe, class Check, class Episode>
  std::uint64_t loop(int rank, std::uint64_t count, Probe& probe, Check& check, Episode& episode);
  template <class Probe, class Check, class Episode>
  void timed(int rank, Probe& probe, Check& check, Episode& episode);
  template <class Check, class Episode>
  void by_quantity(int rank, Check& check, Episode& episode);
};

namespace detail {

inline void fail(MemberLine& line, int about, double expected, double seen) {
  if (line.failures++ == 0) {
    line.about = about;
    line.expected = expected;
    line.seen = seen;
  }
}

class BarrierCheck {
 public:
  BarrierCheck(Turn& turn, int rank) : turn_(turn), rank_(rank), number_(turn.first_check) {}
  template <class Episode>
  void call(Episode& episode) {
    episode();
  }
  void before() { turn_.cells[rank_].value[number_ & 1] = number_; }
  std::uint64_t after() {
    // Two neighbours per check, one of them rotating: in time all pairs are checked, at a constant cost.
    const int n = turn_.members;
    if (n > 1) {
      look((rank_ + 1) % n);
      if (n > 2) look((rank_ + 2 + static_cast<int>(number_ % static_cast<unsigned>(n - 2))) % n);
    }
    return number_++;
  }

 private:
  void look(int other) {
    const std::uint64_t seen = turn_.cells[other].value[number_ & 1];
    if (seen != number_) [[unlikely]] {
      fail(turn_.lines[rank_], other, static_cast<double>(number_), static_cast<double>(seen));
    }
  }
  Turn& turn_;
  const int rank_;
  std::uint64_t number_;
};

// Element k of rank r's contribution is tag + (r + 1)(k + 1): small integers, so sums of any order are exact.
// The tag is the check's number modulo 4096 for the elements sampled by this check, else 0.
class DataCheck {
 public:
  DataCheck(Turn& turn, int rank)
      : turn_(turn),
        rank_(rank),
        count_(turn.doubles),
        step_(std::max(1, turn.doubles / 16)),
        given_(count_ * blocks_in(turn.collective, turn.members)),
        in_(turn.in_of(rank)),
        out_(turn.out_of(rank)),
        roots_(turn.members, turn.rotating),
        number_(turn.first_check) {
    for (int k = 0; k < given_; ++k) in_[k] = value(rank_, k, 0);
  }
  template <class Episode>
  void call(Episode& episode) {
    root_ = roots_.next();
    episode(static_cast<const double*>(in_), out_);
    asm volatile("" ::"r"(out_) : "memory");  // the compiler must keep the result
  }
  void before() {
    for (int k = sampled_; k < given_; k += step_) in_[k] = value(rank_, k, 0);
    tag_ = static_cast<double>(number_ % 4096);
    sampled_ = static_cast<int>(number_ * 7919 % static_cast<unsigned>(step_));
    for (int k = sampled_; k < given_; k += step_) in_[k] = value(rank_, k, tag_);
  }
  std::uint64_t after() {
    compare(step_, sampled_);
    return number_++;
  }
  // Compares the whole result of the last check's episode, or of a later episode with the same contributions.
  void whole() { compare(1, 0); }

 private:
  static double value(int rank, int k, double tag) { return tag + (rank + 1.0) * (k + 1.0); }
  // Compares elements `first`, `first` + `step`, ... of each block of the result.
  void compare(int step, int first) {
    const Collective collective = turn_.collective;
    // then the result comes from block rank_ of the contributions
    const bool mine = blocks_in(collective, turn_.members) > 1;
    const int from = mine ? rank_ * count_ : 0;
    const int begin = (first - from % step + step) % step;
    const int blocks = has_result() ? blocks_out(collective, turn_.members) : 0;
    for (int b = 0; b < blocks; ++b) {
      for (int i = begin; i < count_; i += step) {
        const int k = from + i;
        const double tag = k % step_ == sampled_ ? tag_ : 0;
        const double expected = folds(collective) ? sum(k, tag) : value(blocks > 1 ? b : root_, k, tag);
        const double seen = out_[b * count_ + i];
        if (seen != expected) [[unlikely]]
          fail(turn_.lines[rank_], b * count_ + i, expected, seen);
      }
    }
  }
  bool has_result() const {
    const CollectiveRules& rules = rules_of(turn_.collective);
    return rules.out.is_at(rank_ == root_) && (!rules.folds() || rules.folded(rank_, turn_.members) != 0);
  }
  double sum(int k, double tag) const {
    const int n = rules_of(turn_.collective).folded(rank_, turn_.members);
    return n * tag + (k + 1.0) * (0.5 * n * (n + 1.0));
  }
  Turn& turn_;
  const int rank_;
  const int count_, step_, given_;
  double* const in_;
  double* const out_;
  Roots roots_;
  int root_ = 0;  // of the last episode
  std::uint64_t number_;
  double tag_ = 0;
  int sampled_ = 0;
};

}  // namespace detail

template <class Probe, class Check, class Episode>
std::uint64_t Turn::loop(int rank, std::uint64_t count, Probe& probe, Check& check, Episode& episode) {
  // Contributors to a reduce or a gather need not wait for another member, and rotating roots neither, so no
  // member could tell all of them when to stop.
  const bool may_stop = order.limit_ns != 0 && !root_gets(collective) && !rotating;
  const std::uint64_t deadline = now_ns() + order.limit_ns;
  const std::uint64_t every = order.check_every;
  std::uint64_t left = count;
  while (left != 0) {
    const std::uint64_t group = std::min(left, every);
    for (std::uint64_t i = 1; i < group; ++i) {
      probe.before();
      check.call(episode);
      probe.after();
    }
    check.before();
    probe.before();
    check.call(episode);
    probe.after();
    const std::uint64_t number = check.after();
    left -= group;
    if (!may_stop || left == 0) continue;
    if (stop_after.load(std::memory_order_relaxed) == number) break;
    if (rank == 0 && now_ns() > deadline) stop_after.store(number + 1, std::memory_order_relaxed);
  }
  return count - left;
}

template <class Probe, class Check, class Episode>
void Turn::timed(int rank, Probe& probe, Check& check, Episode& episode) {
  ThreadCounters* const counters = order.counters ? &ThreadCounters::mine() : nullptr;
  lines[rank].warm = loop(rank, order.warm, probe, check, episode);
  probe.timed_part();
  const ThreadCounters::Readings counted = counters ? counters->read() : ThreadCounters::Readings{};
  const ThreadUse before = thread_use();
  lines[rank].begin_ns = now_ns();
  lines[rank].episodes = loop(rank, order.episodes, probe, check, episode);
  lines[rank].end_ns = now_ns();
  const ThreadUse after = thread_use();
  lines[rank].cpu_ns = after.cpu_ns - before.cpu_ns;
  lines[rank].switches = after.switches - before.switches;
  if (counters) lines[rank].counts = counters->since(counted);
}

template <class Check, class Episode>
void Turn::by_quantity(int rank, Check& check, Episode& episode) {
  const ProbePlace place{order, lines[rank], stamps[rank], met, rank, members};
  const auto with = [&](auto probe) { timed(rank, probe, check, episode); };
  switch (order.quantity) {
    case Quantity::kPeriod: return with(PeriodProbe());
    case Quantity::kLatency: return with(LatencyProbe(place));
    case Quantity::kEpcc: return with(EpccProbe(place));
    case Quantity::kSkewed:
    case Quantity::kOverlap: return with(SkewProbe(place));
    case Quantity::kStagger: return with(StaggerProbe(place));
  }
}

template <class Episode>
void Turn::run(int rank, Episode&& episode) {
  if constexpr (std::is_invocable_v<Episode&>) {
    detail::BarrierCheck check(*this, rank);
    by_quantity(rank, check, episode);
  } else {
    detail::DataCheck check(*this, rank);
    by_quantity(rank, check, episode);
    check.whole();
  }
}

}  // namespace fermata::bench
#endif
