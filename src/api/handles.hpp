// The C ABI's handles and the way errors cross it. Exceptions stop here.
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
struct Moved;       // likewise
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
  std::vector<std::int32_t> cpus;  // as configured by who made the team; empty: unpinned. Sub-teams are planned with them.
  // Where the members have moved on to after a review of their placement, or by a refresh; aborts and reports follow them.
  std::atomic<fermata::exec::Team*> moved{nullptr};
  std::shared_ptr<fermata::api::RefreshLog> refreshed;  // once there was one; with os::ProcessLock, as `moved` is then

  fermata::exec::Team& current() const {
    fermata::exec::Team* now = fermata::moved_to<fermata::RealAtomics>(moved);
    return now != nullptr ? *now : *team;
  }
};
// Its own type so that the hook gets the public handle.
struct fermata_member : fermata::kept::Kept<fermata_member> {
  fermata::exec::Member* member;
  fermata::exec::Openings openings;  // the member's, which hold() puts here
  fermata_team* team;                // the handle to free with it, for sub-teams; else null
  fermata_team* origin;              // the handle that it was joined from
  fermata_idle_hook hook;
  void* hook_user;
  bool arrived = false;                                // at a split-phase barrier that is outstanding
  std::uint64_t told[4] = {};                          // by rank 0, of slots (api/slots.cpp)
  std::vector<std::int32_t> planned_for;               // CPUs that the present plans are for; empty: placement-free
  std::shared_ptr<fermata::api::Blocks> blocks;        // once it has had operations on blocks
  std::shared_ptr<fermata::api::Moved> moved;          // while a split call is one on blocks, since others gave another length
  std::uint64_t refreshes = 0;                         // of its team's profile that it took part in
  std::shared_ptr<fermata::api::Refresher> refresher;  // of rank 0, once there was one

  void hold(fermata::exec::Member* held) {
    member = held;
    held->keep_openings_in(&openings);
  }
};

namespace fermata::api {

// Records this thread's detail and returns the status as the C ABI's number.
int fail(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
int fail(const Error& error);
// The member's own detail, recorded for this thread.
int member_status(const fermata_member* member, Status status);

[[gnu::cold]] int null_handle();  // a required pointer is NULL
// As much as fits, and a zero; *length in: the capacity, out: the bytes needed.
int copy_text(const std::string& text, char* buffer, std::size_t* length);
inline constexpr const char* kNowhere = "FERMATA_IN_PLACE: there is no buffer here whose place it could have";

// Runs a function that may throw; what it throws becomes a status.
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

// The plan for a request: the cache's, else an estimated one. Never measures.
Result<Plan> plan_for(const PlanKey& key, const Topology& topology, const Profile* profile, const std::string& algorithm,
                      const std::string& layout);
// Likewise, compiled: the cache's, else what a search has found in this process. profile: null: this machine's. algorithm: empty: the best.
Result<std::vector<std::byte>> program_for(const PlanKey& key, const Topology& topology, const std::shared_ptr<const Profile>& profile,
                                           const std::string& algorithm);
// This machine's topology, discovered once per process.
Result<const Topology*> this_machine();
// What the cache has that was measured for that engine or, failing that, for threads, else estimates.
Profile best_known_profile(const Topology& topology, Engine engine);
// This machine's; read once per process and engine.
const Profile& this_profile(Engine engine);

// Makes a team of the C ABI's kind out of plans found by plan_for; used by create and split.
struct TeamRequest {
  std::int32_t members = 1;
  Engine engine = Engine::kThreads;
  bool tagged = false;
  bool reproducible = false;  // as FERMATA_REPRODUCIBLE says, of a sub-team as its parent
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;
  std::vector<std::int32_t> cpus;
  std::vector<const Plan*> plans;
  std::vector<std::int32_t> hosts;   // of each rank; empty: one
  std::vector<std::string> names;    // of the hosts; empty: not known
  std::vector<std::int32_t> pinned;  // the CPU of each rank on its host, or -1; empty: unpinned
  const void* programs = nullptr;    // what fermata_hosts_plan gave on one of the hosts; null: planned here
  std::size_t programs_bytes = 0;
  std::int32_t host = 0;         // this one
  exec::Team* within = nullptr;  // in whose file the team is to lie; null: its own
  double refresh_seconds = 0;    // over several hosts: > 0: the profile is refreshed, this often at most
  bool refresh_keeps = false;    // into the cache, too
};
// Checks a configuration. Not FERMATA_OK: it is bad.
int request_of(const fermata_team_config& config, TeamRequest& out);
// What a plan for that kind is made by where the same bits are wanted in every run: one algorithm for each kind that folds, whose tree
// depends on the number of members alone. Empty: what is fastest.
std::string fixed_algorithm(const PlanKey& key);
// Plans for ranks on these hosts: the cache's, else by what was measured there, else estimated ones.
class HostPlans {
 public:
  explicit HostPlans(const TeamRequest& request);
  HostPlans(const TeamRequest& request, Profile profile);
  Result<Plan> plan(const PlanKey& wanted) const;  // of its kind, members and payload: the cache's, else a new search's
  Result<std::vector<std::byte>> program(const PlanKey& wanted) const;
  std::vector<std::byte> block_knowledge(const TeamRequest& request) const;
  const Profile& profile() const { return *profile_; }

 private:
  std::vector<std::int32_t> hosts_;
  bool reproducible_;
  Topology topology_;
  std::shared_ptr<const Profile> profile_;
};
// Of which plan a slot is: kind, members, payload and engine.
PlanKey wanted_plan(exec::PlanSlot slot, const TeamRequest& request);
// What a team is made with.
struct TeamPlans {
  std::vector<std::vector<std::byte>> programs;  // compiled, in the order of exec::PlanSlot
  std::vector<std::byte> blocks;                 // what operations on blocks are chosen by, as plan/block_model.hpp packs it
  std::vector<std::byte> refresh;                // what refreshes begin with (api/refresh.hpp); empty: none come
  bool reproducible = false;
};
Result<TeamPlans> plans_for(const TeamRequest& request);
// Likewise, for a team within another: looked for once for members, tags and CPUs, by any process of those that lie there.
Result<TeamPlans> plans_within(const TeamRequest& request);
// Those that another host has made, as packed() gives them; kArgument if they are none for such a team.
Result<TeamPlans> plans_from(const TeamRequest& request);
std::vector<std::byte> packed(const TeamPlans& plans);
int make_team(const TeamRequest& request, fermata_team** out);
// What a process that has attached to a team is told by it.
void read_planned_cpus(fermata_team& handle);
WaitKind wait_kind(int configured);  // or what the environment says
int attach(const char* name, std::int64_t within_ns, WaitKind wait, std::int64_t stall_ns, fermata_team** out);
// rank: or FERMATA_ANY_RANK. `owns`: leaving the member destroys the team's handle, too.
int join(fermata_team* team, int rank, bool owns, fermata_member** out);
// The first call after which an unpinned team looks at where its members are, and how many times as late each look is.
inline constexpr std::uint64_t kFirstReview = 4096;
inline constexpr std::uint64_t kReviewStep = 16;
// Collective, after an agreed call on lines: if all members are pinned by now, and elsewhere than planned for, they move
// to a team that is planned for where they are.
int review(fermata_member* member);

}  // namespace fermata::api
#endif
