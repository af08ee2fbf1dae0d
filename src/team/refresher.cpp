#include "team/refresher.hpp"

#include <cstring>

#include "team/share.hpp"

namespace fermata::team {
namespace {

constexpr double kMostOfTheTime = 0.01;          // largest share of the time that refreshes may take
constexpr std::uint64_t kMostGrowth = 64;        // of the number of calls from one refresh to the next
constexpr double kUnknownChangeNs = 20'000'000;  // cost of a first change to other plans

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

Refresher::Refresher(const fermata_member* member)
    : start_(start_of(*member->origin->team)), began_ns_(os::now_ns()), change_ns_(kUnknownChangeNs) {}

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
    const auto program = plan ? compile_lines(*plan) : Result<std::vector<std::byte>>(plan.error());
    const ProgramHeader* const runs = made.programs().header(slot);
    if (program && runs != nullptr && program_header(program->data()).hash == runs->hash)
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
      if (a == b || words.late(a, b) == exec::LinkDelays::kUnknown ||
          words.late(b, a) == exec::LinkDelays::kUnknown)
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
      auto program = compile_lines(*plans[i]);
      if (!program) return program.error();
      out.programs.push_back(std::move(*program));
      continue;
    }
    const exec::Team& team = member->member->team();
    const auto slot = static_cast<exec::PlanSlot>(i);
    out.programs.emplace_back(team.programs().blob(slot),
                              team.programs().blob(slot) + team.programs().header(slot)->bytes);
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
        out.subteam = 0 - static_cast<std::uint64_t>(words.subteam());
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

}  // namespace fermata::team
