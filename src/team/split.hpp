#ifndef FERMATA_TEAM_SPLIT_HPP
#define FERMATA_TEAM_SPLIT_HPP

#include "team/handles.hpp"

namespace fermata::team {

// Collective: members of one colour become a team, in the order of their keys. *out becomes null for a
// negative colour.
int split(fermata_member* member, int colour, int key, fermata_member** out);

}  // namespace fermata::team
#endif
