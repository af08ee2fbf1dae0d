// Reviews of where the members run. A team that was made for unpinned members moves to plans for their CPUs
// once all of them are pinned.
#ifndef FERMATA_TEAM_REVIEW_HPP
#define FERMATA_TEAM_REVIEW_HPP

#include <cstdint>

#include "team/handles.hpp"

namespace fermata::team {

// The first review comes after call kFirstReview. Each further review comes kReviewStep times as late.
inline constexpr std::uint64_t kFirstReview = 4096;
inline constexpr std::uint64_t kReviewStep = 16;

bool is_reviewed(const exec::Team& team);
// Collective: all members call it after the same call on lines. If all are pinned by now, to other CPUs than
// their plans are for, they move to a team with plans for these CPUs. A team over hosts is refreshed instead.
int review(fermata_member* member);

}  // namespace fermata::team
#endif
