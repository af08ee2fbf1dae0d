// One profile out of several rounds of the same measurements.
#ifndef FERMATA_PROFILE_ROUNDS_HPP
#define FERMATA_PROFILE_ROUNDS_HPP

#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// A machine that others share is disturbed for a second at a time, and its virtual CPUs move: each quantity is timed in several windows,
// each of which lies among those of all others (measuring_plan() says in how many).
//
// Medians, quantity by quantity, over the rounds that have it; of tearing, whose reads are trials, sums. Remarks that any round made, and
// one more where the nearest pair's latency was not the same in all. Precondition: rounds of the same CPUs, one at least.
Profile combined(const std::vector<Profile>& rounds);

}  // namespace fermata
#endif
