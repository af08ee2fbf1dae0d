// What a team is made from: the request, and the plans for it.
#ifndef FERMATA_TEAM_PLANS_HPP
#define FERMATA_TEAM_PLANS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "exec/team.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata::team {

struct TeamRequest {
  std::int32_t members = 1;
  Engine engine = Engine::kThreads;
  bool tagged = false;  // its barriers carry a tag (fermata_barrier_tagged)
  // By FERMATA_REPRODUCIBLE; for a sub-team, by its parent. With `programs`, theirs counts.
  bool reproducible = false;
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;  // a wait that long is reported; 0: none is
  // The CPU to which the program pins each rank, on its host; over hosts -1 where a rank has none. Empty: not
  // pinned, or not known.
  std::vector<std::int32_t> cpus;
  // The program's own plans. Each is for the slot with its collective and payload. Plans for another number
  // of members or for other hosts are an error (kArgument). Ignored with `programs`.
  std::vector<const Plan*> plans;
  std::vector<std::int32_t> hosts;  // of each rank; empty: all on one host
  std::vector<std::string> names;   // of the hosts; empty: not known
  const void* programs = nullptr;   // the result of packed(), mostly from elsewhere; null: plan here
  std::size_t programs_bytes = 0;
  std::int32_t host = 0;         // this host
  exec::Team* within = nullptr;  // the new team is in this team's file; null: it has memory of its own
  double refresh_seconds = 0;    // over several hosts: about the time between two refreshes; <= 0: none
  bool refresh_keeps = false;    // refreshes update the cache, too
};
// A request for a team of that many members, with the engine, tags, reproducibility, wait policy and stall
// time of `parent`.
TeamRequest request_like(const exec::Team& parent, std::size_t members);

// The algorithm for reproducible results: one for each collective that folds. Its tree depends only on the
// number of members, so every run gives the same bits. Empty: the fastest algorithm may be used.
std::string fixed_algorithm(const PlanKey& key);
// The key of a slot's plan: collective, members, payload and engine.
PlanKey wanted_plan(exec::PlanSlot slot, const TeamRequest& request);

// Plans for ranks on these hosts: the cached ones, else from measured costs, else from estimates.
class HostPlans {
 public:
  explicit HostPlans(const TeamRequest& request);
  HostPlans(const TeamRequest& request, Profile profile);
  // For the collective, members and payload of `wanted`: the cached plan, else a new one. In a reproducible
  // team, a collective that folds always gets a new one, by fixed_algorithm().
  Result<Plan> plan(const PlanKey& wanted) const;
  Result<std::vector<std::byte>> program(const PlanKey& wanted) const;
  // TeamPlans::blocks for the request's number of members and engine.
  std::vector<std::byte> block_knowledge(const TeamRequest& request) const;
  const Profile& profile() const { return *profile_; }

 private:
  std::vector<std::int32_t> hosts_;
  bool reproducible_;
  Topology topology_;
  std::shared_ptr<const Profile> profile_;
};

// Data that all members of a team share: programs, and the costs by which they choose schedules.
struct TeamPlans {
  std::vector<std::vector<std::byte>> programs;  // compiled, in the order of exec::PlanSlot
  std::vector<std::byte> blocks;                 // costs for schedules of blocks (plan/block_knowledge.hpp)
  // A RefreshStart and the profile (team/refresh.hpp). Empty: no refreshes.
  std::vector<std::byte> refresh;
  bool reproducible = false;
};
// The plans in request.programs, if set; else makes them.
Result<TeamPlans> plans_for(const TeamRequest& request);
// The plans for a team in the file of another. With request.plans, does what plans_for() does. Otherwise uses
// the plans that the file has for such a team (its number of members, tags, CPUs, and whether it is
// reproducible). If it has none, makes them and stores them there, if there is room.
Result<TeamPlans> plans_within(const TeamRequest& request);

// The plans as bytes, for other hosts or for later teams.
std::vector<std::byte> packed(const TeamPlans& plans);
// The plans in request.programs. kArgument if they are damaged, or for another number of members.
Result<TeamPlans> plans_from(const TeamRequest& request);

}  // namespace fermata::team
#endif
