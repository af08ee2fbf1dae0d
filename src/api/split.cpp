// Makes a team from a team: by colour and key, or again after its members were pinned.
#include <algorithm>
#include <cstdio>

#include "api/refresh.hpp"
#include "api/split.hpp"
#include "fermata/hosts.h"
#include "os/os.hpp"

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {
namespace {

bool before(const Part& a, const Part& b) { return a.key != b.key ? a.key < b.key : a.rank < b.rank; }

std::uint64_t pack(std::int32_t colour, std::int32_t key) {
  return std::uint64_t{static_cast<std::uint32_t>(colour)} << 32 | static_cast<std::uint32_t>(key);
}

// Returns the members of this colour in the order of the new ranks. It reads all status lines, so call it
// between two barriers.
std::vector<Part> parts_of(const exec::Team& team, std::int32_t colour) {
  std::vector<Part> parts;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    // order: relaxed: the barrier between writing and reading orders it
    const std::uint64_t v = team.status(r).scratch.load(std::memory_order_relaxed);
    const Part part{static_cast<std::int32_t>(v >> 32), static_cast<std::int32_t>(v & 0xffffffffu), r};
    if (part.colour == colour) parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(), before);
  return parts;
}

}  // namespace

void announce(const fermata_member* member, std::uint64_t scratch) {
  const exec::Member& m = *member->member;
  exec::StatusLine& line = m.team().status(m.rank());
  line.scratch.store(scratch, std::memory_order_relaxed);  // order: relaxed: the barrier orders it
  // order: relaxed: the barrier orders it
  line.meeting.store(os::random_number(), std::memory_order_relaxed);
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

int overwritten() {
  return fail(Status::kBroken, "another process has overwritten this member's arguments of the split");
}

std::uint32_t find(const std::vector<Part>& parts, std::uint32_t rank) {
  const auto at = std::find_if(parts.begin(), parts.end(), [rank](const Part& p) { return p.rank == rank; });
  return static_cast<std::uint32_t>(at - parts.begin());
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
  const std::int64_t told = member->member->timeout();
  const std::int64_t patience = told > 0 ? std::min(told, kMostNs) : kMostNs;
  if (mine != 0) return attach(name, patience, g.request.wait, g.request.stall_ns, team);
  const int made = make_team(g.request, team);
  const int others = parent.shared() ? other_processes(parent, g.here) : 0;
  if (made != FERMATA_OK || others == 0) return made;
  const int served = fermata_team_serve(*team, name, others, static_cast<double>(patience) * 1e-9);
  if (served != FERMATA_OK) fermata_team_destroy(*team);
  return served;
}

// Lets the new team use the parent's port, even if the new team is on one host. A member that waits in it
// must still send the lines of its process to other hosts.
int graft(exec::Team& parent, const Gathering& g, fermata_team* team) {
  if (parent.port() == nullptr) return FERMATA_OK;
  std::vector<std::uint32_t> trunk_ranks;
  for (const Part& p : g.parts) trunk_ranks.push_back(parent.rank_in_trunk(p.rank));
  const char* detail = "";
  const Status status = team->team->graft(parent.trunk(), trunk_ranks.data(), g.branch, g.replaces, &detail);
  return status == Status::kOk ? FERMATA_OK : fail(status, "%s", detail);
}

}  // namespace

// The first member of each process passes its team to the others of that process, and each takes a reference.
// The lock in hand_off() and take_handoff() is for race detectors. They do not see that the barrier orders
// the two, since it does so through other processes.
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
    rc = make_or_fetch(member, g, mine, &got);
    if (rc == FERMATA_OK && got->team->members() != g.parts.size()) rc = overwritten();
    if (rc == FERMATA_OK) rc = graft(m.team(), g, got);
    const Status handed = m.team().hand_off(maker, rc == FERMATA_OK ? got->team : nullptr);
    if (rc == FERMATA_OK && handed != Status::kOk) rc = fail(handed, "malloc failed");
  }
  const int met = fermata_barrier(member);
  if (met != FERMATA_OK || (mine == first && rc != FERMATA_OK)) {
    fermata_team_destroy(got);
    return met != FERMATA_OK ? met : rc;
  }
  if (mine == first) {
    *team = got;
    return FERMATA_OK;
  }
  exec::Team* const made = m.team().take_handoff(maker);
  if (made == nullptr) return fail(Status::kSystem, "rank %u could not make or fetch the sub-team", maker);
  auto copy = std::make_unique<fermata_team>();
  copy->team = made;
  read_planned_cpus(*copy);
  *team = copy.release();
  return FERMATA_OK;
}

