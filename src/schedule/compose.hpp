// Building schedules out of schedules. Every function returns plain data and leaves its inputs alone.
#ifndef FERMATA_SCHEDULE_COMPOSE_HPP
#define FERMATA_SCHEDULE_COMPOSE_HPP

#include <vector>

#include "schedule/schedule.hpp"

namespace fermata {

// `schedule` over ranks[0], ranks[1], ... of a team of `members`; words keep their order.
Schedule lift(const Schedule& schedule, const std::vector<std::int32_t>& ranks, std::int32_t members);

// Disjoint schedules in the same stages; kEarly aligns first stages (arrivals), kLate last stages (departures).
enum class Align { kEarly, kLate };
Schedule beside(const Schedule& a, const Schedule& b, Align align);

// a, then b.
Schedule then(const Schedule& a, const Schedule& b);

// Arrival into departure: stages reversed, edges turned round, combine into copy (heterogeneous-mpi-barriers V.B). Words:
// adds into a counter become polls of it, so only word-free schedules are accepted (others are returned unchanged by
// the algorithms' own release halves).
Schedule transpose(const Schedule& arrival);

// Cuts each chunk into `segments` and overlaps stages: segment s runs stage t at t + s.
Schedule pipeline(const Schedule& schedule, std::int32_t segments);

}  // namespace fermata
#endif
