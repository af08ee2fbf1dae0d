#include "team/refresh.hpp"

#include <algorithm>
#include <cstring>

#include "os/environment.hpp"
#include "os/os.hpp"
#include "team/calls.hpp"
#include "team/refresher.hpp"
#include "team/share.hpp"
#include "team/team.hpp"

namespace fermata::team {
namespace {

constexpr std::uint64_t kProbes = 2;           // from each host to each other host
constexpr std::int64_t kProbeNs = 20'000'000;  // longest wait for them
constexpr std::size_t kMostText = 16384;
constexpr std::uint64_t kMostPrograms = std::uint64_t{1} << 28;  // bytes; far more than programs need
constexpr int kOnLine = 7;                                       // int64 values on a line

// The first members of the hosts send each other empty lines, and wait for the others' lines. All members are
// in the refresh, so each receives its lines at once. A line that comes later counts in the next refresh.
void probe(const fermata_member* member, std::uint32_t hosts) {
  exec::Team& team = member->member->team();
  std::vector<std::uint32_t> first(hosts, team.members());
  for (std::uint32_t r = team.members(); r-- > 0;) first[team.hosts().of(r)] = r;
  if (first[team.hosts().here()] != member->member->rank()) return;
  for (std::uint64_t n = 0; n < kProbes; ++n)
    for (const std::uint32_t rank : first)
      if (rank < team.members() && team.hosts().is_away(rank)) team.port().probe(rank);
  const std::int64_t until = os::now_ns() + kProbeNs;
  const auto is_open = [&](std::uint32_t host) {
    return host != team.hosts().here() && first[host] < team.members() &&
           team.port().delays()->probes(host) < (member->refreshes + 1) * kProbes;
  };
  for (std::uint32_t host = 0; host < hosts && os::now_ns() < until;) {
    if (!is_open(host)) {
      ++host;
      continue;
    }
    team.attend_port();
    os::yield();
  }
}

int gather(fermata_member* member, Words& words) {
  exec::Member& m = *member->member;
  const exec::LinkDelays& delays = *m.team().port().delays();
  words.subteam() = -static_cast<std::int64_t>(m.team().subteams().next_number());
  words.requests() = m.has_requests() ? -1 : 0;
  for (std::uint32_t host = 0; host < words.hosts(); ++host)
    if (host != m.team().hosts().here())
      words.late(host, m.team().hosts().here()) = delays.least_late_ns(host, os::now_ns());
  std::vector<std::int64_t> mine = words.all;
  for (std::size_t at = 0; at < mine.size(); at += kOnLine) {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(kOnLine, mine.size() - at));
    const int rc = least_at_first(member, &mine[at], &words.all[at], count);
    if (rc != FERMATA_OK) return rc;
  }
  return FERMATA_OK;
}

// All members change if all have their part of the new team, with the same plans. Otherwise no member does.
int change(fermata_member* member, const Decision& decision, bool* done) {
  const std::int64_t began = os::now_ns();
  exec::Team& team = member->member->team();
  if (decision.bytes > kMostPrograms)
    return fail(Status::kMismatch, "rank 0 announced plans of %llu bytes: its data were overwritten",
                static_cast<unsigned long long>(decision.bytes));
  std::vector<std::byte> programs(decision.bytes);
  if (member->refresher != nullptr) programs = member->refresher->programs();
  if (const int rc = broadcast(member, programs.data(), programs.size(), 0); rc != FERMATA_OK) return rc;
  // share() does not attend the port, so the whole broadcast must be out before it.
  if (const int rc = barrier(member); rc != FERMATA_OK) return rc;
  team.subteams().see_number(static_cast<std::uint32_t>(decision.subteam));
  Gathering g = everybody(member);
  g.subteam = subteam_of(team, static_cast<std::uint32_t>(decision.subteam), 0);
  g.replaces = true;
  g.request.programs = programs.data();
  g.request.programs_bytes = programs.size();
  fermata_member* made = nullptr;
  if (const int rc = make_for_all(member, g, &made); rc != FERMATA_OK) return rc;
  *done = made != nullptr;
  if (*done) {
    if (member->refresher != nullptr) member->refresher->changed(member, began);
    member->blocks.reset();
    take_over(member, made);
    follow(member, false);  // see use_port_of() in exec/team.hpp
  }
  return FERMATA_OK;
}

int run(fermata_member* member) {
  announce(member, 0);
  if (const int rc = barrier(member); rc != FERMATA_OK) return rc;
  const std::int64_t began = os::now_ns();
  Words words(member->member->team());
  probe(member, words.hosts());
  if (const int rc = gather(member, words); rc != FERMATA_OK) return rc;
  Decision decision;
  if (member->member->rank() == 0) {
    if (member->refresher == nullptr) member->refresher = std::make_shared<Refresher>(member);
    decision = member->refresher->decide(member, words, began);
  }
  if (const int rc = broadcast(member, &decision, sizeof decision, 0); rc != FERMATA_OK) return rc;
  bool changed = false;
  if (decision.bytes != 0)
    if (const int rc = change(member, decision, &changed); rc != FERMATA_OK) return rc;
  ++member->refreshes;
  const std::int64_t took = os::now_ns() - began;
  const os::ProcessLock lock;
  auto& log = member->origin->refreshed;
  if (log == nullptr) log = std::make_shared<RefreshLog>();
  if (log->refreshes < member->refreshes) {
    log->refreshes = member->refreshes;
    log->changes += changed ? 1 : 0;
    log->took_ns += took;
  }
  if (member->refresher != nullptr) log->text += member->refresher->take_text();
  if (log->text.size() > kMostText)
    log->text.erase(0, log->text.find('\n', log->text.size() - kMostText) + 1);
  member->member->log().set_review(member->member->calls() + decision.calls);
  return FERMATA_OK;
}

}  // namespace

int refresh(fermata_member* member) {
  return step_of_all(member, [&] { return run(member); });
}

std::vector<std::byte> refresh_start(const TeamRequest& request, const Profile& profile) {
  const RefreshStart start{request.refresh_seconds, request.refresh_keeps ? 1u : 0u};
  const std::string text = to_json(profile);
  std::vector<std::byte> out(sizeof start + text.size());
  std::memcpy(out.data(), &start, sizeof start);
  std::memcpy(out.data() + sizeof start, text.data(), text.size());
  return out;
}

void ask_for_refreshes(double configured, TeamRequest& request) {
  request.refresh_seconds = configured;
  request.refresh_keeps = false;
  int word = -1;
  const double seconds = os::seconds_of(os::Variable::kRefresh, &word);
  if (!(seconds > 0)) return;
  if (configured == 0) request.refresh_seconds = seconds;
  request.refresh_keeps = word >= 0;  // the word "keep"
}

RefreshLog log_of(const fermata_team& team) {
  const os::ProcessLock lock;
  return team.refreshed != nullptr ? *team.refreshed : RefreshLog{};
}

}  // namespace fermata::team
