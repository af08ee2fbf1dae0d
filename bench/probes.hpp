// What each quantity adds to the worker loop (bench/turn.hpp): `before` and `after` each episode, and
// `timed_part` at the end of the warm-up. A constructor can time a reference before the warm-up.
#ifndef FERMATA_BENCH_PROBES_HPP
#define FERMATA_BENCH_PROBES_HPP

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "bench/clock.hpp"
#include "bench/order.hpp"

namespace fermata::bench {

struct ProbePlace {
  const Order& order;
  MemberLine& line;  // this member's
  Stamps& stamps;
  std::atomic<std::uint64_t>& met;  // shared by all members
  int rank, members;
};

// Random spread of arrivals: xorshift, with another sequence for each rank and turn.
class Spread {
 public:
  explicit Spread(const ProbePlace& place)
      : state_(place.order.seed * 0x9e3779b97f4a7c15u +
               static_cast<std::uint64_t>(place.rank) * 0xbf58476d1ce4e5b9u + 1) {}
  // The same sequence at all ranks.
  static Spread common(const ProbePlace& place) {
    Spread spread(place);
    spread.state_ = place.order.seed * 0x9e3779b97f4a7c15u + 1;
    return spread;
  }
  std::uint64_t operator()() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

struct PeriodProbe {
  void before() {}
  void after() {}
  void timed_part() {}
};

// Each member arrives late by a random number of rounds of delay(), by Order::shape and Order::skew_ns (here
// rounds, not ns). So each member can be the last, and members do not run in lock step.
class LatencyProbe {
 public:
  explicit LatencyProbe(const ProbePlace& place)
      : stamps_(place.stamps),
        skew_(place.order.skew_ns),
        shape_(place.order.shape),
        members_(static_cast<std::uint64_t>(place.members)),
        rank_(static_cast<std::uint64_t>(place.rank)),
        spread_(shape_ == SkewShape::kOneLate ? Spread::common(place) : Spread(place)) {}
  void before() {
    if (skew_ != 0) delay(lateness());
    stamps_.arrival[at_] = ticks();
  }
  void after() {
    stamps_.departure[at_] = ticks();
    at_ = at_ + 1 < kMaxStamps ? at_ + 1 : at_;
  }
  void timed_part() { at_ = 0; }

 private:
  std::uint64_t lateness() {
    const std::uint64_t random = spread_();
    if (shape_ == SkewShape::kUniform) return random % skew_;
    if (shape_ == SkewShape::kOneLate) return random % members_ == rank_ ? skew_ : 0;
    const double uniform = (static_cast<double>(random >> 11) + 1) * 0x1p-53;  // in (0, 1]
    return static_cast<std::uint64_t>(std::min(-std::log(uniform), 16.0) * static_cast<double>(skew_));
  }

  Stamps& stamps_;
  std::uint64_t at_ = 0;
  const std::uint64_t skew_;
  const SkewShape shape_;
  const std::uint64_t members_, rank_;
  Spread spread_;
};

class EpccProbe {
 public:
  explicit EpccProbe(const ProbePlace& place) : rounds_(place.order.delay_rounds) {
    // The reference is the delay alone. One member times it.
    if (place.rank != 0) return;
    const std::uint64_t repeats = std::clamp<std::uint64_t>(place.order.episodes, 100, 2000);
    const std::uint64_t begin = now_ns();
    for (std::uint64_t i = 0; i < repeats; ++i) delay(rounds_);
    place.line.reference_ns = static_cast<double>(now_ns() - begin) / static_cast<double>(repeats);
  }
  void before() { delay(rounds_); }
  void after() {}
  void timed_part() {}

 private:
  const std::uint64_t rounds_;
};

// Members meet, begin up to Order::skew_ns apart, and compute. An episode takes milliseconds, so
// CLOCK_MONOTONIC is precise enough for the stamps.
class SkewProbe {
 public:
  explicit SkewProbe(const ProbePlace& place) : place_(place), spread_(place) {
    constexpr int kRepeats = 2;
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < kRepeats; ++i) compute();
    place_.line.reference_ns = static_cast<double>(now_ns() - begin) / kRepeats;
  }
  void before() {
    meet();
    if (place_.order.skew_ns != 0) spin_ns(spread_() % place_.order.skew_ns);
    place_.stamps.arrival[at_] = now_ns();
    if (place_.order.quantity == Quantity::kSkewed) compute();  // under kOverlap the subject computes
  }
  void after() {
    place_.stamps.departure[at_] = now_ns();
    at_ = at_ + 1 < kMaxStamps ? at_ + 1 : at_;
  }
  void timed_part() { at_ = 0; }

 private:
  void compute() const {
    for (std::uint64_t chunk = 0; chunk < place_.order.chunks; ++chunk) delay(place_.order.delay_rounds);
  }
  // A meeting of the harness's own, not the subject's. So members are late by the skew alone.
  void meet() {
    const auto all = static_cast<std::uint64_t>(place_.members);
    // order: relaxed, both: only the time of the meeting depends on them.
    const std::uint64_t goal = (place_.met.fetch_add(1, std::memory_order_relaxed) / all + 1) * all;
    for (int spins = 0; place_.met.load(std::memory_order_relaxed) < goal; ++spins) {
      if (spins < 1000) {
        cpu_pause();
      } else {
        sched_yield();
      }
    }
  }
  const ProbePlace place_;
  std::uint64_t at_ = 0;
  Spread spread_;
};

// Each member in turn comes late. BarrierCheck or DataCheck (bench/turn.hpp) can then find out that a subject
// does not wait for a member for which it must wait.
class StaggerProbe {
 public:
  explicit StaggerProbe(const ProbePlace& place)
      : members_(place.members), rank_(place.rank), late_(place.order.skew_ns) {}
  void before() {
    if (episode_++ % members_ == rank_) spin_ns(late_);
  }
  void after() {}
  void timed_part() {}

 private:
  const int members_, rank_;
  const std::uint64_t late_;
  int episode_ = 0;
};

}  // namespace fermata::bench
#endif
