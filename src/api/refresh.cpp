#include "api/refresh.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "api/split.hpp"
#include "fermata/hosts.h"
#include "os/environment.hpp"
#include "os/os.hpp"
#include "plan/refresh.hpp"

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {
namespace {

constexpr double kMostOfTheTime = 0.01;          // largest share of the time that refreshes may take
constexpr std::uint64_t kMostGrowth = 64;        // of the number of calls from one refresh to the next
constexpr std::uint64_t kProbes = 2;             // from each host to each other host
constexpr std::int64_t kProbeNs = 20'000'000;    // longest wait for them
constexpr double kUnknownChangeNs = 20'000'000;  // cost of a first change to other plans
constexpr std::size_t kMostText = 16384;
constexpr std::uint64_t kMostPrograms = std::uint64_t{1} << 28;  // bytes; far more than programs need
constexpr int kOnLine = 7;                                       // int64 values on a line

// The values that all members send to rank 0. A reduce gives rank 0 the least of each:
// - branch(): minus a number for a new team on the port. This process has not seen the number yet.
// - requests(): -1 if a request is outstanding
// - late(): the least delay of lines from one host to another, with the difference of their clocks
class Words {
 public:
  explicit Words(const exec::Team& team) {
    for (std::uint32_t r = 0; r < team.members(); ++r) hosts_ = std::max(hosts_, team.host_of(r) + 1);
    all.assign(2 + std::size_t{hosts_} * (hosts_ - 1), exec::Arrivals::kUnknown);
  }
  std::uint32_t hosts() const { return hosts_; }
  std::int64_t& branch() { return all[0]; }
  std::int64_t& requests() { return all[1]; }
  std::int64_t& late(std::uint32_t from, std::uint32_t to) {
    return all[2 + from * (hosts_ - 1) + (to < from ? to : to - 1)];
  }

  std::vector<std::int64_t> all;

 private:
  std::uint32_t hosts_ = 0;
};

// Rank 0 sends it to all members.
struct Decision {
  std::uint64_t calls = 0;   // from this refresh to the next one
  std::uint64_t branch = 0;  // number of the new team on the port
  std::uint64_t bytes = 0;   // of its programs; 0: no change
};

// Returns a copy, since other processes may write to the segment.
RefreshStart start_of(const exec::Team& made) {
  RefreshStart start{};
  if (made.layout().refresh_bytes >= sizeof start)
    std::memcpy(&start, made.base() + made.layout().refresh, sizeof start);
  if (!(start.seconds >= 0)) start.seconds = 0;
  return start;
}

// Are the profile's CPUs on these hosts? Another process may have overwritten the profile.
bool is_of(const Profile& profile, std::uint32_t hosts) {
  const auto fits = [hosts](const Cpu& cpu) {
    return cpu.host >= 0 && static_cast<std::uint32_t>(cpu.host) < hosts;
  };
  return profile.o.n == std::ssize(profile.topology.cpus) &&
         std::all_of(profile.topology.cpus.begin(), profile.topology.cpus.end(), fits);
}

}  // namespace

// Rank 0's part.
class Refresher {
 public:
  explicit Refresher(const fermata_member* member)
      : start_(start_of(*member->origin->team)), began_ns_(os::now_ns()) {}

  Status prepare(const fermata_member* member, std::uint32_t hosts);
  Decision decide(const fermata_member* member, Words& words, std::int64_t began);
  const std::vector<std::byte>& programs() const { return programs_; }
  void changed(const fermata_member* member, std::int64_t began);
  std::string take_text() { return std::exchange(text_, {}); }

 private:
  void say(const std::string& what) {
    char time[32];
    std::snprintf(time, sizeof time, "%.1f s: ", static_cast<double>(os::now_ns() - began_ns_) * 1e-9);
    text_ += time + what + "\n";
  }
  void observe(Words& words);
  std::vector<double> count_uses(const fermata_member* member) const;
  Result<std::vector<std::byte>> compiled(const fermata_member* member,
                                          const std::vector<std::optional<Plan>>& plans) const;

  const RefreshStart start_;
  const std::int64_t began_ns_;
  std::optional<Refresh> refresh_;
  std::vector<std::optional<Plan>> next_;
  std::vector<std::byte> programs_;
  std::vector<double> uses_ = std::vector<double>(exec::kPlanSlots, 0.0);  // episodes before the present team
  double planning_ns_ = 0, change_ns_ = kUnknownChangeNs;
  std::uint64_t calls_ = 0;    // at the end of the last refresh
  std::int64_t ended_ns_ = 0;  // when the last refresh ended; 0: no refresh yet
  std::string text_;
};

// Makes the team's plans again, in order to predict their costs. If a compiled plan differs from the program
// that runs, the caller gave that program's plan, and it stays.
Status Refresher::prepare(const fermata_member* member, std::uint32_t hosts) {
  if (refresh_) return Status::kOk;
  const exec::Team& made = *member->origin->team;
  if (made.layout().refresh_bytes < sizeof(RefreshStart)) return Status::kParse;
  const auto* const bytes = reinterpret_cast<const char*>(made.base() + made.layout().refresh);
  const std::string text(bytes + sizeof(RefreshStart), made.layout().refresh_bytes - sizeof(RefreshStart));
  auto profile = profile_from_json(text);
  if (!profile || !is_of(*profile, hosts)) return Status::kParse;
  const std::int64_t began = os::now_ns();
  const Gathering all = everybody(member);
  const HostPlans plans(all.request, *profile);
  std::vector<std::optional<Plan>> running(exec::kPlanSlots);
  for (std::uint32_t i = 0; i < exec::kPlanSlots; ++i) {
    const auto slot = static_cast<exec::PlanSlot>(i);
    if (!fixed_algorithm(wanted_plan(slot, all.request)).empty() && all.request.reproducible) continue;
    auto plan = plans.plan(wanted_plan(slot, all.request));
    const auto program = plan ? compile(*plan) : Result<std::vector<std::byte>>(plan.error());
    const ProgramHeader* const runs = made.program(slot);
    if (program && runs != nullptr &&
        reinterpret_cast<const ProgramHeader*>(program->data())->hash == runs->hash)
      running[i] = std::move(*plan);
  }
  planning_ns_ = static_cast<double>(os::now_ns() - began);
  refresh_.emplace(std::move(*profile), std::move(running));
  return Status::kOk;
}

// Takes half of each round trip, since the difference of the two clocks cancels in a round trip.
void Refresher::observe(Words& words) {
  Matrix one_way(static_cast<std::int32_t>(words.hosts()));
  for (std::uint32_t a = 0; a < words.hosts(); ++a)
    for (std::uint32_t b = 0; b < words.hosts(); ++b) {
      if (a == b || words.late(a, b) == exec::Arrivals::kUnknown ||
          words.late(b, a) == exec::Arrivals::kUnknown)
        continue;
      one_way.at(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)) =
          0.5 * (static_cast<double>(words.late(a, b)) + static_cast<double>(words.late(b, a)));
    }
  const std::vector<LinkChange> changes = refresh_->observe(one_way);
  for (const LinkChange& link : changes) {
    char text[64];
    std::snprintf(text, sizeof text, ": %.3g ms, before %.3g", link.now_ns * 1e-6, link.before_ns * 1e-6);
    say(refresh_->name_of(link.a) + " - " + refresh_->name_of(link.b) + text);
  }
  if (changes.empty() || start_.keeps == 0) return;
  const auto kept = keep_links(*refresh_, changes);
  say(kept ? "saved in " + *kept : "not saved: " + kept.error().message);
}

