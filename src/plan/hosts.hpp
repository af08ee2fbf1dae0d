// Teams over several hosts, as the planner sees them: topology and costs.
#ifndef FERMATA_PLAN_HOSTS_HPP
#define FERMATA_PLAN_HOSTS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata {

// Describes the team as a topology with one CPU per rank, whose OS index is the rank. Ranks on one host share
// memory; ranks on two hosts are a network apart. The real CPUs are left out: they differ from host to host,
// and every host must make the same plan.
Topology topology_of_hosts(const std::vector<std::int32_t>& hosts);
// Estimated signal costs of that topology, for use where nothing was measured. A message between hosts is
// expensive, each further message is cheaper, and a signal through memory costs almost nothing.
Profile profile_of_hosts(const Topology& topology);

// A team with its members' hosts and CPUs, by which a measured profile can be found for it.
struct Allocation {
  std::vector<std::int32_t> hosts;   // of each rank
  std::vector<std::string> names;    // of the hosts; empty: not known
  std::vector<std::int32_t> pinned;  // the CPU of each rank on its host, or -1; empty: no rank is pinned
};
// As topology_of_hosts, with the host names in the model, so that equal shapes on other hosts count as other
// machines.
Topology topology_of(const Allocation& team);
// Selects the team's rows from an MPI job's profile, in the order of `topology`. A rank gets the row that is
// pinned to its CPU on its host, else the next free row of its host. Where a host has more ranks than rows,
// ranks share rows. Error: kNotFound if the job did not run on all of these hosts.
Result<Profile> profile_of(const Allocation& team, const Topology& topology, const Profile& job);
// From the newest cached profile that has all of these hosts; without one, estimates.
Profile profile_of(const Allocation& team, const Topology& topology);

}  // namespace fermata
#endif
