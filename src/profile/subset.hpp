// Selects the rows of a profile that a team's placement needs.
#ifndef FERMATA_PROFILE_SUBSET_HPP
#define FERMATA_PROFILE_SUBSET_HPP

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// Row and column i of the result belong to cpus[i], an os_index. A CPU may occur several times
// (oversubscribed). Between two members on one CPU, a signal costs the CPU's own stage and a switch
// (yield_ns, else futex_ns). A CPU that is not in the profile gets the profile's highest costs, and the
// result gets a remark. missing_cpus() lists such CPUs.
Profile subset(const Profile& profile, const std::vector<std::int32_t>& cpus);
std::vector<std::int32_t> missing_cpus(const Profile& profile, const std::vector<std::int32_t>& cpus);

// Extends `known` to all CPUs of `topology`, for teams with more CPUs than `known` has. Pairs that `known`
// lacks get estimated costs, scaled to known's one-way latency.
Profile extend(const Profile& known, const Topology& topology);

}  // namespace fermata
#endif
