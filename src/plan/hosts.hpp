// Teams over several hosts: what a planner sees of them.
#ifndef FERMATA_PLAN_HOSTS_HPP
#define FERMATA_PLAN_HOSTS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata {

// A CPU for each rank, whose OS index is the rank: near each other on one host, a network apart on two. Where ranks run on their hosts
// differs from host to host, and a plan must be the same on all of them.
Topology topology_of_hosts(const std::vector<std::int32_t>& hosts);
// What signals cost there where nothing was measured: a message between hosts is dear, one more of them less so, memory next to nothing.
Profile profile_of_hosts(const Topology& topology);

// A team of which it is known where its members are, so that what was measured there can be found.
struct Allocation {
  std::vector<std::int32_t> hosts;   // of each rank
  std::vector<std::string> names;    // of the hosts; empty: not known
  std::vector<std::int32_t> pinned;  // the CPU of each rank on its host, or -1; empty: all may run anywhere there
};
// As topology_of_hosts. With names it is another machine than the same shape elsewhere.
Topology topology_of(const Allocation& team);
// The rows of an MPI job's profile that the team's ranks have, in the order of `topology`: those of their hosts, and there of their CPU or,
// if they have none of their own, in turn. A rank too many shares another one's. Errors: kNotFound: the job wasn't on all of these hosts.
Result<Profile> profile_of(const Allocation& team, const Topology& topology, const Profile& job);
// By the newest profile in the cache that has all hosts; else estimates.
Profile profile_of(const Allocation& team, const Topology& topology);

}  // namespace fermata
#endif
