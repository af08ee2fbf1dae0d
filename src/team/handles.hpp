// What the C ABI's handles of a team and of a member are.
#ifndef FERMATA_TEAM_HANDLES_HPP
#define FERMATA_TEAM_HANDLES_HPP

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "exec/member.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "sync/handover.hpp"
#include "team/checked_handle.hpp"
#include "team/errors.hpp"

namespace fermata::team {
struct Blocks;      // team/blocks.hpp
struct Moved;       // team/blocks.hpp
struct RefreshLog;  // team/refresh.hpp
class Refresher;    // team/refresher.hpp
}  // namespace fermata::team

struct fermata_team : fermata::checked::CheckedHandle<fermata_team> {
  fermata::exec::Team* team = nullptr;
  // The team that the members have moved to by a refresh or a review. Reports follow them there. Aborts
  // follow them after a review, but not after a refresh: after a refresh, a break of `team` also breaks the
  // new team. Writers hold os::ProcessLock.
  std::atomic<fermata::exec::Team*> moved{nullptr};
  // The teams that they moved to by earlier reviews. An abort may be reading one, and it takes no lock.
  std::vector<fermata::exec::Team*> moved_before;
  // Null before the first refresh. os::ProcessLock guards it.
  std::shared_ptr<fermata::team::RefreshLog> refreshed;

  fermata::exec::Team& current() const {
    fermata::exec::Team* now = fermata::moved_to<fermata::RealAtomics>(moved);
    return now != nullptr ? *now : *team;
  }
};
// A type of its own, so that the idle hook gets the public handle.
struct fermata_member : fermata::checked::CheckedHandle<fermata_member> {
  fermata::exec::Member* member;
  fermata::exec::FirstSignals
      first_signals;     // first signals of the member's next calls (exec/first_signals.hpp)
  fermata_team* team;    // of a sub-team: the handle to free with the member; else null
  fermata_team* origin;  // the handle that the member was joined from
  fermata_idle_hook hook;
  void* hook_user;
  bool arrived = false;        // a split-phase call is outstanding
  bool reviews = false;        // a review may follow the blocking call that is outstanding
  bool may_differ = false;     // fermata_member_set_bounded has been called with on != 0, now or earlier
  std::uint64_t told[4] = {};  // rank 0's message on a part of the heap: see Told in team/slots.cpp
  std::shared_ptr<fermata::team::Blocks> blocks;  // null before the first collective on blocks in this team
  // Set while a split-phase call continues as a collective on blocks, since others gave another length.
  std::shared_ptr<fermata::team::Moved> moved;
  // May be set while a call is outstanding whose wait a time limit or the idle hook has ended. Takes the
  // call's result, and returns what fermata_resume returns.
  std::function<int(int status)> at_end;
  std::uint64_t refreshes = 0;                          // of its team's profile, in which it took part
  std::shared_ptr<fermata::team::Refresher> refresher;  // rank 0's; null before the first refresh

  // From now on this is the handle of `held`.
  void hold(fermata::exec::Member* held) {
    member = held;
    held->keep_first_signals_in(&first_signals);
  }
};

#endif