std::vector<double> Refresher::count_uses(const fermata_member* member) const {
  std::vector<double> uses = uses_;
  for (std::uint32_t i = 0; i < exec::kPlanSlots; ++i)
    uses[i] += static_cast<double>(member->member->uses(static_cast<exec::PlanSlot>(i)));
  return uses;
}

// Compiles these plans. Where there is no plan, the present program stays.
Result<std::vector<std::byte>> Refresher::compiled(const fermata_member* member,
                                                   const std::vector<std::optional<Plan>>& plans) const {
  TeamPlans out;
  for (std::uint32_t i = 0; i < exec::kPlanSlots; ++i) {
    if (plans[i]) {
      auto program = compile(*plans[i]);
      if (!program) return program.error();
      out.programs.push_back(std::move(*program));
      continue;
    }
    const exec::Team& team = member->member->team();
    const auto slot = static_cast<exec::PlanSlot>(i);
    out.programs.emplace_back(team.blob(slot), team.blob(slot) + team.program(slot)->bytes);
  }
  const TeamRequest request = everybody(member).request;
  out.reproducible = request.reproducible;
  out.blocks = HostPlans(request, refresh_->profile()).block_knowledge(request);
  return packed(out);
}

Decision Refresher::decide(const fermata_member* member, Words& words, std::int64_t began) {
  const exec::Member& m = *member->member;
  Decision out;
  bool again = false;
  if (prepare(member, words.hosts()) == Status::kOk) {
    observe(words);
    const std::int64_t judging = os::now_ns();
    Judgement judged = refresh_->judge(count_uses(member),
                                       {static_cast<double>(judging - began_ns_), planning_ns_, change_ns_});
    if (judged.planned) planning_ns_ = static_cast<double>(os::now_ns() - judging);
    if (!judged.why.empty()) say(judged.why);
    again = judged.again;
    if (!judged.plans.empty() && words.requests() < 0) {
      say("kept the plans: operations are outstanding");
      refresh_->reopen();
    } else if (!judged.plans.empty()) {
      auto programs = compiled(member, judged.plans);
      if (programs) {
        programs_ = std::move(*programs);
        next_ = std::move(judged.plans);
        out.branch = 0 - static_cast<std::uint64_t>(words.branch());
        out.bytes = programs_.size();
      } else {
        say("kept the plans: " + programs.error().message);
      }
    }
  }
  const std::int64_t now = os::now_ns();
  const auto took = static_cast<double>(now - began);
  const double until = std::max(start_.seconds * 1e9 / (again ? 4 : 1), took / kMostOfTheTime);
  const std::uint64_t calls = m.calls() - calls_;
  out.calls = kFirstRefresh;
  if (ended_ns_ != 0) {
    const double wanted =
        static_cast<double>(calls) * until / std::max(1.0, static_cast<double>(began - ended_ns_));
    out.calls =
        std::max(kFirstRefresh,
                 static_cast<std::uint64_t>(std::min(wanted, static_cast<double>(kMostGrowth * calls))));
  }
  calls_ = m.calls();
  ended_ns_ = now;
  return out;
}

