// Teams over several hosts, as the planner sees them: topology and costs.
#ifndef FERMATA_PLAN_HOSTS_HPP
#define FERMATA_PLAN_HOSTS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata {

// Describes the team as a topology with one CPU per rank. The CPU's OS index is the rank; the CPUs are sorted
// by host. Ranks on one host share memory; between hosts there is a network. The topology has no real CPUs,
// since these differ from host to host and every host must make the same plan.
Topology topology_of_hosts(const std::vector<std::int32_t>& hosts);
// Estimates the signal costs of that topology, where nothing was measured. A message between hosts is
// expensive, each further message is cheaper, and a signal through memory costs almost nothing.
Profile profile_of_hosts(const Topology& topology);

// A team with its members' hosts and CPUs. By these, the planner finds a measured profile for it.
struct Allocation {
  std::vector<std::int32_t> hosts;   // of each rank
  std::vector<std::string> names;    // of the hosts; empty: not known
  std::vector<std::int32_t> pinned;  // the CPU of each rank on its host, or -1; empty: no rank is pinned
};
// Does what topology_of_hosts does, and adds the host names to the model. So equal shapes on other hosts
// count as other machines.
Topology topology_of(const Allocation& team);
// Selects the team's rows from an MPI job's profile, in the order of `topology`. A rank gets the row that is
// pinned to its CPU on its host, else the next free row of its host. Where a host has more ranks than rows,
// ranks share rows. Error: kNotFound if the job did not run on all of these hosts.
Result<Profile> profile_of(const Allocation& team, const Topology& topology, const Profile& job);
// The same from the newest cached profile that has all of these hosts. Without such a profile, estimates.
Profile profile_of(const Allocation& team, const Topology& topology);

}  // namespace fermata
#endif
