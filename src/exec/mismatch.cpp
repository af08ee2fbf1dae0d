// Calls that differ. A member notices the difference by the tag of another call in a slot or a piece. A
// member that has waited long also compares the calls of the same number in the status lines. In both cases
// it reads from the status lines which call each member made.
#include <stdio.h>
#include <string.h>

#include "exec/member.hpp"
#include "exec/report.hpp"

namespace fermata::exec {
namespace {

// A member sends its first signal before it publishes the call, and may lose its CPU between the two.
constexpr std::int64_t kSayNs = 40'000'000;

}  // namespace

// Returns one of this member's own calls, if it is still known. differing_ has the last call in which others
// may not wait for this member. Other calls are read from the status line, which a faulty member may have
// written over. So the present call is not read from there if it claims to have a root.
bool Member::own_call(std::uint64_t number, std::uint64_t* packed) const {
  if (number == differing_.own.number) {
    *packed = differing_.own.call;
    return true;
  }
  return recall<RealAtomics>(*status_, number, *packed) == Recalled::kKnown &&
         (number != sequence_ || !has_root(Call::unpack(*packed).collective));
}

void Member::name_difference(std::uint64_t number, std::uint64_t mine, std::uint32_t rank,
                             std::uint64_t theirs) {
  char my_text[96];
  char their_text[96];
  describe(Call::unpack(mine), my_text, sizeof my_text);
  describe(Call::unpack(theirs), their_text, sizeof their_text);
  snprintf(detail_, sizeof detail_, "call %llu: rank %u called %s, rank %u %s",
           static_cast<unsigned long long>(number), rank_, my_text, rank, their_text);
}

// Compares the length of the present call with the lengths at the members from which its data come: the root,
// or all others. kRetracted: repeat the call with their length. kOk: no difference is known. kPending: some
// member has not published its call yet. If the call is not retractable, a difference breaks the team.
Status Member::settle_length(bool retractable) {
  std::uint64_t mine;
  if (!bounded_ || !own_call(sequence_, &mine)) return Status::kOk;
  const Call call = Call::unpack(mine);
  const bool inward = call.inward();
  const bool gets_alone = inward == (call.root == rank_);
  if (!has_root(call.collective) || call.irregular || (!gets_alone && !over_hosts_)) return Status::kOk;
  retractable = retractable && sequence_ != differing_.settled;
  if (over_hosts_) return settle_come(call, gets_alone && retractable);
  const std::uint32_t end = inward ? team_->members() : call.root + 1;
  std::uint64_t agreed = mine;
  bool any = false, unsaid = false;
  for (std::uint32_t r = inward ? 0 : call.root; r < end; ++r) {
    std::uint64_t theirs;
    if (r == rank_) continue;
    const Recalled recalled = recall<RealAtomics>(team_->status(r), sequence_, theirs);
    if (recalled == Recalled::kForgotten) return settle_come(call, retractable);
    unsaid = unsaid || recalled == Recalled::kYetToCome;
    if (recalled == Recalled::kYetToCome) continue;
    if (theirs != mine && !Call::only_lengths_differ(mine, theirs)) return Status::kOk;
    if (!any) agreed = theirs;
    any = true;
    if (Call::as_long(agreed, theirs) && (Call::as_long(agreed, mine) || retractable)) continue;
    name_difference(sequence_, mine, r, theirs);
    return break_team(Status::kMismatch, r);
  }
  if (unsaid) return Status::kPending;
  if (Call::as_long(agreed, mine)) return Status::kOk;
  differing_.behind = false;
  differing_.bytes = Call::unpack(agreed).bytes;
  differing_.on_line = Call::unpack(agreed).order == Call::kLineOrder;
  return Status::kRetracted;
}

// Settles the length by the data that have come. Used if the others' calls cannot be read, or are too old to
// be known.
Status Member::settle_come(const Call& call, bool retractable) {
  Call theirs;
  const std::uint32_t r = find_come(call, nullptr, &theirs);
  if (r == rank_) return Status::kOk;
  if (!retractable) {
    name_difference(sequence_, call.packed(), r, theirs.packed());
    return break_team(Status::kMismatch, r);
  }
  differing_.behind = false;
  differing_.bytes = theirs.bytes;
  differing_.on_line = theirs.order == Call::kLineOrder;
  return Status::kRetracted;
}

// For a member that has met the tag of another call. kPending: the member goes on waiting, because members
// send signals before they publish their calls, and some may not have reached this call yet. kOk: the other
// tag is an error; it always is one if the call is not retractable.
Status Member::settle_met_length(bool retractable) {
  const Hold hold(*this);
  const Status first = retractable ? meets_first() : Status::kOk;
  // The data are for the first request. This call is repeated unchanged after that request.
  if (first == Status::kRetracted) {
    differing_.behind = true;
    differing_.bytes = Call::unpack(differing_.own.call).bytes;
    differing_.on_line = true;
    return first;
  }
  const Status settled = settle_length(retractable);
  if (settled == Status::kPending && !retractable) return Status::kOk;
  if (settled != Status::kOk || first != Status::kOk) return settled == Status::kOk ? first : settled;
  std::uint64_t mine = 0;
  const bool may_come = retractable && own_call(sequence_, &mine) &&
                        may_come_later(Call::unpack(mine), sequence_, differing_.overtaken);
  return may_come ? Status::kPending : Status::kOk;
}

// Over several hosts the data of call `number` may come in another place, and a later call's data before
// them. So for some time the tag of another call is no error.
bool Member::may_come_later(const Call& call, std::uint64_t number, Overtaken& seen) const {
  constexpr std::int64_t kMostLateNs = 5'000'000'000;  // after this time the calls count as different
  if (!bounded_ || !over_hosts_ || !has_root(call.collective) || call.irregular ||
      call.inward() != (call.root == rank_))
    return false;
  const std::int64_t now = os::now_ns();
  if (seen.number != number) seen = {number, now};
  return now - seen.since_ns < kMostLateNs;
}

// True if the present line call has sent and taken nothing, and its caller can repeat it.
bool Member::may_retract() const {
  return cursor_.is_at_start() && differing_.departs == differing_.splits && !differing_.again;
}

Status Member::retract_line() {
  const Hold hold(*this);
  // memory_.root differs if each root has programs of its own
  const std::uint32_t root = Call::unpack(differing_.own.call).root;
  for (const Bound& plan : bound_)
    if (plan.steps != nullptr && plan.region + root * plan.region_bytes == memory_.region)
      --plan.episodes[root];
  differing_.split.out = taken_.out;
  memcpy(differing_.split.in, regs_[0], sizeof differing_.split.in);
  taken_ = {};
  const Status retracted = retract();
  adapt_first();
  return retracted;
}

Status Member::retract() {
  const std::uint64_t mine = differing_.own.call;
  differing_.split.call = Call::unpack(mine);
  if (!differing_.splits && !differing_.behind) differing_.adapted = sequence_;
  if (!differing_.behind) differing_.settled = sequence_;
  history_.remove(bounded_ ? Call::without_length(mine) : mine);
  --sequence_;
  gate_ = generation_;
  return Status::kRetracted;
}

// True if both calls of this number are known and differ: this member's and that rank's. Then it writes the
// error text.
bool Member::is_another(std::uint64_t number, std::uint32_t rank, std::uint64_t theirs) {
  std::uint64_t mine = 0;
  bool known = own_call(number, &mine);
  for (const BlockRequest* r = requests_.ordered.first; r != nullptr && !known; r = r->next) {
    known = r->number == number;
    mine = r->call.packed();
  }
  if (!known || mine == theirs) return false;
  const Call call = Call::unpack(mine);
  const bool outward = root_gives(call.collective);
  // The member that gets the data settles the length (settle_length()). The others ignore a difference.
  const bool settles = number == differing_.adapted
                           ? outward && call.root != rank
                           : !over_hosts_ || outward || call.root == rank_ || call.root == rank;
  if (bounded_ && settles && Call::only_lengths_differ(mine, theirs)) return false;
  name_difference(number, mine, rank, theirs);
  return true;
}

// Looks for the first call that differs, among the calls that both status lines still have, and writes the
// error text. For a member on another host only one call is known: a call in which it has waited long.
bool Member::differs_from(std::uint32_t rank) {
  if (std::uint64_t number = 0, theirs = 0; team_->hosts().is_away(rank))
    return team_->notices().told_call(rank, rank_, &number, &theirs) && is_another(number, rank, theirs);
  const StatusLine& line = team_->status(rank);
  const std::uint64_t newest = newest_call<RealAtomics>(line) / 2;
  const std::uint64_t last = newest < sequence_ ? newest : sequence_;
  for (std::uint64_t n = last < kCallsKept<StatusLine> ? 1 : last - kCallsKept<StatusLine> + 1; n <= last;
       ++n)
    if (std::uint64_t theirs = 0;
        recall<RealAtomics>(line, n, theirs) == Recalled::kKnown && is_another(n, rank, theirs))
      return true;
  return false;
}

// Compares the present line calls after a tag of another call has come. A difference in the length counts.
bool Member::differs_now(std::uint32_t rank) {
  std::uint64_t mine = 0, theirs = 0;
  if (team_->hosts().is_away(rank) || !own_call(sequence_, &mine)) return false;
  if (recall<RealAtomics>(team_->status(rank), sequence_, theirs) != Recalled::kKnown || mine == theirs)
    return false;
  name_difference(sequence_, mine, rank, theirs);
  return true;
}

// This member has waited long in that call. It tells the other hosts, and compares the call with the calls
// that they have told.
Status Member::compare_abroad(std::uint64_t number, std::uint64_t call) {
  if (differing_.said < number) {
    differing_.said = number;
    team_->notices().tell_call(rank_, number, call);
  }
  for (std::uint32_t r = 0; r < team_->members(); ++r)
    if (team_->hosts().is_away(r) && differs_from(r)) return break_team(Status::kMismatch, r);
  return Status::kOk;
}

// That rank's tag is of another call. Names the difference if it is known, and breaks the team.
Status Member::met_another_call(std::uint32_t rank) {
  const std::int64_t end = os::now_ns() + kSayNs;
  const auto names_it = [&] {
    return differs_from(rank) || (requests_.call == nullptr && differs_now(rank));
  };
  bool named = names_it();
  for (; !named && !team_->hosts().is_away(rank) && os::now_ns() < end; named = names_it()) os::yield();
  if (!named && team_->hosts().is_away(rank))
    snprintf(detail_, sizeof detail_, "rank %u and rank %u on host %u made different calls", rank_, rank,
             team_->hosts().of(rank));
  else if (!named)
    snprintf(detail_, sizeof detail_,
             "ranks %u and %u gave a block different sizes, or made different calls earlier", rank_, rank);
  return give_up(break_team(Status::kMismatch, rank));
}

}  // namespace fermata::exec
