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

// This machine's topology, discovered by the first call in a process and stored.
Result<const Topology*> this_machine();
// The cached profile that was measured for the engine; else the one for threads; else estimates.
Profile best_known_profile(const Topology& topology, Engine engine);
// This machine's best known profile. The first call for an engine in a process reads and stores it.
const Profile& this_profile(Engine engine);

// The compiled plan for `key`. It never measures. `algorithm` empty: any algorithm; then the first source is
// the cache of plan files. The next one is the results of this process's searches. The last one is a search
// by predicted cost. `profile` null: this machine's.
Result<std::vector<std::byte>> program_for(const PlanKey& key, const Topology& topology,
                                           const std::shared_ptr<const Profile>& profile,
                                           const std::string& algorithm);

}  // namespace fermata::team
#endif
