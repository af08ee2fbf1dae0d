// Teams that the members of a team make together: by fermata_team_split, after a review of their placement, or by a refresh.
#ifndef FERMATA_API_SPLIT_HPP
#define FERMATA_API_SPLIT_HPP

#include <cstdint>
#include <vector>

#include "api/handles.hpp"

namespace fermata::api {

// One member's part of a split, as it stands in its status line.
struct Part {
  std::int32_t colour;
  std::int32_t key;
  std::uint32_t rank;
};

// A team that is to be made: by whom, of all that go into it, and of those on this host, in the order of the new ranks.
struct Gathering {
  TeamRequest request;
  std::vector<Part> parts, here;
  std::uint32_t mine = 0;    // in parts
  std::uint32_t branch = 0;  // of the parent's port, where it has one
  bool replaces = false;     // the parent's trunk: all its members move on
};

// Before the barrier that begins any of them: what the others need of this member.
void announce(const fermata_member* member, std::uint64_t scratch);
// All of the member's team, with a request for one like it; over several hosts, with them.
Gathering everybody(const fermata_member* member);
// A branch's number out of one that no other team has, and who leads it.
std::uint32_t branch_of(const exec::Team& parent, std::uint32_t number, std::uint32_t leader);
// Collective: the team is made on each host, and each member has a handle of it.
int share(fermata_member* member, const Gathering& g, fermata_team** team);
// The handle keeps its identity; what it leads to is exchanged. `made` is gone.
void take_over(fermata_member* member, fermata_member* made);

}  // namespace fermata::api
#endif
