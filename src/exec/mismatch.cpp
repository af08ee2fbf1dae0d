// Calls that differ. What shows it is a tag of another call, in a slot or a piece, or, to those who have waited long, other calls of the
// same number in the status lines; who made which is read there in any case.
#include <stdio.h>
#include <string.h>

#include "exec/member.hpp"
#include "exec/report.hpp"

namespace fermata::exec {
namespace {

// A signal goes out before its call is said, and its sender may lose its CPU between the two.
constexpr std::int64_t kSayNs = 40'000'000;

}  // namespace

void Member::name_difference(std::uint64_t number, std::uint64_t mine, std::uint32_t rank, std::uint64_t theirs) {
  char my_text[96];
  char their_text[96];
  describe(Call::unpack(mine), my_text, sizeof my_text);
  describe(Call::unpack(theirs), their_text, sizeof their_text);
  snprintf(detail_, sizeof detail_, "call %llu: rank %u called %s, rank %u %s", static_cast<unsigned long long>(number), rank_, my_text,
           rank, their_text);
}

// The present call may have another length at those from whom this member gets its data: one has them, or all others give them. kRetracted:
// it is to be made again with theirs. kOk: nothing speaks for that, or not yet. May it be taken back? Else that breaks the team.
Status Member::settle_length(bool retractable) {
  std::uint64_t mine;
  if (!bounded_ || !recall<RealAtomics>(*status_, sequence_, mine)) return Status::kOk;
  const Call call = Call::unpack(mine);
  const bool inward = call.kind == Kind::kGather || call.kind == Kind::kReduce;
  if (!has_root(call.kind) || call.irregular || inward != (call.root == rank_)) return Status::kOk;
  if (over_hosts_) {
    Call theirs;
    if (!retractable || !find_come(call, &theirs)) return Status::kOk;
    differing_.bytes = theirs.bytes;
    differing_.on_line = theirs.order == Call::kLineOrder;
    return Status::kRetracted;
  }
  const std::uint32_t end = inward ? team_->members() : call.root + 1;
  std::uint64_t agreed = mine;
  bool any = false;
  for (std::uint32_t r = inward ? 0 : call.root; r < end; ++r) {
    std::uint64_t theirs;
    if (r == rank_) continue;
    if (!recall<RealAtomics>(team_->status(r), sequence_, theirs)) return Status::kOk;
    if (theirs != mine && !Call::only_lengths_differ(mine, theirs)) return Status::kOk;
    if (!any) agreed = theirs;
    any = true;
    if (agreed == theirs && (agreed == mine || retractable)) continue;
    name_difference(sequence_, mine, r, theirs);
    return break_team(Status::kMismatch, r);
  }
  if (agreed == mine) return Status::kOk;
  differing_.bytes = Call::unpack(agreed).bytes;
  differing_.on_line = Call::unpack(agreed).order == Call::kLineOrder;
  return Status::kRetracted;
}

// A signal goes out before its call is said: for those who have met a tag of another call.
Status Member::settle_met_length(bool retractable) {
  const std::int64_t end = os::now_ns() + kSayNs;
  Status settled = settle_length(retractable);
  // Over several hosts nothing is said, and what shows the length has come.
  for (; bounded_ && !over_hosts_ && settled == Status::kOk && os::now_ns() < end; settled = settle_length(retractable)) os::yield();
  return settled;
}

// Of the present call on lines nothing was sent nor taken, and whoever made it can make it again.
bool Member::may_retract() const { return cursor_.is_at_start() && differing_.departs == differing_.splits && !differing_.again; }

Status Member::retract_line() {
  std::uint64_t mine = 0;
  recall<RealAtomics>(*status_, sequence_, mine);
  const std::uint32_t root = Call::unpack(mine).root;  // memory_.root is another where each root has programs of its own
  for (const Bound& plan : bound_)
    if (plan.steps != nullptr && plan.region + root * plan.region_bytes == memory_.region) --plan.episodes[root];
  differing_.split.out = taken_.out;
  memcpy(differing_.split.in, regs_[0], sizeof differing_.split.in);
  taken_ = {};
  return retract();
}

Status Member::retract() {
  std::uint64_t mine = 0;
  recall<RealAtomics>(*status_, sequence_, mine);
  differing_.split.call = Call::unpack(mine);
  history_.remove(bounded_ ? Call::without_length(mine) : mine);
  --sequence_;
  gate_ = generation_;
  return Status::kRetracted;
}

// The first call of those both still know that differs: text for the error.
bool Member::differs_from(std::uint32_t rank) {
  const StatusLine& line = team_->status(rank);
  const std::uint64_t newest = newest_call<RealAtomics>(line) / 2;
  const std::uint64_t last = newest < sequence_ ? newest : sequence_;
  for (std::uint64_t n = last < kCallsKept<StatusLine> ? 1 : last - kCallsKept<StatusLine> + 1; n <= last; ++n) {
    std::uint64_t mine;
    std::uint64_t theirs;
    if (!recall<RealAtomics>(*status_, n, mine) || !recall<RealAtomics>(line, n, theirs) || mine == theirs) continue;
    const Call call = Call::unpack(mine);
    const bool outward = call.kind == Kind::kBroadcast || call.kind == Kind::kScatter;
    const bool settles = !over_hosts_ || outward || call.root == rank_ || call.root == rank;
    if (bounded_ && settles && Call::only_lengths_differ(mine, theirs)) continue;  // settle_length()
    name_difference(n, mine, rank, theirs);
    return true;
  }
  return false;
}

// That rank's tag is of another call: breaks the team.
Status Member::met_another_call(std::uint32_t rank) {
  const std::int64_t end = os::now_ns() + kSayNs;
  bool named = differs_from(rank);
  for (; !named && !team_->is_away(rank) && os::now_ns() < end; named = differs_from(rank)) os::yield();
  if (team_->is_away(rank))
    snprintf(detail_, sizeof detail_, "rank %u made another call than rank %u on host %u", rank_, rank, team_->host_of(rank));
  else if (!named)
    snprintf(detail_, sizeof detail_, "ranks %u and %u differ in the size of a block between them, or in calls long ago", rank_, rank);
  return give_up(break_team(Status::kMismatch, rank));
}

}  // namespace fermata::exec
