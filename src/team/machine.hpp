// What a process knows of this machine: its topology, its profile, and the programs that it has planned.
#ifndef FERMATA_TEAM_MACHINE_HPP
#define FERMATA_TEAM_MACHINE_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata::team {

// This machine's topology, discovered once per process.
Result<const Topology*> this_machine();
// The cached profile that was measured for the engine; else the one for threads; else estimates.
Profile best_known_profile(const Topology& topology, Engine engine);
// This machine's profile. It is read once per process and engine.
const Profile& this_profile(Engine engine);

// The compiled plan for a request: the best by predicted cost. It never measures. `profile` null: this
// machine's. `algorithm` empty: the best one; then it first looks in the cache. Next it looks among the
// results of this process's searches, and then it searches.
Result<std::vector<std::byte>> program_for(const PlanKey& key, const Topology& topology,
                                           const std::shared_ptr<const Profile>& profile,
                                           const std::string& algorithm);

}  // namespace fermata::team
#endif
