// The measurements of which a profile consists. Each pins its own members and ends them before it returns.
// CPUs are OS indices, times are ns. processes: the members are processes, not threads. seconds: about how
// long to measure. A result is empty or 0 if the measurement failed.
#ifndef FERMATA_PROFILE_MEASURE_HPP
#define FERMATA_PROFILE_MEASURE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/memory.hpp"
#include "profile/probe.hpp"
#include "profile/profile.hpp"

namespace fermata {

struct PairCost {
  double o = 0, l = 0;  // one way: intercept and slope of half a round trip over the number of signals
  double one_way = 0;   // half a round trip of one line, polled without a pause if that is faster
};
std::optional<PairCost> measure_pair(std::int32_t a, std::int32_t b, bool processes, double seconds);

// o: a stage without a signal. l: each further slot, in a line that never leaves its CPU. one_way: 0.
// siblings: CPUs on which a thread each spins meanwhile.
std::optional<PairCost> measure_self(std::int32_t cpu, double seconds,
                                     const std::vector<std::int32_t>& siblings = {});

struct ByteCost {          // ns per byte
  double slot = 0;         // copied into a slot, then out of it
  double direct = 0;       // read directly from the other's memory; 0: not permitted between processes
  double direct_once = 0;  // ns per reading, beyond one_way_ns and the bytes
};
std::optional<ByteCost> measure_bytes(std::int32_t a, std::int32_t b, bool processes, double one_way_ns,
                                      double seconds);

struct OwnBytes {  // ns per byte, within the CPU's own cache
  double copy = 0, fold = 0;
};
std::optional<OwnBytes> measure_own_bytes(std::int32_t cpu, double seconds);

// All CPUs read each other's memory at once. Returns the time divided by the bytes of all CPUs, in ns per
// byte; 0: the measurement failed.
double measure_domain_bytes(const std::vector<std::int32_t>& cpus, bool processes, double seconds);

// Times blocks between two processes. Empty: the measurement failed. If the kernel or FERMATA_CMA=0 forbids
// single copies, the result has none.
std::vector<BlockWay> measure_blocks(std::int32_t a, std::int32_t b, double seconds);

struct ManyCost {
  double awaited = 0;      // each further slot that a member awaits, from another sender
  double reader = 0;       // each further reader of a published line
  bool estimated = false;  // with two CPUs: further lines of one sender stand for further senders and readers
};
// With the first 9 of the CPUs, or fewer.
std::optional<ManyCost> measure_many(const std::vector<std::int32_t>& cpus, bool processes, double seconds);

// Adds to a shared word. [k-1]: ns per add, over all adds, when the first k CPUs add at once. Measures powers
// of two and all CPUs, and interpolates linearly between them.
std::vector<double> measure_word_add(const std::vector<std::int32_t>& cpus, bool processes, double seconds);
// The time from one member's add until another member has read the sum. It is a round trip, from which the
// one-way time of the reply is subtracted.
double measure_word_read(std::int32_t a, std::int32_t b, bool processes, double seconds);

// The period of an exchange of two members with each layout that LayoutCost names, as in sections VI.B to
// VI.D of power8-barriers (docs/papers.md).
std::vector<LayoutCost> measure_layouts(std::int32_t a, std::int32_t b, std::int32_t line_bytes,
                                        bool processes, double seconds);

// Times accesses between two CPUs, which must be on different cores.
std::optional<AccessTimes> measure_accesses(std::int32_t a, std::int32_t b, std::int32_t line_bytes,
                                            bool processes, double seconds);
// With the first 9 of the CPUs, or fewer. [k - 1]: ns from a store by the first CPU until one of k others has
// read the line and has said so, in turn. Fewer than three CPUs: the result is empty.
std::vector<double> measure_readers(const std::vector<std::int32_t>& cpus, std::int32_t line_bytes,
                                    bool processes, double seconds);

// How often a reader sees only a part of a writer's store. Also empty if the CPU has no store of that size
// (16, 32 or 64 bytes) or is not an x86-64 CPU.
std::optional<Tearing> measure_tearing(std::int32_t writer, std::int32_t reader, std::int32_t bytes,
                                       bool processes, double seconds);

// One way: two members of one CPU take turns by a yield; a member wakes another through a futex.
double measure_yield(std::int32_t cpu, bool processes, double seconds);
double measure_futex(std::int32_t a, std::int32_t b, bool processes, double seconds);

// Returns remarks on measured costs that contradict the declared topology. Has no side effects.
std::vector<std::string> contradictions(const Profile& profile);

}  // namespace fermata
#endif
