#include "team/share.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "os/os.hpp"
#include "team/calls.hpp"
#include "team/team.hpp"

namespace fermata::team {

void announce(const fermata_member* member, std::uint64_t scratch) {
  const exec::Member& m = *member->member;
  exec::StatusLine& line = m.team().status(m.rank());
  line.scratch.store(scratch, std::memory_order_relaxed);  // order: relaxed: the barrier orders it
  // order: relaxed: the barrier orders it
  line.meeting.store(os::random_number(), std::memory_order_relaxed);
}

int overwritten() {
  return fail(Status::kBroken, "another process has overwritten this member's arguments of the split");
}

std::uint32_t find(const std::vector<Part>& parts, std::uint32_t rank) {
  const auto at = std::find_if(parts.begin(), parts.end(), [rank](const Part& p) { return p.rank == rank; });
  return static_cast<std::uint32_t>(at - parts.begin());
}

constexpr std::uint32_t kSubteamRankBits = 12;  // of the leader's rank in the port's team: kMaxTeamMembers

bool is_subteam_number(std::uint32_t number) { return number >> (32 - kSubteamRankBits) == 0; }

std::uint32_t subteam_of(const exec::Team& parent, std::uint32_t number, std::uint32_t leader) {
  return number << kSubteamRankBits | parent.port().rank_in_owner(leader);
}

namespace {

// Returns the address space of a member.
std::pair<std::uint64_t, std::uint32_t> home_of(const exec::Team& team, std::uint32_t rank) {
  const exec::StatusLine& line = team.status(rank);
  // order: relaxed: set at join
  return {line.home.load(std::memory_order_relaxed), line.process.load(std::memory_order_relaxed)};
}

int other_processes(const exec::Team& team, const std::vector<Part>& parts) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> homes;
  for (const Part& p : parts) homes.push_back(home_of(team, p.rank));
  std::sort(homes.begin(), homes.end());
  return static_cast<int>(std::unique(homes.begin(), homes.end()) - homes.begin()) - 1;
}

// The leader makes the team. It passes the segment's descriptor through an abstract socket to the first
// member of each other process. The socket's name is random, and only members can read it.
int make_or_fetch(const fermata_member* member, const Gathering& g, std::uint32_t mine, fermata_team** team) {
  const exec::Team& parent = member->member->team();
  // order: relaxed: the barrier orders it
  const std::uint64_t meeting = parent.status(g.here[0].rank).meeting.load(std::memory_order_relaxed);
  char name[80];
  std::snprintf(name, sizeof name, "split.%016llx.%016llx",
                static_cast<unsigned long long>(home_of(parent, g.here[0].rank).first),
                static_cast<unsigned long long>(meeting));
  constexpr std::int64_t kMostNs = 30'000'000'000;  // a process may end after the barrier
  const std::int64_t told = member->member->waiter().settings.timeout_ns;
  const std::int64_t patience = told > 0 ? std::min(told, kMostNs) : kMostNs;
  if (mine != 0) return attach(name, patience, &g.request.wait, g.request.stall_ns, team);
  const int made = make_team(g.request, team);
  const int others = parent.shared() ? other_processes(parent, g.here) : 0;
  if (made != FERMATA_OK || others == 0) return made;
  const int served = serve(**team, name, others, patience);
  if (served != FERMATA_OK) destroy(*team);
  return served;
}

// Lets the new team use the parent's port, even if the new team is on one host. A member that waits in it
// must still send the lines of its process to other hosts.
int use_port_of(exec::Team& parent, const Gathering& g, fermata_team* team) {
  if (!parent.port().is_connected()) return FERMATA_OK;
  std::vector<std::uint32_t> owner_ranks;
  for (const Part& p : g.parts) owner_ranks.push_back(parent.port().rank_in_owner(p.rank));
  const char* detail = "";
  const Status status =
      team->team->use_port_of(parent.port_owner(), owner_ranks.data(), g.subteam, g.replaces, &detail);
  return status == Status::kOk ? FERMATA_OK : fail(status, "%s", detail);
}

}  // namespace

