// Combines several rounds of the same measurements into one profile.
#ifndef FERMATA_PROFILE_ROUNDS_HPP
#define FERMATA_PROFILE_ROUNDS_HPP

#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// Other load may disturb a machine for a second at a time, and its virtual CPUs may move. So several rounds
// measure each quantity, spread over the whole time. measuring_plan() sets the largest number of rounds.
//
// Each measured quantity of the result is the median over the rounds that have it. Tearing counts (Tearing in
// profile/profile.hpp) are sums, since their reads are trials. The result has the remarks of all rounds, and
// another one if the nearest pair's latency differs by a factor of 1.5 or more between rounds. The rest is
// from the first round. Precondition: at least one round, and the same CPUs in all rounds.
Profile combined(const std::vector<Profile>& rounds);

}  // namespace fermata
#endif
