// Topology discovery for cross builds, which have no hwloc: every CPU that this process may use counts as a
// core of one package. That is enough for tests of the planner and the engine. Tests of discovery itself run
// natively.
#include <sched.h>

#include "topo/topology.hpp"

namespace fermata {

Result<Topology> discover_topology() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return Error{Status::kSystem, "sched_getaffinity failed"};
  Topology t;
  t.source = "this machine";
  t.model = "not discovered";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    Cpu c;
    c.os_index = c.core = c.l2 = cpu;
    t.cpus.push_back(c);
  }
  t.cpus_total = static_cast<std::int32_t>(t.cpus.size());
  return t;
}

Result<Topology> topology_from_xml(const std::string& path) {
  return Error{Status::kUnsupported, path + ": this build has no hwloc"};
}

Result<Topology> topology_from_synthetic(const std::string& spec) {
  return Error{Status::kUnsupported, spec + ": this build has no hwloc"};
}

}  // namespace fermata
