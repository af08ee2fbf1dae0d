// The order that starts a turn, and the values that members record during it. Plain data.
#ifndef FERMATA_BENCH_ORDER_HPP
#define FERMATA_BENCH_ORDER_HPP

#include <cstdint>
#include <type_traits>

#include "base/line.hpp"
#include "bench/case.hpp"
#include "bench/counters.hpp"

namespace fermata::bench {

// Stamps of one member. The last one is not used: all later episodes of a batch overwrite it.
inline constexpr std::uint64_t kMaxStamps = 2048;

// How arrivals are spread under kLatency. kUniform: each member by a random time below the skew.
// kExponential: by a time with that mean, at most 16 times as long. kOneLate: one random member by the whole
// skew.
enum class SkewShape : std::uint8_t { kUniform = 0, kExponential = 1, kOneLate = 2 };

// One batch that the parent orders. It is sent over a socket.
struct Order {
  Quantity quantity = Quantity::kPeriod;
  std::uint64_t episodes = 1;
  std::uint64_t warm = 1;          // untimed episodes before the batch, which are checked, too
  std::uint64_t check_every = 1;   // episodes from one check to the next (turn.hpp)
  std::uint64_t delay_rounds = 0;  // kEpcc: rounds of the delay; kSkewed and kOverlap: of each chunk's delay
  std::uint64_t chunks =
      1;  // delays that a member computes; under kOverlap each is followed by a call for progress
  // The spread of arrivals: delay rounds under kLatency, ns under kSkewed and kOverlap. kStagger: the
  // lateness of the late member, in ns.
  std::uint64_t skew_ns = 0;
  SkewShape shape = SkewShape::kUniform;  // under kLatency
  std::uint64_t seed = 1;
  // Warm-up and batch each end soon after this time: after the second check from then on (Turn::loop()). No
  // limit if it is 0, if roots rotate, or if a root alone gets the result.
  std::uint64_t limit_ns = 0;
  bool counters = false;  // whether members count events (bench/counters.hpp)
};
static_assert(std::is_trivially_copyable_v<Order>);

// One member writes it during a turn. The host reads it after all members have finished the turn
// (Muster::finished orders this, or the end of Subject::launch).
struct alignas(kMaxLine) MemberLine {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t episodes = 0;  // timed ones
  std::uint64_t warm = 0;
  double reference_ns = 0;  // what an episode takes without its collective
  // of this member's thread, in the timed part
  std::uint64_t cpu_ns = 0;
  std::uint64_t switches = 0;  // of the scheduler, of its own will or not
  Counts counts = kNotCounted;
  std::uint64_t failures = 0;
  double expected = 0, seen = 0;  // at the first failure
  int about = -1;                 // rank whose data was wrong, or element of the result
  int status = 0;                 // the subject's error status; if it is not 0, the turn is void
};

// Plain on purpose: only the barrier under test orders these accesses.
struct alignas(kMaxLine) Cell {
  std::uint64_t value[2] = {0, 0};
};

struct alignas(kMaxLine) Stamps {
  std::uint64_t arrival[kMaxStamps];
  std::uint64_t departure[kMaxStamps];
};

}  // namespace fermata::bench
#endif
