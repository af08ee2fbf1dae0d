// A turn's order, and what members write down while they follow it. Plain data.
#ifndef FERMATA_BENCH_ORDER_HPP
#define FERMATA_BENCH_ORDER_HPP

#include <cstdint>
#include <type_traits>

#include "base/line.hpp"
#include "bench/case.hpp"

namespace fermata::bench {

inline constexpr std::uint64_t kMaxStamps = 2048;  // episodes of one latency batch

// One batch, as the parent orders it. Plain data: it goes over a socket.
struct Order {
  Quantity quantity = Quantity::kPeriod;
  std::uint64_t episodes = 1;
  std::uint64_t warm = 1;  // untimed episodes before, checked all the same
  std::uint64_t check_every = 1;
  std::uint64_t delay_rounds = 0;  // kEpcc; kSkewed and kOverlap: of each of `chunks`
  std::uint64_t chunks =
      1;  // delays that a member computes for, with a call for progress after each under kOverlap
  // Arrivals are spread over so much: delay rounds under kLatency, ns under kSkewed and kOverlap. kStagger:
  // how late the late one is.
  std::uint64_t skew_ns = 0;
  std::uint64_t seed = 1;
  std::uint64_t limit_ns = 0;  // warm-up and batch each end early after so much; 0: never
};
static_assert(std::is_trivially_copyable_v<Order>);

// Written by one member during a turn, read by the host after all have finished (the crew's gate orders
// that).
struct alignas(kMaxLine) MemberLine {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t episodes = 0;  // timed ones
  std::uint64_t warm = 0;
  double reference_ns = 0;  // what an episode takes without its collective
  std::uint64_t failures = 0;
  double expected = 0, seen = 0;  // of the first failure
  int about = -1;                 // rank whose data was wrong, or element of the result
  int status = 0;                 // of a subject that reports errors; not 0: the turn is void
};

// Plain on purpose: the barrier under test is all that orders these accesses.
struct alignas(kMaxLine) Cell {
  std::uint64_t value[2] = {0, 0};
};

struct alignas(kMaxLine) Stamps {
  std::uint64_t arrival[kMaxStamps];
  std::uint64_t departure[kMaxStamps];
};

}  // namespace fermata::bench
#endif
