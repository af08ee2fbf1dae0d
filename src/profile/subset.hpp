// The rows of a profile that a team's placement needs.
#ifndef FERMATA_PROFILE_SUBSET_HPP
#define FERMATA_PROFILE_SUBSET_HPP

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// Row and column i are those of cpus[i], an os_index. A CPU may come several times (oversubscribed): between
// members of one CPU a signal costs a switch (yield_ns, else futex_ns) on top of the CPU's own stage. A CPU
// that the profile doesn't know gets the dearest costs of the profile and a remark; missing_cpus tells
// beforehand.
Profile subset(const Profile& profile, const std::vector<std::int32_t>& cpus);
std::vector<std::int32_t> missing_cpus(const Profile& profile, const std::vector<std::int32_t>& cpus);

// Costs of `known` between CPUs that it has; elsewhere those of an estimate for `topology`, scaled to known's
// one-way latency. For teams larger than what was measured.
Profile extend(const Profile& known, const Topology& topology);

}  // namespace fermata
#endif
