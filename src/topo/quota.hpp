// The CPU quota that control groups impose, version 1 and 2.
#ifndef FERMATA_TOPO_QUOTA_HPP
#define FERMATA_TOPO_QUOTA_HPP

#include <string>

namespace fermata {

struct Quota {
  double cpus = 0;    // 0: none
  int version = 0;    // of the hierarchy that holds the cpu controller; 0: none found
  std::string group;  // directory of this process's group; empty if none found
};

// The tightest quota of this process's group and all of its ancestors that are visible here. Reads
// ROOT/proc/self/cgroup, ROOT/proc/self/mountinfo and the mounts below ROOT; ROOT is empty but in tests.
Quota cgroup_quota(const std::string& root = {});

}  // namespace fermata
#endif
