// For the planner: functions that measure compiled programs and collectives on blocks on this machine.
#ifndef FERMATA_TEAM_MEASURE_HPP
#define FERMATA_TEAM_MEASURE_HPP

#include "plan/block_plan.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Runs the program back to back with one thread or process (key.engine) per rank. Each is pinned to
// key.cpus[rank], or unpinned if key.cpus is empty. Returns ns per episode, from a batch that takes at least
// 2 ms or has 1,048,576 episodes. Errors: kSystem (a thread or process could not be made), kArgument (not one
// CPU per member), kMemory, and those of the team and its calls.
Measure measure_on_this_machine();

// Runs a collective on blocks by this schedule, with members as above. Returns ns from the last arrival to
// the last departure: the time of a barrier and a call after it, less the time of a barrier alone; at least
// 1. The batch takes at least 3 ms or has 262,144 calls.
// Precondition: key.cpus is empty or has a CPU per member. Errors: kVerify (the schedule is not proved),
// kSystem, kMemory, and those of the team and its calls.
BlockMeasure measure_blocks_on_this_machine();

}  // namespace fermata
#endif
