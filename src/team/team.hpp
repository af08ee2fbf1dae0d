// The life of a team: it is made or attached, members join, split, move to other plans and leave, and it
// ends.
#ifndef FERMATA_TEAM_TEAM_HPP
#define FERMATA_TEAM_TEAM_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "team/handles.hpp"
#include "team/plans.hpp"

namespace fermata::team {

// Returns an error if the handle is null, or the team was destroyed.
int check_team(const fermata_team* team);

int make_team(const TeamRequest& request, fermata_team** out);
// Offers the team as `name` until it was fetched `count` times, for at most `within_ns`.
int serve(const fermata_team& team, const char* name, int count, std::int64_t within_ns);
// wait, stall_ns: as for exec::Team::attach().
int attach(const char* name, std::int64_t within_ns, const WaitKind* wait, std::int64_t stall_ns,
           fermata_team** out);
// The same for a team that lies in the file of `neighbour`, at `place`.
int attach_within(exec::Team& neighbour, std::uint64_t place, const WaitKind* wait, std::int64_t stall_ns,
                  fermata_team** out);
void destroy(fermata_team* team);

// The CPU of each rank, as the team's creator configured them. Empty: some rank has none, or a number that no
// CPU has. They lie in shared memory, so another process can overwrite them.
std::vector<std::int32_t> cpus_of(const exec::Team& team);
// A hash of the team's programs, and of the costs by which its members choose schedules.
std::uint64_t hash_of_team(const exec::Team& team);

// `rank` may be FERMATA_ANY_RANK. `owns`: leave() destroys the team's handle, too.
int join(fermata_team* team, int rank, bool owns, fermata_member** out);
void leave(fermata_member* member);

// Handles that are given up unless they are released.
struct GiveUp {
  void operator()(fermata_team* team) const { destroy(team); }
  void operator()(fermata_member* member) const { leave(member); }
};
using OwnedTeam = std::unique_ptr<fermata_team, GiveUp>;
using OwnedMember = std::unique_ptr<fermata_member, GiveUp>;

// Collective: members of one colour become a team, in the order of their keys. *out becomes null for a
// negative colour.
int split(fermata_member* member, int colour, int key, fermata_member** out);

// Reviews of where the members run. The members of a team that was made for unpinned members move to one with
// plans for their CPUs, once a review finds all of them pinned.
bool is_reviewed(const exec::Team& team);
// The first review comes after call kFirstReview, if that is a blocking call on lines, else after the next
// such call. Each further review comes about kReviewStep times as late.
inline constexpr std::uint64_t kFirstReview = 4096;
inline constexpr std::uint64_t kReviewStep = 16;
// Collective: all members call it after the same call on lines. If all are pinned by now, to other CPUs than
// their plans are for, they move to a team with plans for these CPUs. They stay for good once a member has
// used a collective on blocks or prepared a request. In a team that is refreshed (refreshes()), this is
// refresh() instead. An error breaks the team, so that no member waits for a member that has returned.
int review(fermata_member* member);

}  // namespace fermata::team
#endif