// Call it before the handle moves to the new team.
void Refresher::changed(const fermata_member* member, std::int64_t began) {
  uses_ = count_uses(member);
  refresh_->adopt(std::move(next_));
  programs_.clear();
  calls_ = 0;
  ended_ns_ = os::now_ns();
  change_ns_ = static_cast<double>(ended_ns_ - began);
}

namespace {

// The first members of the hosts send each other empty lines, and wait for the others' lines. All members are
// in the refresh, so each receives its lines at once. A line that comes later counts in the next refresh.
void probe(const fermata_member* member, std::uint32_t hosts) {
  exec::Team& team = member->member->team();
  std::vector<std::uint32_t> first(hosts, team.members());
  for (std::uint32_t r = team.members(); r-- > 0;) first[team.host_of(r)] = r;
  if (first[team.host()] != member->member->rank()) return;
  for (std::uint64_t n = 0; n < kProbes; ++n)
    for (const std::uint32_t rank : first)
      if (rank < team.members() && team.is_away(rank)) team.probe(rank);
  const std::int64_t until = os::now_ns() + kProbeNs;
  const auto is_open = [&](std::uint32_t host) {
    return host != team.host() && first[host] < team.members() &&
           team.arrivals()->probes(host) < (member->refreshes + 1) * kProbes;
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
  const exec::Arrivals& arrivals = *m.team().arrivals();
  words.branch() = -static_cast<std::int64_t>(m.team().trunk().next_branch());
  words.requests() = m.has_requests() ? -1 : 0;
  for (std::uint32_t host = 0; host < words.hosts(); ++host)
    if (host != m.team().host())
      words.late(host, m.team().host()) = arrivals.least_late_ns(host, os::now_ns());
  std::vector<std::int64_t> mine = words.all;
  for (std::size_t at = 0; at < mine.size(); at += kOnLine) {
    const std::size_t count = std::min<std::size_t>(kOnLine, mine.size() - at);
    const int rc = fermata_reduce(member, &mine[at], &words.all[at], count, FERMATA_INT64, FERMATA_MIN, 0);
    if (rc != FERMATA_OK) return rc;
  }
  return FERMATA_OK;
}

// Reports follow the members to the new team. Aborts do not (graft() in exec/team.hpp).
void follow(const fermata_member* member) {
  exec::Team* const now = &member->member->team();
  exec::Team* before = nullptr;
  {
    const os::ProcessLock lock;
    auto& moved = member->origin->moved;
    before = moved.load(std::memory_order_relaxed);  // order: relaxed: under the lock
    if (before == now) return;
    now->retain();
    moved.store(now, std::memory_order_relaxed);  // order: likewise
  }
  if (before != nullptr) before->release();
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
  if (const int rc = fermata_broadcast(member, programs.data(), programs.size(), 0); rc != FERMATA_OK)
    return rc;
  // share() does not attend the port, so the whole broadcast must be out before it.
  if (const int rc = fermata_barrier(member); rc != FERMATA_OK) return rc;
  team.trunk().see_branch(static_cast<std::uint32_t>(decision.branch));
  Gathering g = everybody(member);
  g.branch = branch_of(team, static_cast<std::uint32_t>(decision.branch), 0);
  g.replaces = true;
  g.request.programs = programs.data();
  g.request.programs_bytes = programs.size();
  fermata_team* handle = nullptr;
  fermata_member* made = nullptr;
  std::uint64_t hash = 0;
  int own = share(member, g, &handle);
  if (own == FERMATA_OK) own = join(handle, static_cast<int>(g.mine), false, &made);
  if (own == FERMATA_OK) own = fermata_team_hash(handle, &hash);
  std::int64_t all[3] = {own, static_cast<std::int64_t>(hash), ~static_cast<std::int64_t>(hash)};
  const int rc = fermata_allreduce(member, all, all, 3, FERMATA_INT64, FERMATA_MIN);
  team.hand_off(member->member->rank(), nullptr);  // all members have taken it
  *done = rc == FERMATA_OK && own == FERMATA_OK && all[0] == FERMATA_OK && all[1] == ~all[2];
  if (*done) {
    if (member->refresher != nullptr) member->refresher->changed(member, began);
    member->blocks.reset();
    take_over(member, made);
    follow(member);
  } else {
    fermata_member_leave(made);
  }
  fermata_team_destroy(handle);
  return rc;
}

int run(fermata_member* member) {
  announce(member, 0);
  if (const int rc = fermata_barrier(member); rc != FERMATA_OK) return rc;
  const std::int64_t began = os::now_ns();
  Words words(member->member->team());
  probe(member, words.hosts());
  if (const int rc = gather(member, words); rc != FERMATA_OK) return rc;
  Decision decision;
  if (member->member->rank() == 0) {
    if (member->refresher == nullptr) member->refresher = std::make_shared<Refresher>(member);
    decision = member->refresher->decide(member, words, began);
  }
  if (const int rc = fermata_broadcast(member, &decision, sizeof decision, 0); rc != FERMATA_OK) return rc;
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
  member->member->set_review(member->member->calls() + decision.calls);
  return FERMATA_OK;
}

}  // namespace

int refresh(fermata_member* member) {
  member->member->set_review(exec::kNoReview);  // calls within the refresh start none
  const auto give_up = [&] { member->member->team().break_with(Status::kBroken, member->member->rank()); };
  try {
    const int rc = run(member);
    if (rc != FERMATA_OK) give_up();
    return rc;
  } catch (...) {
    give_up();
    throw;
  }
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

}  // namespace fermata::api

extern "C" {

int fermata_team_refreshes(const fermata_team* team, uint64_t* refreshes, uint64_t* changes, char* buffer,
                           size_t* length) {
  if (const int bad = fermata_team_size(team); bad < 0) return bad;
  return guarded([&] {
    RefreshLog log;
    {
      const os::ProcessLock lock;
      if (team->refreshed != nullptr) log = *team->refreshed;
    }
    if (refreshes != nullptr) *refreshes = log.refreshes;
    if (changes != nullptr) *changes = log.changes;
    if (length == nullptr) return static_cast<int>(FERMATA_OK);
    char first[96] = "";
    if (log.refreshes != 0)
      std::snprintf(first, sizeof first, "%llu refreshes, %llu changes, %.3g ms in all\n",
                    static_cast<unsigned long long>(log.refreshes),
                    static_cast<unsigned long long>(log.changes), static_cast<double>(log.took_ns) * 1e-6);
    return copy_text(first + log.text, buffer, length);
  });
}

}  // extern "C"
