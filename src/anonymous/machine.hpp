// What anonymous barriers need to know about the machine and this process.
#ifndef FERMATA_ANONYMOUS_MACHINE_HPP
#define FERMATA_ANONYMOUS_MACHINE_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata::anonymous {

// FERMATA_WAIT and FERMATA_STALL_SECONDS, as read at this process's first barrier, or at load time if it has
// made none.
WaitKind wait_kind();
std::int64_t stall_ns();
void settle();  // whoever makes a barrier calls it

// How many CPUs this process's threads can use at the same time, by affinity and cgroup quota; at least 1. As
// of the last look.
std::uint32_t usable_cpus();
// The same for the members of a barrier between processes. A process that is bound to one CPU says nothing
// about the others.
std::uint32_t cpus_of_processes();
// Looks again if the last look was some time ago. The first look may be out of date. Also, one pinned thread
// says nothing about the others, which may have started later. Only for threads that wait anyway: a look
// reads files.
void look_again(std::int64_t now_ns);

// Localities, as of the first call of domains(); current_domain() < domains(). Before that call, all CPUs are
// in one.
std::uint32_t domains();
std::uint32_t current_domain();

}  // namespace fermata::anonymous
#endif
