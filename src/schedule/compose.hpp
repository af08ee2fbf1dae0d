// Building schedules out of schedules. Every function returns plain data and leaves its inputs alone.
#ifndef FERMATA_SCHEDULE_COMPOSE_HPP
#define FERMATA_SCHEDULE_COMPOSE_HPP

#include <vector>

#include "schedule/schedule.hpp"

namespace fermata {

// `schedule` over ranks[0], ranks[1], ... of a team of `members`; words keep their order. Its root r becomes
// ranks[r]. Precondition: ranks are distinct and at least as many as the schedule's members.
Schedule lift(const Schedule& schedule, const std::vector<std::int32_t>& ranks, std::int32_t members);

// Disjoint schedules of the same team in the same stages; kEarly aligns first stages (arrivals), kLate last
// stages (departures). b's words follow a's. Kind, chunks and registers are the larger ones; the name is
// "a/b" unless equal.
enum class Align { kEarly, kLate };
Schedule beside(const Schedule& a, const Schedule& b, Align align);

// a, then b, of the same team; words and names as in beside. A reduce and a broadcast make an allreduce, and likewise
// reduce_scatter + allgather an allreduce, scatter + allgather a broadcast, gather + broadcast an allgather,
// reduce_scatter + gather a reduce, reduce + scatter a reduce_scatter (of as many chunks each).
Schedule then(const Schedule& a, const Schedule& b);

// Arrival into departure: stages reversed, edges turned round, combine into copy, reduce into broadcast, gather into
// scatter, reduce_scatter into allgather
// (heterogeneous-mpi-barriers V.B); copies to oneself are dropped. Words: adds into a counter would have to
// become polls of it, so a schedule with words is returned unchanged (such algorithms have release halves of
// their own).
Schedule transpose(const Schedule& arrival);

// Cuts each chunk into `segments` and overlaps stages: segment s runs stage t at t + s. Chunk c becomes
// chunks c x segments ... Signals without data go with the last segment. Without chunks, or with one segment:
// unchanged. Chunks of different segments that the same two members exchange in a combined stage are one message.
// Precondition: chunks x segments is at most kMaxScheduleChunks.
Schedule pipeline(const Schedule& schedule, std::int32_t segments);

// Puts the transfers from one member to another side by side, chunks ascending, messages in the order of their first
// transfer; unless some register would be folded in another order: then the stage stays as it is.
void order_messages(Stage& stage);

}  // namespace fermata
#endif
