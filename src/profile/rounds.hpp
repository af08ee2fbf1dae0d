// Combines several rounds of the same measurements into one profile.
#ifndef FERMATA_PROFILE_ROUNDS_HPP
#define FERMATA_PROFILE_ROUNDS_HPP

#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// A shared machine may be disturbed for a second at a time, and its virtual CPUs may move. So each quantity
// is measured in several rounds, spread over the whole time. measuring_plan() sets the number of rounds.
//
// Each quantity of the result is the median over the rounds that have it. Tearing counts are summed, since
// their reads are trials. The result has the remarks of all rounds, and one more if the nearest pair's
// latency changed between rounds.
// Precondition: at least one round, and the same CPUs in all rounds.
Profile combined(const std::vector<Profile>& rounds);

}  // namespace fermata
#endif