namespace {

TeamRequest request_like(const exec::Team& parent, std::size_t members) {
  TeamRequest request;
  request.members = static_cast<std::int32_t>(members);
  request.engine = parent.shared() ? Engine::kProcesses : Engine::kThreads;
  request.tagged = parent.layout().tagged != 0;
  request.reproducible = parent.layout().reproducible != 0;
  request.wait = parent.wait();
  request.stall_ns = parent.stall_ns();
  return request;
}

constexpr std::uint32_t kBranchRankBits = 12;  // bits of the leader's rank in the port's team (kMaxMembers)

}  // namespace

std::uint32_t branch_of(const exec::Team& parent, std::uint32_t number, std::uint32_t leader) {
  return number << kBranchRankBits | parent.rank_in_trunk(leader);
}

namespace {

// Over hosts, a process cannot read all status lines. So an allgather passes the members' colours and keys,
// and the numbers from which the new team's number is chosen: the largest one. No member's process has seen
// that number before.
int gather(fermata_member* member, int colour, int key, Gathering& g) {
  exec::Team& parent = member->member->team();
  std::vector<std::uint64_t> all(2 * std::size_t{parent.members()});
  const std::uint64_t own[2] = {pack(colour, key), parent.trunk().next_branch()};
  if (const int rc = fermata_allgather(member, own, all.data(), 2, FERMATA_UINT64); rc != FERMATA_OK)
    return rc;
  std::uint32_t number = 0;
  for (std::uint32_t r = 0; r < parent.members(); ++r) {
    const Part part{static_cast<std::int32_t>(all[2 * r] >> 32),
                    static_cast<std::int32_t>(all[2 * r] & 0xffffffffu), r};
    if (part.colour != colour) continue;
    g.parts.push_back(part);
    number = std::max(number, static_cast<std::uint32_t>(all[2 * r + 1]));
  }
  std::sort(g.parts.begin(), g.parts.end(), before);
  if (find(g.parts, member->member->rank()) == g.parts.size()) return overwritten();
  if (number >> (32 - kBranchRankBits) != 0)
    return fail(Status::kUnsupported, "the team was split too many times: make a new team");
  parent.trunk().see_branch(number);
  g.branch = branch_of(parent, number, g.parts[0].rank);
  for (const Part& p : g.parts)
    if (!parent.is_away(p.rank)) g.here.push_back(p);
  return FERMATA_OK;
}

// Numbers the hosts in the order of their first rank. One host needs no number.
void name_hosts(const exec::Team& parent, Gathering& g) {
  if (g.here.size() == g.parts.size()) return;
  std::vector<std::uint32_t> seen;
  const auto number = [&](std::uint32_t host) {
    const auto at = std::find(seen.begin(), seen.end(), host) - seen.begin();
    if (at == std::ssize(seen)) seen.push_back(host);
    return static_cast<std::int32_t>(at);
  };
  for (const Part& p : g.parts) g.request.hosts.push_back(number(parent.host_of(p.rank)));
  g.request.host = number(parent.host());
}

// No member returns before all have read the status lines and taken the team. Over several hosts, each also
// learns that every other member has its part, with the same plans.
int conclude(fermata_member* member, const Gathering& g, int own, const fermata_team* team) {
  const exec::Team& parent = member->member->team();
  if (parent.port() == nullptr) return fermata_barrier(member);
  std::uint64_t mine[2] = {static_cast<std::uint64_t>(-own), 0};
  if (team != nullptr) fermata_team_hash(team, &mine[1]);
  std::vector<std::uint64_t> all(2 * std::size_t{parent.members()});
  if (const int rc = fermata_allgather(member, mine, all.data(), 2, FERMATA_UINT64); rc != FERMATA_OK)
    return rc;
  for (const Part& p : g.parts) {
    const auto theirs =
        static_cast<Status>(-static_cast<std::int64_t>(static_cast<std::int32_t>(all[2 * p.rank])));
    if (own == FERMATA_OK && theirs != Status::kOk)
      return fail(theirs, "rank %u could not make its part of the sub-team", p.rank);
    if (own == FERMATA_OK && all[2 * p.rank + 1] != mine[1])
      return fail(Status::kMismatch, "rank %u has other plans for the sub-team than this member", p.rank);
  }
  return FERMATA_OK;
}

int split(fermata_member* member, int colour, int key, fermata_member** out) {
  exec::Member& m = *member->member;
  exec::Team& parent = m.team();
  if (colour < 0) colour = -1;
  announce(member, pack(colour, key));
  Gathering g;
  int rc = parent.port() != nullptr ? gather(member, colour, key, g) : fermata_barrier(member);
  if (rc != FERMATA_OK) return rc;
  if (parent.port() == nullptr) g.here = g.parts = parts_of(parent, colour);
  if (find(g.parts, m.rank()) == g.parts.size()) return overwritten();
  fermata_member* made = nullptr;
  g.mine = find(g.parts, m.rank());
  fermata_team* team = nullptr;
  g.request = request_like(parent, g.parts.size());
  name_hosts(parent, g);
  if (!member->planned_for.empty())
    for (const Part& p : g.parts) g.request.cpus.push_back(member->planned_for[p.rank]);
  int shared = FERMATA_OK;
  if (colour < 0) {
    rc = fermata_barrier(member);
  } else {
    shared = share(member, g, &team);
  }
  if (shared == FERMATA_OK && team != nullptr) {
    shared = join(team, static_cast<int>(g.mine), true, &made);
    if (shared != FERMATA_OK) fermata_team_destroy(team);
  }
  rc = conclude(member, g, shared, made != nullptr ? team : nullptr);
  parent.hand_off(m.rank(), nullptr);  // all members have taken it
  if (rc != FERMATA_OK || shared != FERMATA_OK) {
    fermata_member_leave(made);
    return rc != FERMATA_OK ? rc : shared;
  }
  *out = made;
  return FERMATA_OK;
}

// Returns the CPU of each member if every member is pinned to one CPU; else nothing. Call it between two
// barriers.
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

int move_to(fermata_member* member, fermata_team* team) {
  fermata_member* made = nullptr;
  const int rc = join(team, static_cast<int>(member->member->rank()), false, &made);
  if (rc != FERMATA_OK) return rc;
  take_over(member, made);
  member->member->set_review(kFirstReview * kReviewStep);
  member->member->team().retain();
  exec::Team* const now = &member->member->team();
  if (!move_once<RealAtomics>(member->origin->moved, now)) now->release();
  return FERMATA_OK;
}

}  // namespace

