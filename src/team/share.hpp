// How the members of a team make another team together, on one of three occasions:
// - they call fermata_team_split
// - a review finds them on other CPUs
// - a refresh finds better plans
#ifndef FERMATA_TEAM_SHARE_HPP
#define FERMATA_TEAM_SHARE_HPP

#include <cstdint>
#include <vector>

#include "team/handles.hpp"
#include "team/plans.hpp"

namespace fermata::team {

// One member's arguments of a split.
struct Part {
  std::int32_t colour;
  std::int32_t key;
  std::uint32_t rank;
};

// A team that is to be made. `parts` has all of its members. `here` has the members on this host. Both are in
// the order of the new ranks.
struct Gathering {
  TeamRequest request;
  std::vector<Part> parts, here;
  std::uint32_t mine = 0;     // this member's index in `parts`
  std::uint32_t subteam = 0;  // number of the new team on the parent's port, if the parent has a port
  bool replaces = false;      // the new team replaces the port's team: all members move on
};

// Publishes this member's arguments for the others, and a random name under which it can pass on a new team.
// scratch: the arguments, in one word: colour and key of a split, the CPU of a review, 0 for a refresh. Call
// it before the barrier or allgather that begins one of these.
void announce(const fermata_member* member, std::uint64_t scratch);
// Returns all members of the member's team, with a request for a team like it, on the same hosts.
Gathering everybody(const fermata_member* member);
// An error: a status line does not say what its member wrote there.
int overwritten();
// The index of this rank; parts.size() if it is none of them.
std::uint32_t find(const std::vector<Part>& parts, std::uint32_t rank);
// Returns the number that identifies a new team among all teams that use a port. It consists of `number`,
// which no other team with this leader has, and of the leader's rank in the port's owner, the team from which
// all others come. `leader` is the leader's rank in `parent`.
std::uint32_t subteam_of(const exec::Team& parent, std::uint32_t number, std::uint32_t leader);
bool is_subteam_number(std::uint32_t number);  // false: larger than subteam_of() can take
// Collective: makes the team on each host, and gives each member a handle of it.
int share(fermata_member* member, const Gathering& g, fermata_team** team);
// Collective: makes the team, joins it at the same rank, and lets all members know how that went. *made
// becomes this member in the new team. If a member could not do it or has other plans, *made stays as it was,
// at every member. An error: the members could not agree.
int make_for_all(fermata_member* member, const Gathering& g, fermata_member** made);
// Moves `member` to the team of `made`: the member leaves its old team, and `made` is freed. The handle stays
// the same.
void take_over(fermata_member* member, fermata_member* made);
// From now on reports on the handle that the member was joined from are about the member's present team.
// Aborts go there too, if aborts_follow. The member's process calls it for each of its members.
void follow(const fermata_member* member, bool aborts_follow);

}  // namespace fermata::team
#endif
