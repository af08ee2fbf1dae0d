// Teams over several hosts: what a planner sees of them.
#ifndef FERMATA_PLAN_HOSTS_HPP
#define FERMATA_PLAN_HOSTS_HPP

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata {

// A CPU for each rank, whose OS index is the rank: near each other on one host, a network apart on two. Where ranks run on their hosts
// differs from host to host, and a plan must be the same on all of them.
Topology topology_of_hosts(const std::vector<std::int32_t>& hosts);
// What signals cost there where nothing was measured: a message between hosts is dear, one more of them less so, memory next to nothing.
Profile profile_of_hosts(const Topology& topology);

}  // namespace fermata
#endif