// The first member of each process passes its team to the others of that process, and each takes a reference.
// The lock in exec::Handoffs is for race detectors. They do not see that the barrier orders the two, since it
// does so through other processes.
int share(fermata_member* member, const Gathering& g, fermata_team** team) {
  exec::Member& m = *member->member;
  std::uint32_t first = 0;
  const std::uint32_t mine = find(g.here, m.rank());
  while (first < mine && !m.is_beside(g.here[first].rank)) ++first;
  if (mine == g.here.size()) return overwritten();
  const std::uint32_t maker = g.here[first].rank;
  fermata_team* got = nullptr;
  int rc = FERMATA_OK;
  if (mine == first) {
    rc = guarded([&] {  // the others wait below
      const int made = make_or_fetch(member, g, mine, &got);
      if (made != FERMATA_OK) return made;
      return got->team->members() == g.parts.size() ? use_port_of(m.team(), g, got) : overwritten();
    });
    const Status handed = m.team().handoffs().give(maker, rc == FERMATA_OK ? got->team : nullptr);
    if (rc == FERMATA_OK && handed != Status::kOk) rc = fail(handed, "malloc failed");
  }
  const int met = barrier(member);
  if (met != FERMATA_OK || (mine == first && rc != FERMATA_OK)) {
    destroy(got);
    return met != FERMATA_OK ? met : rc;
  }
  if (mine == first) {
    *team = got;
    return FERMATA_OK;
  }
  auto copy = std::make_unique<fermata_team>();
  copy->team = m.team().handoffs().take(maker);
  if (copy->team == nullptr)
    return fail(Status::kSystem, "rank %u could not make or fetch the sub-team", maker);
  *team = copy.release();
  return FERMATA_OK;
}

int make_for_all(fermata_member* member, const Gathering& g, fermata_member** made) {
  exec::Member& m = *member->member;
  fermata_team* shared = nullptr;
  fermata_member* joined = nullptr;
  std::uint64_t hash = 0;
  int own = share(member, g, &shared);
  OwnedTeam handle(shared);
  if (own == FERMATA_OK) own = join(shared, static_cast<int>(g.mine), false, &joined);
  OwnedMember mine(joined);
  if (own == FERMATA_OK) hash = hash_of_team(*shared->team);
  handle.reset();
  std::int64_t all[3] = {own, static_cast<std::int64_t>(hash), ~static_cast<std::int64_t>(hash)};
  const int rc = least_at_all(member, all, 3);
  m.team().handoffs().give(m.rank(), nullptr);  // all members have taken it
  if (rc == FERMATA_OK && all[0] == FERMATA_OK && all[1] == ~all[2]) *made = mine.release();
  return rc;
}

void take_over(fermata_member* member, fermata_member* made) {
  made->member->inherit(*member->member);
  exec::Member* const before = member->member;
  member->hold(made->member);
  made->hold(before);
  leave(made);
}

void follow(const fermata_member* member, bool aborts_follow) {
  fermata_team& handle = *member->origin;
  exec::Team* const now = &member->member->team();
  exec::Team* before = nullptr;
  {
    const os::ProcessLock lock;
    before = handle.moved.load(std::memory_order_relaxed);  // order: relaxed: under the lock
    if (before == now) return;
    if (before != nullptr && aborts_follow) handle.moved_before.push_back(std::exchange(before, nullptr));
    now->retain();
    // order: release, as kMove: an abort sees the team. Pairs with moved_to().
    RealAtomics::store_release<Site::kMove>(handle.moved, now);
  }
  if (before != nullptr) before->release();
}

Gathering everybody(const fermata_member* member) {
  const exec::Team& team = member->member->team();
  Gathering g;
  for (std::uint32_t r = 0; r < team.members(); ++r) g.parts.push_back({0, 0, r});
  for (const Part& p : g.parts)
    if (!team.hosts().is_away(p.rank)) g.here.push_back(p);
  g.mine = member->member->rank();
  g.request = request_like(team, g.parts.size());
  for (const Part& p : g.parts)
    if (team.hosts().are_several())
      g.request.hosts.push_back(static_cast<std::int32_t>(team.hosts().of(p.rank)));
  g.request.host = static_cast<std::int32_t>(team.hosts().here());
  return g;
}

}  // namespace fermata::team
