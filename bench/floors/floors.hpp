// The hand-written floors and probes, by name, for bench/table.cpp.
#ifndef FERMATA_BENCH_FLOORS_FLOORS_HPP
#define FERMATA_BENCH_FLOORS_FLOORS_HPP

#include "bench/subject.hpp"

namespace fermata::bench {

// Numbers the episodes of two members from 1 on, across turns.
class Floor : public Subject {
 protected:
  // Calls episode(number), or episode(number, in, out) if it moves data.
  template <class F>
  void run(int rank, Turn& turn, F episode) {
    std::uint64_t e = episodes_[rank].value;
    if constexpr (std::is_invocable_v<F&, std::uint64_t>) {
      turn.run(rank, [&] { episode(++e); });
    } else {
      turn.run(rank, [&](const double* in, double* out) { episode(++e, in, out); });
    }
    episodes_[rank].value = e;
  }

 private:
  // On a line of its own, so that no other member's writes disturb it.
  struct alignas(kMaxLine) Episodes {
    std::uint64_t value = 0;
  };
  Episodes episodes_[2];
};

// `pauses`, here and below: how often a member pauses between two polls, 0, 1 or 4 times. bench/table.cpp
// lists the variants of each floor and probe. A run keeps only the fastest variant of each.
template <int kPauses>
void pause() {
  for (int p = 0; p < kPauses; ++p) cpu_pause();
}
template <template <int kPauses> class Of>
std::unique_ptr<Subject> with_pauses(int pauses) {
  if (pauses == 0) return std::make_unique<Of<0>>();
  if (pauses == 1) return std::make_unique<Of<1>>();
  return std::make_unique<Of<4>>();
}

// Barriers: one flag per member on a line of its own; two such flags per member, used alternately; the flags
// of both members on one line; a shared counter.
std::unique_ptr<Subject> floor_private(int pauses);
std::unique_ptr<Subject> floor_private_slots(int pauses);
std::unique_ptr<Subject> floor_packed(int pauses);
std::unique_ptr<Subject> floor_counter(int pauses);
// An allreduce of 8 to 56 bytes: the members' slots are adjacent, or on lines far apart.
std::unique_ptr<Subject> floor_exchange_dense(int pauses);
std::unique_ptr<Subject> floor_exchange_spaced(int pauses);
// A broadcast or reduce, as the Case says, through a ring of slots: episodes overlap.
std::unique_ptr<Subject> floor_stream(int pauses);
// Large payloads: each member makes its own result, or one half of each result.
std::unique_ptr<Subject> floor_direct_own();
std::unique_ptr<Subject> floor_direct_shared();
// A large broadcast or allreduce, with two copies of each byte, through a ring of 256 KiB or 2 MiB.
std::unique_ptr<Subject> floor_two_copies(bool long_ring);
std::unique_ptr<Subject> floor_two_copies_past_caches();
// result[i] = a[i] + b[i], as fast as this CPU adds.
using SumFn = void (*)(const double* a, const double* b, double* result, std::size_t count);
SumFn best_sum();
// An episode of probe_one_way takes two one-way latencies; the benchmark reports half of it. One of
// probe_switch takes one switch between two members on one CPU: the last to arrive goes on without one.
std::unique_ptr<Subject> probe_one_way(int pauses);
std::unique_ptr<Subject> probe_switch();

}  // namespace fermata::bench
#endif
