// How much of a collective's waiting can overlap with computing. Each member begins an allreduce, computes
// for about 2 ms with a call for progress about every 10 us, and waits for the rest. Members begin up to 1 ms
// apart. If no CPU is free, no other thread can do the collective's work, so the best possible time is
// computing + work.
#ifndef FERMATA_BENCH_OVERLAP_HPP
#define FERMATA_BENCH_OVERLAP_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/session.hpp"

namespace fermata::bench {

// In ns, medians over rounds; ratios are within rounds.
struct Overlap {
  std::string subject;
  Case what;
  double compute = 0;  // without a collective
  // the blocking call, back to back: no member is late, so this is the collective's own work
  double work = 0;
  // the time that a blocking call after computing adds, for the slowest member of an episode
  double blocking = 0;
  double overlap = 0;                   // the time that a call which overlaps with computing adds
  Ratio blocking_total, overlap_total;  // (compute + blocking or overlap) / (compute + work)
};
inline constexpr double kOverlapBound = 1.10;

// The payload is 1 MiB if options name none. Each number of members and payload has one group for all three
// quantities, so that rounds pair them. check_overlap() returns "" or what is wrong with the options.
std::string check_overlap(Options options);
Outcome run_overlap(Options options);

std::vector<Overlap> overlaps_of(const Outcome& outcome);
// Time in ns of a call for progress by a member with nothing outstanding: the longest over all engines and
// numbers of members. NaN if it could not be measured.
double idle_progress_of(const Outcome& outcome);
std::string overlap_table(const Outcome& outcome);
nlohmann::json overlap_json(const Outcome& outcome);

}  // namespace fermata::bench
#endif
