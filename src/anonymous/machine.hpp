// What anonymous barriers need to know of the machine and of this process: asked once, and again when waiting gets long.
#ifndef FERMATA_ANONYMOUS_MACHINE_HPP
#define FERMATA_ANONYMOUS_MACHINE_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata::anonymous {

// FERMATA_WAIT, as of the first call.
WaitKind wait_kind();
// CPUs that this process' threads can use at a time: the affinity of the threads that asked, and the cgroup's quota; at least 1.
std::uint32_t usable_cpus();

}  // namespace fermata::anonymous
#endif
