// The planner's way to execution: times a compiled program on this machine.
#ifndef FERMATA_API_MEASURE_HPP
#define FERMATA_API_MEASURE_HPP

#include "plan/block_plan.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Runs the program back to back with one thread or process per rank, each pinned to key.cpus[rank] (unpinned if empty), and
// returns ns per episode of one repeat, long enough for the clock (at least 2 ms or 64 episodes).
// Errors: kSystem (a member could not be started), and what the run itself returned.
Measure measure_on_this_machine();

// Runs the collective on blocks by this schedule, likewise; returns ns from the last arrival to the last departure: of a call behind a
// barrier, less the barrier's own time.
BlockMeasure measure_blocks_on_this_machine();

}  // namespace fermata
#endif
