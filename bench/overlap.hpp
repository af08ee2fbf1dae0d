// How much of a collective's waiting hides behind computing: an allreduce is begun, its caller computes for 2
// ms with a call for progress each 10 us, and waits for what is left; members begin up to 1 ms apart. On as
// many CPUs as members nobody else can do the collective's work, so what is possible is computing + that
// work.
#ifndef FERMATA_BENCH_OVERLAP_HPP
#define FERMATA_BENCH_OVERLAP_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/session.hpp"

namespace fermata::bench {

// ns, medians over rounds; ratios within rounds.
struct Overlap {
  std::string subject;
  Case what;
  double compute = 0;  // without a collective
  // the blocking call, back to back: nobody comes late, so it is the collective's own work
  double work = 0;
  // what the blocking call after computing adds to it, for the slower member of an episode
  double blocking = 0;
  double overlap = 0;                   // what the collective adds that goes on meanwhile
  Ratio blocking_total, overlap_total;  // (compute + that) / (compute + work)
};
inline constexpr double kOverlapBound = 1.10;

// 1 MiB where options name no payload. Each case has one group of all three quantities, so that rounds pair
// them.
std::string check_overlap(Options options);
Outcome run_overlap(Options options);

std::vector<Overlap> overlaps_of(const Outcome& outcome);
// ns of a call for progress of a member with nothing outstanding; NaN if it could not be measured.
double idle_progress_of(const Outcome& outcome);
std::string overlap_table(const Outcome& outcome);
nlohmann::json overlap_json(const Outcome& outcome);

}  // namespace fermata::bench
#endif
