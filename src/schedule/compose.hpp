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

// a, then b, of the same team; words and names as in beside. A reduce and a broadcast make an allreduce.
Schedule then(const Schedule& a, const Schedule& b);

// Arrival into departure: stages reversed, edges turned round, combine into copy, reduce into broadcast
// (heterogeneous-mpi-barriers V.B); copies to oneself are dropped. Words: adds into a counter would have to
// become polls of it, so a schedule with words is returned unchanged (such algorithms have release halves of
// their own).
Schedule transpose(const Schedule& arrival);

// Cuts each chunk into `segments` and overlaps stages: segment s runs stage t at t + s. Chunk c becomes
// chunks c x segments ... Signals without data go with the last segment. Without chunks, or with one segment:
// unchanged.
Schedule pipeline(const Schedule& schedule, std::int32_t segments);

}  // namespace fermata
#endif
