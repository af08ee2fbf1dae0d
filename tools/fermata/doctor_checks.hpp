// The checks of `fermata doctor`: what this system permits, and how it is set up.
#ifndef FERMATA_TOOLS_DOCTOR_CHECKS_HPP
#define FERMATA_TOOLS_DOCTOR_CHECKS_HPP

#include <string>
#include <vector>

namespace fermata::tool {

struct Check {
  std::string name;     // a word or two
  std::string state;    // "yes", "no", "partly", "unknown"
  std::string detail;   // what was found
  std::string follows;  // what Fermata does as a result
};

std::string line_of(const std::string& path);  // the first line of a file; empty if it can't be read

// CPUs, quota, SMT, isolation, pinning, virtual machine, clock, profile. If the topology cannot be read: one
// check, which says so.
std::vector<Check> check_scheduling();
// membarrier, CMA, memfd, locks, sockets, futexes, seccomp, huge pages, counters
std::vector<Check> check_kernel();

}  // namespace fermata::tool
#endif
