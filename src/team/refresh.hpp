// Refreshes of a team's profile while it runs over several hosts (docs/hosts.md). They come after a call on
// which all members agree. What the members have observed goes to rank 0, which judges whether other plans
// pay. Then all members change to them, or none does.
#ifndef FERMATA_TEAM_REFRESH_HPP
#define FERMATA_TEAM_REFRESH_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "team/handles.hpp"
#include "team/plans.hpp"

namespace fermata::team {

// It is in the segment of a team that is refreshed. The team's profile follows it, as JSON.
struct RefreshStart {
  double seconds = 0;       // about the time between two refreshes
  std::uint64_t keeps = 0;  // not 0: refreshes also update the profile in the cache
};
std::vector<std::byte> refresh_start(const TeamRequest& request, const Profile& profile);
// Sets the time to `configured`, or to that of FERMATA_REFRESH if `configured` is 0. `configured` < 0: no
// refreshes. Takes `refresh_keeps` from FERMATA_REFRESH in any case.
void ask_for_refreshes(double configured, TeamRequest& request);

// Is the team refreshed? `made` is the team as it was created. Its members may have moved to another team.
inline bool refreshes(const exec::Team& made) {
  return made.layout().refresh_bytes != 0 && made.layout().rings != 0 && made.port().delays() != nullptr;
}
inline bool refreshes(const fermata_member* member) { return refreshes(*member->origin->team); }

inline constexpr std::uint64_t kFirstRefresh = 16;  // least calls before the first refresh, and between two
// Collective: all members call it after the same call on lines. An error in it breaks the team, so that no
// member waits for a member that has returned.
int refresh(fermata_member* member);

// A record of the refreshes, for one handle of a team.
struct RefreshLog {
  std::uint64_t refreshes = 0, changes = 0;
  std::int64_t took_ns = 0;  // all refreshes together, each from the time at which all members were in it
  std::string text;
};
RefreshLog log_of(const fermata_team& team);

}  // namespace fermata::team
#endif
