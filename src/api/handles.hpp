// The handles of the C ABI, and how errors cross it. Exceptions stop here.
#ifndef FERMATA_API_HANDLES_HPP
#define FERMATA_API_HANDLES_HPP

#include <atomic>
#include <cstdarg>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "api/kept.hpp"
#include "base/result.hpp"
#include "exec/member.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "sync/handover.hpp"
#include "topo/topology.hpp"

namespace fermata::api {
struct Blocks;      // api/blocks.hpp
struct Moved;       // api/blocks.hpp
struct RefreshLog;  // api/refresh.hpp
class Refresher;    // api/refresh.cpp
}  // namespace fermata::api

struct fermata_topology {
  fermata::Topology value;
};
struct fermata_profile {
  fermata::Profile value;
};
struct fermata_plan {
  fermata::Plan value;
};
struct fermata_team : fermata::kept::Kept<fermata_team> {
  fermata::exec::Team* team = nullptr;
  // The CPUs that the team's creator configured; empty: unpinned. Plans for sub-teams use them.
  std::vector<std::int32_t> cpus;
  // The team that the members have moved to after a review of their placement, or by a refresh. Reports
  // follow them. Aborts follow them after a review, but not after a refresh.
  std::atomic<fermata::exec::Team*> moved{nullptr};
  // Null before the first refresh. os::ProcessLock guards it; from then on it also guards `moved`.
  std::shared_ptr<fermata::api::RefreshLog> refreshed;

  fermata::exec::Team& current() const {
    fermata::exec::Team* now = fermata::moved_to<fermata::RealAtomics>(moved);
    return now != nullptr ? *now : *team;
  }
};
// A type of its own, so that the idle hook gets the public handle.
struct fermata_member : fermata::kept::Kept<fermata_member> {
  fermata::exec::Member* member;
  fermata::exec::Openings openings;  // first signals of the member's next calls (exec/openings.hpp)
  fermata_team* team;                // of a sub-team: the handle to free with the member; else null
  fermata_team* origin;              // the handle that the member was joined from
  fermata_idle_hook hook;
  void* hook_user;
  bool arrived = false;                          // a split-phase call is outstanding
  bool reviews = false;                          // it reviews after the outstanding blocking call
  bool may_differ = false;                       // lengths may differ, or could before: it was bounded
  std::uint64_t told[4] = {};                    // rank 0's message about a part of the heap (api/slots.cpp)
  std::vector<std::int32_t> planned_for;         // CPUs for which the present plans were made; empty: any
  std::shared_ptr<fermata::api::Blocks> blocks;  // null before its first collective on blocks
  // Set while a split-phase call continues as a collective on blocks, since others gave another length.
  std::shared_ptr<fermata::api::Moved> moved;
  std::uint64_t refreshes = 0;                         // of its team's profile, in which it took part
  std::shared_ptr<fermata::api::Refresher> refresher;  // rank 0's; null before the first refresh

  void hold(fermata::exec::Member* held) {
    member = held;
    held->keep_openings_in(&openings);
  }
};

namespace fermata::api {

// Stores the detail text of this thread. Returns the status as a number of the C ABI.
int fail(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
int fail(const Error& error);
// Likewise, with the member's own detail text.
int member_status(const fermata_member* member, Status status);

[[gnu::cold]] int null_handle();  // a required pointer is NULL
// Copies as much text as fits, and a terminating zero. *length: in, the capacity; out, the bytes needed.
int copy_text(const std::string& text, char* buffer, std::size_t* length);
inline constexpr const char* kNowhere = "this member must pass a buffer here, not FERMATA_IN_PLACE";

// Runs a function that may throw. An exception becomes a status.
template <class F>
int guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(Status::kMemory, "out of memory");
  } catch (const std::exception& e) {
    return fail(Status::kSystem, "%s", e.what());
  }
}

// The plan for a request: the cached one, else the best by predicted cost. It never measures.
Result<Plan> plan_for(const PlanKey& key, const Topology& topology, const Profile* profile,
                      const std::string& algorithm, const std::string& layout);
// Likewise, compiled. It looks in the cache, then among the results of this process's searches, and then
// searches. `profile` null: this machine's. `algorithm` empty: the best one.
Result<std::vector<std::byte>> program_for(const PlanKey& key, const Topology& topology,
                                           const std::shared_ptr<const Profile>& profile,
                                           const std::string& algorithm);
