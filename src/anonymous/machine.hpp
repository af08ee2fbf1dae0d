// The properties of the machine and of this process that anonymous barriers use.
#ifndef FERMATA_ANONYMOUS_MACHINE_HPP
#define FERMATA_ANONYMOUS_MACHINE_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata::anonymous {

// FERMATA_WAIT and FERMATA_STALL_SECONDS, as read when this process made its first anonymous barrier; until
// then, as read at load time.
WaitKind wait_kind();
std::int64_t stall_ns();
void settle();  // its first call reads them; every function that makes such a barrier calls it

// The CPUs that this process's threads can use; at least 1. They are from the last look. If there was none,
// this looks at the calling thread's affinity.
Cpus usable_cpus();
// The same for the members of a barrier between processes. If this process has one CPU, all that are online
// count, since the other processes may use other CPUs.
Cpus cpus_of_processes();
// Counts the CPUs again if the last look was some time ago: at first 1 ms, then twice as long each time, up
// to about 1 s. The affinity may have changed. Also, the first look is at one thread, which may be pinned,
// and others may have started later. Only for threads that wait anyway: a look reads files.
void look_again(std::int64_t now_ns);

// Localities, as of the first call of domains(). Before that call, all CPUs count as one locality.
// current_domain() < domains().
std::uint32_t domains();
std::uint32_t current_domain();

}  // namespace fermata::anonymous
#endif
