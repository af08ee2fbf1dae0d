// Builds schedules from schedules. The functions that return a schedule do not change their inputs.
#ifndef FERMATA_SCHEDULE_COMPOSE_HPP
#define FERMATA_SCHEDULE_COMPOSE_HPP

#include <vector>

#include "schedule/schedule.hpp"

namespace fermata {

// Puts `schedule` on the ranks ranks[0], ranks[1], ... of a team of `members`. Its root r becomes ranks[r];
// words keep their order. Precondition: the ranks are distinct, and there are at least as many as the
// schedule has members.
Schedule lift(const Schedule& schedule, const std::vector<std::int32_t>& ranks, std::int32_t members);

// Runs schedules of the same team in the same stages. No member has transfers in two of them. kEarly aligns
// their first stages (for arrivals), kLate their last stages (for departures). The words follow each other.
// The numbers of chunks and of registers are the largest ones. The root is the first one's, the collective is
// as in `then`, one after the other. The name of a and b is "a/b"; "a" if both have that name; the other's if
// one has none. Precondition: there is a schedule.
enum class Align { kEarly, kLate };
Schedule beside(const std::vector<Schedule>& all, Align align);

// Runs a, then b, of the same team. Words, root and name are as in `beside`. For the pairs below, which must
// have equal numbers of chunks, the collective is the one on the right. For other pairs, it is the one with
// the larger enumerator. That is only a name: verify() proves whether the result is that collective.
//   reduce + broadcast          = allreduce
//   broadcast + reduce          = allreduce
//   reduce_scatter + allgather  = allreduce
//   scatter + allgather         = broadcast
//   gather + broadcast          = allgather
//   reduce_scatter + gather     = reduce
//   reduce + scatter            = reduce_scatter
Schedule then(const Schedule& a, const Schedule& b);

// Makes a departure from an arrival (heterogeneous-mpi-barriers, V.B). It reverses stages and edges, replaces
// combine by copy, and drops transfers from a member to itself. A reduce becomes a broadcast, a gather a
// scatter, a reduce_scatter an allgather.
//
// If `arrival` has words, the result equals it, since adds to a counter would have to become polls of the
// counter. An algorithm with words has a release half of its own, if it has halves.
Schedule transpose(const Schedule& arrival);

// Cuts each chunk into `segments` and overlaps stages: segment s runs stage t in stage t + s. Chunk c becomes
// the chunks c x segments .. (c + 1) x segments - 1. Signals without data go with the last segment. Each
// stage is then ordered by order_messages(). If the schedule has no chunks or no stages, or for fewer than
// 2 segments, the function returns it unchanged. Precondition: chunks x segments is at most
// kMaxScheduleChunks.
Schedule pipeline(const Schedule& schedule, std::int32_t segments);

// Lists the transfers from one member to another next to each other, with ascending chunks. Messages keep the
// order of their first transfers. If this would change the order in which a register is written, the stage
// stays as it is.
void order_messages(Stage& stage);

}  // namespace fermata
#endif
