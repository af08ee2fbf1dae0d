// Calls that differ, and members that are lost. A member notices another call by its tag in a slot or a
// piece. A member that has waited long also compares the calls of the same number in the status lines. In
// both cases it reads from the status lines which call each member made.
#include "exec/diagnosis.hpp"

#include <stdarg.h>
#include <stdio.h>

#include "exec/report.hpp"

namespace fermata::exec {
namespace {

// A member sends its first signal before it publishes the call, and may lose its CPU between the two.
constexpr std::int64_t kSayNs = 40'000'000;

}  // namespace

std::size_t Diagnosis::say(const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(text_, sizeof text_, format, values);
  va_end(values);
  return static_cast<std::size_t>(length);
}

Status Diagnosis::broken_status() { return seat_.broken() != Status::kOk ? seat_.broken() : name_breach(); }

// Writes the error text: what broke the team.
Status Diagnosis::name_breach() {
  const Breach breach = team_.breach();
  const Status status = Team::cause_of(breach);
  if (status == Status::kOk) return status;
  if (breach.culprit == 0 || status == Status::kBroken) say("the team was aborted");
  else if (status == Status::kMemberLost) name_lost(breach.culprit - 1);
  else say("rank %u and another rank made different calls", breach.culprit - 1);
  if (status == Status::kMismatch)
    for (std::uint32_t r = 0; r < team_.members(); ++r)
      if (r != seat_.rank && differs_from(r)) break;
  return status;
}

Status Diagnosis::break_team(Status status, std::uint32_t rank) {
  const bool first = team_.break_with(status, rank);
  const bool both_differ = status == Status::kMismatch && Team::cause_of(team_.breach()) == status;
  if (first || both_differ) return status;
  const Status cause = name_breach();
  return cause != Status::kOk ? cause : status_of_broken();
}

Status Diagnosis::status_of_broken() {
  const Status status = broken_status();
  return status != Status::kOk ? status : Status::kBroken;
}

Status Diagnosis::lost(std::uint32_t rank) {
  name_lost(rank);
  return break_team(Status::kMemberLost, rank);
}

// Writes the error text: it names a member that has left, or a process that has died and all its members.
void Diagnosis::name_lost(std::uint32_t rank) {
  const StatusLine& s = team_.status(rank);
  if (team_.hosts().are_several() && (team_.hosts().is_away(rank) || !team_.is_gone(rank, seat_.rank))) {
    const char* how = team_.hosts().is_away(rank) ? "has stopped answering or has left"
                                                  : "cannot be reached from another host";
    say("rank %u on host %u %s", rank, team_.hosts().of(rank), how);
    return;
  }
  // order: relaxed: text, written before the state that showed the member gone
  const os::ProcessMemory process{s.home.load(std::memory_order_relaxed), nullptr,
                                  s.process.load(std::memory_order_relaxed)};
  if (static_cast<MemberState>(state_of<RealAtomics>(s)) == MemberState::kLeft) {
    say("rank %u (process %u, thread %u) has left", rank, process.process,
        s.thread.load(std::memory_order_relaxed));  // order: relaxed: text
    return;
  }
  std::size_t at = say("process %u has died, and with it", process.process);
  const char* before = " rank";
  for (std::uint32_t r = 0; r < team_.members(); ++r) {
    const bool joined =
        static_cast<MemberState>(state_of<RealAtomics>(team_.status(r))) == MemberState::kJoined;
    if (!joined || team_.where_is(r, process) != Where::kHere || !team_.is_gone(r, seat_.rank)) continue;
    if (at > sizeof text_ - 24) {
      snprintf(text_ + at, sizeof text_ - at, ", ...");
      return;
    }
    at += static_cast<std::size_t>(snprintf(text_ + at, sizeof text_ - at, "%s %u", before, r));
    before = ", rank";
  }
}

Status Diagnosis::time_out(std::int64_t waited_ns, std::uint32_t peer) {
  const auto ms = static_cast<unsigned long long>(waited_ns / 1'000'000);
  const std::uint32_t members = team_.members();
  const bool word = peer >= members;
  const std::size_t at = say("rank %u has waited %llu.%03llu s for %s %u", seat_.rank, ms / 1000, ms % 1000,
                             word ? "shared word" : "rank", word ? peer - members : peer);
  if (!word && team_.hosts().is_away(peer))
    snprintf(text_ + at, sizeof text_ - at, ", which is on host %u", team_.hosts().of(peer));
  return Status::kTimeout;
}

void Diagnosis::name_difference(std::uint64_t number, std::uint64_t mine, std::uint32_t rank,
                                std::uint64_t theirs) {
  char my_text[96];
  char their_text[96];
  describe(Call::unpack(mine), my_text, sizeof my_text);
  describe(Call::unpack(theirs), their_text, sizeof their_text);
  say("call %llu: rank %u called %s, rank %u %s", static_cast<unsigned long long>(number), seat_.rank,
      my_text, rank, their_text);
}

Status Diagnosis::differ(std::uint64_t number, std::uint64_t mine, std::uint32_t rank, std::uint64_t theirs) {
  name_difference(number, mine, rank, theirs);
  return break_team(Status::kMismatch, rank);
}

// True if both calls of this number are known and differ: this member's and that rank's. Then it writes the
// error text.
bool Diagnosis::is_another(std::uint64_t number, std::uint32_t rank, std::uint64_t theirs) {
  std::uint64_t mine = 0;
  bool known = log_.find(number, &mine);
  for (const BlockRequest* r = queues_.ordered.first; r != nullptr && !known; r = r->next) {
    known = r->number == number;
    mine = r->call.packed();
  }
  if (!known || mine == theirs) return false;
  const Call call = Call::unpack(mine);
  const bool outward = root_gives(call.collective);
  // The member that gets the data settles the length (Lengths::settle()). The others ignore a difference.
  const bool settles = number == log_.adapted()
                           ? outward && call.root != rank
                           : !seat_.over_hosts || outward || call.root == seat_.rank || call.root == rank;
  if (log_.is_bounded() && settles && Call::only_lengths_differ(mine, theirs)) return false;
  name_difference(number, mine, rank, theirs);
  return true;
}

// Looks for the first call that differs, among the calls that both status lines still have, and writes the
// error text. For a member on another host only one call is known: a call in which it has waited long.
bool Diagnosis::differs_from(std::uint32_t rank) {
  if (std::uint64_t number = 0, theirs = 0; team_.hosts().is_away(rank))
    return team_.notices().told_call(rank, seat_.rank, &number, &theirs) && is_another(number, rank, theirs);
  const StatusLine& line = team_.status(rank);
  const std::uint64_t newest = newest_call<RealAtomics>(line) / 2;
  const std::uint64_t last = newest < log_.sequence() ? newest : log_.sequence();
  for (std::uint64_t n = last < kCallsKept<StatusLine> ? 1 : last - kCallsKept<StatusLine> + 1; n <= last;
       ++n)
    if (std::uint64_t theirs = 0;
        recall<RealAtomics>(line, n, theirs) == Recalled::kKnown && is_another(n, rank, theirs))
      return true;
  return false;
}

// Compares the present line calls after a tag of another call has come. A difference in the length counts.
bool Diagnosis::differs_now(std::uint32_t rank) {
  std::uint64_t mine = 0, theirs = 0;
  if (team_.hosts().is_away(rank) || !log_.find(log_.sequence(), &mine)) return false;
  if (recall<RealAtomics>(team_.status(rank), log_.sequence(), theirs) != Recalled::kKnown || mine == theirs)
    return false;
  name_difference(log_.sequence(), mine, rank, theirs);
  return true;
}

Status Diagnosis::compare_abroad(std::uint64_t number, std::uint64_t call) {
  if (said_ < number) {
    said_ = number;
    team_.notices().tell_call(seat_.rank, number, call);
  }
  Status seen = Status::kOk;
  for (std::uint32_t r = 0; r < team_.members() && seen == Status::kOk; ++r)
    if (team_.hosts().is_away(r)) seen = compare(r);
  return seen;
}

Status Diagnosis::compare(std::uint32_t rank) {
  return differs_from(rank) ? break_team(Status::kMismatch, rank) : Status::kOk;
}

Status Diagnosis::has_no_memory() {
  say("rank %u has no memory for data from another host", seat_.rank);
  const Status status = break_team(Status::kBroken, seat_.rank);
  return seat_.give_up(status == Status::kBroken ? Status::kMemory : status);
}

Status Diagnosis::met_another_call(std::uint32_t rank) {
  const std::int64_t end = os::now_ns() + kSayNs;
  const auto names_it = [&] { return differs_from(rank) || (queues_.call == nullptr && differs_now(rank)); };
  bool named = names_it();
  for (; !named && !team_.hosts().is_away(rank) && os::now_ns() < end; named = names_it()) os::yield();
  if (!named && team_.hosts().is_away(rank))
    say("rank %u and rank %u on host %u made different calls", seat_.rank, rank, team_.hosts().of(rank));
  else if (!named)
    say("ranks %u and %u gave a block different sizes, or made different calls earlier", seat_.rank, rank);
  return seat_.give_up(break_team(Status::kMismatch, rank));
}

}  // namespace fermata::exec
