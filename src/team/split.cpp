// Splits a team by colour and key.
#include <algorithm>
#include <vector>

#include "team/calls.hpp"
#include "team/share.hpp"
#include "team/team.hpp"

namespace fermata::team {
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

// Over hosts, a process cannot read all status lines. So an allgather passes the members' colours and keys,
// and the numbers from which the new team's number is chosen: the largest one. No member's process has seen
// that number before.
int gather(fermata_member* member, int colour, int key, Gathering& g) {
  exec::Team& parent = member->member->team();
  std::vector<std::uint64_t> all(2 * std::size_t{parent.members()});
  const std::uint64_t own[2] = {pack(colour, key), parent.subteams().next_number()};
  if (const int rc = allgather(member, own, all.data(), 2); rc != FERMATA_OK) return rc;
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
  if (!is_subteam_number(number))
    return fail(Status::kUnsupported, "the team was split too many times: make a new team");
  parent.subteams().see_number(number);
  g.subteam = subteam_of(parent, number, g.parts[0].rank);
  for (const Part& p : g.parts)
    if (!parent.hosts().is_away(p.rank)) g.here.push_back(p);
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
  for (const Part& p : g.parts) g.request.hosts.push_back(number(parent.hosts().of(p.rank)));
  g.request.host = number(parent.hosts().here());
}

// Two words of each member of the parent: its result, and a hash of its plans. No member returns before all
// have read the status lines and taken the team.
int exchange_results(fermata_member* member, const std::uint64_t (&mine)[2],
                     std::vector<std::uint64_t>& all) {
  const exec::Team& parent = member->member->team();
  all.resize(2 * std::size_t{parent.members()});
  if (parent.port().is_connected()) return allgather(member, mine, all.data(), 2);
  announce(member, mine[0]);
  if (const int rc = barrier(member); rc != FERMATA_OK) return rc;
  for (std::uint32_t r = 0; r < parent.members(); ++r) {
    // order: relaxed: the barrier orders it
    all[2 * r] = parent.status(r).scratch.load(std::memory_order_relaxed);
    all[2 * r + 1] = mine[1];  // members of one host take one team, with its plans
  }
  return barrier(member);
}

// Each member learns that every other member has its part of the new team, with the same plans. Otherwise
// none of them keeps it.
int conclude(fermata_member* member, const Gathering& g, int own, const fermata_team* team) {
  std::uint64_t mine[2] = {static_cast<std::uint64_t>(-own), 0};
  if (team != nullptr) mine[1] = hash_of_team(*team->team);
  std::vector<std::uint64_t> all;
  if (const int rc = exchange_results(member, mine, all); rc != FERMATA_OK) return rc;
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

// Who goes where: `parts` and `here`, and over hosts the new team's number.
int gather_parts(fermata_member* member, int colour, int key, Gathering& g) {
  const exec::Team& parent = member->member->team();
  announce(member, pack(colour, key));
  if (parent.port().is_connected()) return gather(member, colour, key, g);
  const int rc = barrier(member);
  if (rc == FERMATA_OK) g.here = g.parts = parts_of(parent, colour);
  return rc;
}

int share_and_join(fermata_member* member, const Gathering& g, fermata_member** made) {
  fermata_team* shared = nullptr;
  if (const int rc = share(member, g, &shared); rc != FERMATA_OK) return rc;
  OwnedTeam team(shared);
  const int rc = join(shared, static_cast<int>(g.mine), true, made);
  if (rc == FERMATA_OK) team.release();  // leaving destroys it
  return rc;
}

int make_parts(fermata_member* member, int colour, int key, fermata_member** out) {
  exec::Member& m = *member->member;
  exec::Team& parent = m.team();
  if (colour < 0) colour = -1;
  Gathering g;
  if (const int rc = gather_parts(member, colour, key, g); rc != FERMATA_OK) return rc;
  g.mine = find(g.parts, m.rank());
  if (g.mine == g.parts.size()) return overwritten();
  g.request = request_like(parent, g.parts.size());
  name_hosts(parent, g);
  if (const auto cpus = cpus_of(parent); !cpus.empty())
    for (const Part& p : g.parts) g.request.cpus.push_back(cpus[p.rank]);
  fermata_member* joined = nullptr;
  const int own = colour < 0 ? barrier(member) : share_and_join(member, g, &joined);
  OwnedMember made(joined);
  const int rc = conclude(member, g, own, made != nullptr ? made->team : nullptr);
  parent.handoffs().give(m.rank(), nullptr);  // all members have taken it
  if (rc != FERMATA_OK || own != FERMATA_OK) return rc != FERMATA_OK ? rc : own;
  *out = made.release();
  return FERMATA_OK;
}

}  // namespace

int split(fermata_member* member, int colour, int key, fermata_member** out) {
  return break_if_thrown(member, [&] { return make_parts(member, colour, key, out); });
}

}  // namespace fermata::team
