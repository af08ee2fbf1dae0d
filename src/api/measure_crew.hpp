// The members of a measurement.
#ifndef FERMATA_API_MEASURE_CREW_HPP
#define FERMATA_API_MEASURE_CREW_HPP

#include <cstdint>
#include <functional>

#include "base/kind.hpp"
#include "plan/plan.hpp"

namespace fermata {

// work(rank) for each of them, in a thread of its own or in a forked process, until all have ended. False: a process could not be made;
// then lost() is called before the others are waited for.
bool run_members(Engine engine, std::uint32_t members, const std::function<void(std::uint32_t)>& work, const std::function<void()>& lost);

}  // namespace fermata
#endif
