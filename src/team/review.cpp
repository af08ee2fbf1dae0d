#include <vector>

#include "os/os.hpp"
#include "team/calls.hpp"
#include "team/refresh.hpp"
#include "team/share.hpp"
#include "team/team.hpp"

namespace fermata::team {
namespace {

// The CPU of each member if every member is pinned to one CPU; else empty. It reads all status lines, between
// two barriers.
std::vector<std::int32_t> pinned_cpus(const exec::Team& team) {
  std::vector<std::int32_t> cpus;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    // order: relaxed: the barrier between writing and reading orders it
    const auto cpu = static_cast<std::int32_t>(team.status(r).scratch.load(std::memory_order_relaxed));
    if (cpu < 0) return {};
    cpus.push_back(cpu);
  }
  return cpus;
}

int compare_cpus(fermata_member* member) {
  exec::Member& m = *member->member;
  exec::Team& team = m.team();
  const std::uint64_t now = m.calls();
  std::int32_t cpu = -1;
  if (os::affinity_count() == 1 && member->blocks == nullptr) os::affinity_list(&cpu, 1);
  announce(member, static_cast<std::uint32_t>(cpu));
  m.log().set_review(exec::kNoReview);
  int rc = barrier(member);
  if (rc != FERMATA_OK) return rc;
  const auto cpus = pinned_cpus(team);
  rc = barrier(member);
  if (rc != FERMATA_OK) return rc;
  // All members read the same CPUs, so all come to the same decision.
  fermata_member* made = nullptr;
  if (!cpus.empty() && cpus != cpus_of(team)) {
    Gathering all = everybody(member);
    all.request.cpus = cpus;
    rc = make_for_all(member, all, &made);
    if (rc != FERMATA_OK) return rc;
  }
  if (made == nullptr) {  // it need not change, or cannot: a member has not the memory, say
    m.log().set_review(now * kReviewStep);
    return FERMATA_OK;
  }
  take_over(member, made);
  member->member->log().set_review(kFirstReview * kReviewStep);
  follow(member, true);
  return FERMATA_OK;
}

}  // namespace

bool is_reviewed(const exec::Team& team) {
  return team.members() > 1 && !team.port().is_connected() && cpus_of(team).empty();
}

int review(fermata_member* member) {
  if (refreshes(member)) return refresh(member);
  return step_of_all(member, [&] { return compare_cpus(member); });
}

}  // namespace fermata::team
