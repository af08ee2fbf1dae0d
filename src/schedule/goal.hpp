// Writes a schedule in GOAL, the text format of the simulator LogGOPSim and of its generator schedgen
// (Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010).
#ifndef FERMATA_SCHEDULE_GOAL_HPP
#define FERMATA_SCHEDULE_GOAL_HPP

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// A message for each signal, on one host as between hosts, with its stage as the tag. Transfers from one
// member to another that are next to each other in a stage are one message, as schedule.hpp defines it. It
// has head_bytes, and chunk_bytes for each transfer with data.
//
// The order at a rank is a cursor's: in each stage first the sends, one after the other, then all receives,
// then the next stage. If several receives come before several operations, an operation `calc 0` joins them,
// so that the file does not grow with the product. A copy or a fold within a member sends nothing and is left
// out.
// Error: kUnsupported if members signal words, since GOAL has no shared memory.
Result<std::string> to_goal(const Schedule& schedule, std::int64_t head_bytes, std::int64_t chunk_bytes);

}  // namespace fermata
#endif