void take_over(fermata_member* member, fermata_member* made) {
  made->member->inherit(*member->member);
  exec::Member* const before = member->member;
  member->hold(made->member);
  made->hold(before);
  fermata_member_leave(made);
}

Gathering everybody(const fermata_member* member) {
  const exec::Team& team = member->member->team();
  Gathering g;
  for (std::uint32_t r = 0; r < team.members(); ++r) g.parts.push_back({0, 0, r});
  for (const Part& p : g.parts)
    if (!team.is_away(p.rank)) g.here.push_back(p);
  g.mine = member->member->rank();
  g.request = request_like(team, g.parts.size());
  for (const Part& p : g.parts)
    if (team.is_over_hosts()) g.request.hosts.push_back(static_cast<std::int32_t>(team.host_of(p.rank)));
  g.request.host = static_cast<std::int32_t>(team.host());
  return g;
}

int review(fermata_member* member) {
  if (refreshes(member)) return refresh(member);
  exec::Member& m = *member->member;
  exec::Team& team = m.team();
  const std::uint64_t now = m.calls();
  std::int32_t cpu = -1;
  if (os::affinity_count() == 1 && member->blocks == nullptr) os::affinity_list(&cpu, 1);
  announce(member, static_cast<std::uint32_t>(cpu));
  m.set_review(exec::kNoReview);
  int rc = fermata_barrier(member);
  if (rc != FERMATA_OK) return rc;
  const auto cpus = pinned_cpus(team);
  rc = fermata_barrier(member);
  if (rc != FERMATA_OK) return rc;
  // All members read the same CPUs, so all come to the same decision.
  if (cpus.empty() || cpus == member->planned_for) {
    m.set_review(now * kReviewStep);
    return FERMATA_OK;
  }
  Gathering all = everybody(member);
  all.request.cpus = cpus;
  fermata_team* made = nullptr;
  rc = share(member, all, &made);
  if (rc == FERMATA_OK) rc = fermata_barrier(member);
  team.hand_off(m.rank(), nullptr);  // all members have taken it
  if (rc == FERMATA_OK) rc = move_to(member, made);
  fermata_team_destroy(made);
  member->planned_for = cpus;
  return rc;
}

}  // namespace fermata::api

extern "C" {

int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out) {
  if (member == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return split(member, colour, key, out); });
}

}  // extern "C"