// This machine's topology, discovered once per process.
Result<const Topology*> this_machine();
// The cached profile that was measured for the engine; else the one for threads; else estimates.
Profile best_known_profile(const Topology& topology, Engine engine);
// This machine's profile. It is read once per process and engine.
const Profile& this_profile(Engine engine);

// The arguments of make_team(). create, split and the calls for hosts use it.
struct TeamRequest {
  std::int32_t members = 1;
  Engine engine = Engine::kThreads;
  bool tagged = false;
  bool reproducible = false;  // by FERMATA_REPRODUCIBLE; for a sub-team, by its parent
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;
  std::vector<std::int32_t> cpus;
  std::vector<const Plan*> plans;
  std::vector<std::int32_t> hosts;   // of each rank; empty: all on one host
  std::vector<std::string> names;    // of the hosts; empty: not known
  std::vector<std::int32_t> pinned;  // the CPU of each rank on its host, or -1; empty: unpinned
  const void* programs = nullptr;    // from fermata_hosts_plan on one of the hosts; null: plan here
  std::size_t programs_bytes = 0;
  std::int32_t host = 0;         // this host
  exec::Team* within = nullptr;  // the new team is in this team's file; null: in a file of its own
  double refresh_seconds = 0;    // over several hosts: least time between two refreshes; 0: none
  bool refresh_keeps = false;    // refreshes update the cache, too
};
// Checks a configuration and fills `out` from it. Returns an error if it is bad.
int request_of(const fermata_team_config& config, TeamRequest& out);
// The algorithm for reproducible results: one for each collective that folds. Its tree depends only on the
// number of members, so every run gives the same bits. Empty: the fastest algorithm may be used.
std::string fixed_algorithm(const PlanKey& key);
// Plans for ranks on these hosts: the cached ones, else from measured costs, else from estimates.
class HostPlans {
 public:
  explicit HostPlans(const TeamRequest& request);
  HostPlans(const TeamRequest& request, Profile profile);
  // For the kind, members and payload of `wanted`: the cached plan, else a new one.
  Result<Plan> plan(const PlanKey& wanted) const;
  Result<std::vector<std::byte>> program(const PlanKey& wanted) const;
  std::vector<std::byte> block_knowledge(const TeamRequest& request) const;
  const Profile& profile() const { return *profile_; }

 private:
  std::vector<std::int32_t> hosts_;
  bool reproducible_;
  Topology topology_;
  std::shared_ptr<const Profile> profile_;
};
// The key of a slot's plan: kind, members, payload and engine.
PlanKey wanted_plan(exec::PlanSlot slot, const TeamRequest& request);
// Data that all members of a team share: programs, and the costs by which they choose schedules.
struct TeamPlans {
  std::vector<std::vector<std::byte>> programs;  // compiled, in the order of exec::PlanSlot
  std::vector<std::byte> blocks;                 // costs for schedules of blocks (plan/block_model.hpp)
  // A RefreshStart and the profile (api/refresh.hpp). Empty: no refreshes.
  std::vector<std::byte> refresh;
  bool reproducible = false;
};
Result<TeamPlans> plans_for(const TeamRequest& request);
// Likewise, for a team in the file of another. The first process that needs them for these members, tags and
// CPUs makes them. All later teams in that file use them.
Result<TeamPlans> plans_within(const TeamRequest& request);
// Reads plans that another host has made, from the bytes of packed(). Error: kArgument, if they are damaged
// or for another team.
Result<TeamPlans> plans_from(const TeamRequest& request);
std::vector<std::byte> packed(const TeamPlans& plans);
int make_team(const TeamRequest& request, fermata_team** out);
// After an attach: reads from the segment the CPUs for which the team's plans were made.
void read_planned_cpus(fermata_team& handle);
WaitKind wait_kind(int configured);  // the environment's choice comes first
int attach(const char* name, std::int64_t within_ns, WaitKind wait, std::int64_t stall_ns,
           fermata_team** out);
// `rank` may be FERMATA_ANY_RANK. `owns`: fermata_member_leave() also destroys the team's handle.
int join(fermata_team* team, int rank, bool owns, fermata_member** out);
// An unpinned team first reviews the placement of its members after call kFirstReview. Each later review
// comes after kReviewStep times as many calls.
inline constexpr std::uint64_t kFirstReview = 4096;
inline constexpr std::uint64_t kReviewStep = 16;
// Collective: all members call it after the same call on lines. If all are pinned, and to other CPUs than
// those of their plans, they move to a team with plans for their CPUs.
int review(fermata_member* member);

}  // namespace fermata::api
#endif
