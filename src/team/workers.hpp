// Runs the members of a measurement.
#ifndef FERMATA_TEAM_MEASURE_CREW_HPP
#define FERMATA_TEAM_MEASURE_CREW_HPP

#include <cstdint>
#include <functional>

#include "base/collective.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Runs work(rank) for each member, in a thread or forked process of its own, and waits until all have ended.
// Returns false if a process could not be made. In that case it calls lost() before it waits for the others.
bool run_members(Engine engine, std::uint32_t members, const std::function<void(std::uint32_t)>& work,
                 const std::function<void()>& lost);

}  // namespace fermata
#endif
