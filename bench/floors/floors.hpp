// The hand-written floors and probes, by name, for bench/table.cpp.
#ifndef FERMATA_BENCH_FLOORS_FLOORS_HPP
#define FERMATA_BENCH_FLOORS_FLOORS_HPP

#include <sched.h>

#include "bench/subject.hpp"

namespace fermata::bench {

// A member's episode number between turns; on a line of its own, so that no other member's writes disturb it.
struct alignas(kMaxLine) Episode {
  std::uint64_t value = 0;
};

inline void yield() { sched_yield(); }

std::unique_ptr<Subject> floor_private_pause();
std::unique_ptr<Subject> floor_private_pauses();
std::unique_ptr<Subject> floor_private_plain();
std::unique_ptr<Subject> floor_private_slots_pause();
std::unique_ptr<Subject> floor_private_slots_plain();
std::unique_ptr<Subject> floor_packed_pause();
std::unique_ptr<Subject> floor_packed_pauses();
std::unique_ptr<Subject> floor_packed_plain();
std::unique_ptr<Subject> floor_counter_pause();
std::unique_ptr<Subject> floor_counter_plain();
std::unique_ptr<Subject> floor_exchange_dense_pause();
std::unique_ptr<Subject> floor_exchange_dense_pauses();
std::unique_ptr<Subject> floor_exchange_dense_plain();
std::unique_ptr<Subject> floor_exchange_spaced_pause();
std::unique_ptr<Subject> floor_exchange_spaced_pauses();
std::unique_ptr<Subject> floor_exchange_spaced_plain();
std::unique_ptr<Subject> floor_stream_pause();
std::unique_ptr<Subject> floor_stream_plain();
std::unique_ptr<Subject> floor_direct_own();
std::unique_ptr<Subject> floor_direct_shared();
std::unique_ptr<Subject> probe_one_way_pause();
std::unique_ptr<Subject> probe_one_way_plain();
std::unique_ptr<Subject> probe_switch();

}  // namespace fermata::bench
#endif
