// The single measurements that a profile is made of. Each pins its own members and leaves nothing behind.
// CPUs are OS indices, times ns. A result that could not be had is empty or 0.
#ifndef FERMATA_PROFILE_MEASURE_HPP
#define FERMATA_PROFILE_MEASURE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/probe.hpp"
#include "profile/profile.hpp"

namespace fermata {

struct PairCost {
  double o = 0, l = 0;  // one way: intercept and slope of half a round trip over the number of signals
  double one_way = 0;   // half a round trip of one line, polled without a pause if that is faster
};
std::optional<PairCost> measure_pair(std::int32_t a, std::int32_t b, bool processes, double seconds);

// A stage without a signal, and each further slot that never leaves its CPU.
std::optional<PairCost> measure_self(std::int32_t cpu, double seconds);

struct ByteCost {          // ns per byte
  double slot = 0;         // copied in, then copied out
  double direct = 0;       // read where it lies; 0: not permitted between processes
  double direct_once = 0;  // ns, of each reading: what remains at no bytes beyond one_way_ns
};
std::optional<ByteCost> measure_bytes(std::int32_t a, std::int32_t b, bool processes, double one_way_ns, double seconds);

struct OwnBytes {  // ns per byte, in one's own cache
  double copy = 0, fold = 0;
};
std::optional<OwnBytes> measure_own_bytes(std::int32_t cpu, double seconds);

// ns per byte that any of these CPUs has read, when all read each other at once; 0 if it could not be had.
double measure_domain_bytes(const std::vector<std::int32_t>& cpus, bool processes, double seconds);

// Of blocks between two processes; none: it could not be had. Without those that are lent where that is not permitted.
std::vector<BlockWay> measure_blocks(std::int32_t a, std::int32_t b, double seconds);

struct ManyCost {
  double awaited = 0, reader = 0;
  bool estimated = false;  // fewer than three CPUs: taken from one sender's further lines
};
std::optional<ManyCost> measure_many(const std::vector<std::int32_t>& cpus, bool processes, double seconds);

// [k-1]: ns per add when the first k CPUs add at once. Measured at powers of two and at all of them, linear
// between.
std::vector<double> measure_word_add(const std::vector<std::int32_t>& cpus, bool processes, double seconds);
// From an add by one member to another's reading of it, with the reply's one-way time taken off.
double measure_word_read(std::int32_t a, std::int32_t b, bool processes, double seconds);

// power8-barriers sections VI.B-D, for two members.
std::vector<LayoutCost> measure_layouts(std::int32_t a, std::int32_t b, std::int32_t line_bytes, bool processes, double seconds);

// One writer, one reader; empty where the CPU has no store of that size, or the architecture is not x86.
std::optional<Tearing> measure_tearing(std::int32_t writer, std::int32_t reader, std::int32_t bytes, bool processes, double seconds);

double measure_yield(std::int32_t cpu, bool processes, double seconds);
double measure_futex(std::int32_t a, std::int32_t b, bool processes, double seconds);

// Where measured costs contradict the declared topology; pure.
std::vector<std::string> contradictions(const Profile& profile);

}  // namespace fermata
#endif
