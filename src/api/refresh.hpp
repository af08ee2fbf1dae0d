// Refreshes of a team's profile while it runs over several hosts (docs/hosts.md): at an episode that was agreed on what members have
// observed is gathered, rank 0 judges whether other plans pay, and all members change to them, or none.
#ifndef FERMATA_API_REFRESH_HPP
#define FERMATA_API_REFRESH_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/handles.hpp"

namespace fermata::api {

// In the segment of a team that is refreshed; behind it the team's profile as JSON.
struct RefreshStart {
  double seconds = 0;       // between two of them, at least
  std::uint64_t keeps = 0;  // not 0: into the cache, too
};
std::vector<std::byte> refresh_start(const TeamRequest& request, const Profile& profile);
// By the configuration, or FERMATA_REFRESH.
void ask_for_refreshes(double configured, TeamRequest& request);

// A team as it was made, and a member of it wherever it has moved to.
inline bool refreshes(const exec::Team& made) {
  return made.layout().refresh_bytes != 0 && made.layout().rings != 0 && made.arrivals() != nullptr;
}
inline bool refreshes(const fermata_member* member) { return refreshes(*member->origin->team); }

inline constexpr std::uint64_t kFirstRefresh = 16;  // calls before it
// Collective, behind an agreed call on lines. What goes wrong in it breaks the team: nobody waits for who has given up.
int refresh(fermata_member* member);

// What has come of them, in a process.
struct RefreshLog {
  std::uint64_t refreshes = 0, changes = 0;
  std::int64_t took_ns = 0;  // all of them, from where all members were there
  std::string text;
};

}  // namespace fermata::api
#endif
