// What anonymous barriers need to know of the machine and of this process.
#ifndef FERMATA_ANONYMOUS_MACHINE_HPP
#define FERMATA_ANONYMOUS_MACHINE_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata::anonymous {

// FERMATA_WAIT and FERMATA_STALL_SECONDS, as of this process's first barrier, or as of load where it has made none.
WaitKind wait_kind();
std::int64_t stall_ns();
void settle();  // by whoever makes a barrier

// CPUs that this process' threads can use at a time: their affinity and the cgroup's quota; at least 1. As of the last look.
std::uint32_t usable_cpus();
// The same of the members of a barrier between processes: one that is bound to one CPU says nothing about the others.
std::uint32_t cpus_of_processes();
// Looks again if the last look is a while ago: what was true at the start may change, and one pinned thread says nothing about
// the others, which may not have been there. For who waits anyway: a look reads files.
void look_again(std::int64_t now_ns);

// Localities, as of the first call of domains(); domain < domains. Until then everything is in one.
std::uint32_t domains();
std::uint32_t current_domain();

}  // namespace fermata::anonymous
#endif
