// The handles of values: what is read or made once, and then only passed on.
#ifndef FERMATA_API_VALUES_HPP
#define FERMATA_API_VALUES_HPP

#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "topo/topology.hpp"

struct fermata_topology {
  fermata::Topology value;
};
struct fermata_profile {
  fermata::Profile value;
};
struct fermata_plan {
  fermata::Plan value;
};

#endif
