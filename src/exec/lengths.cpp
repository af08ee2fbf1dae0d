#include "exec/lengths.hpp"

#include <string.h>

#include <algorithm>

namespace fermata::exec {

Status Lengths::settle(bool retractable) {
  std::uint64_t mine;
  if (!log_.is_bounded() || !log_.find(log_.sequence(), &mine)) return Status::kOk;
  const Call call = Call::unpack(mine);
  const bool inward = call.inward();
  const bool gets_alone = inward == (call.root == seat_.rank);
  if (!has_root(call.collective) || call.irregular || (!gets_alone && !seat_.over_hosts)) return Status::kOk;
  retractable = retractable && log_.sequence() != settled_;
  if (seat_.over_hosts) return settle_come(call, gets_alone && retractable);
  const std::uint32_t end = inward ? team_.members() : call.root + 1;
  std::uint64_t agreed = mine;
  bool any = false, unsaid = false;
  for (std::uint32_t r = inward ? 0 : call.root; r < end; ++r) {
    std::uint64_t theirs;
    if (r == seat_.rank) continue;
    const Recalled recalled = recall<RealAtomics>(team_.status(r), log_.sequence(), theirs);
    if (recalled == Recalled::kForgotten) return settle_come(call, retractable);
    unsaid = unsaid || recalled == Recalled::kYetToCome;
    if (recalled == Recalled::kYetToCome) continue;
    if (theirs != mine && !Call::only_lengths_differ(mine, theirs)) return Status::kOk;
    if (!any) agreed = theirs;
    any = true;
    if (Call::as_long(agreed, theirs) && (Call::as_long(agreed, mine) || retractable)) continue;
    return diagnosis_.differ(log_.sequence(), mine, r, theirs);
  }
  if (unsaid) return Status::kPending;
  if (Call::as_long(agreed, mine)) return Status::kOk;
  return settle_to(Call::unpack(agreed), false);
}

// Settles the length by the data that have come. Used if the others' calls cannot be read, or are too old to
// be known.
Status Lengths::settle_come(const Call& call, bool retractable) {
  Call theirs;
  const std::uint32_t r = find_come(call, nullptr, &theirs);
  if (r == seat_.rank) return Status::kOk;
  if (!retractable) return diagnosis_.differ(log_.sequence(), call.packed(), r, theirs.packed());
  return settle_to(theirs, false);
}

// The retracted call is repeated like `theirs`. behind: as a line call, after the first request.
Status Lengths::settle_to(const Call& theirs, bool behind) {
  behind_ = behind;
  their_bytes_ = theirs.bytes;
  on_line_ = behind || theirs.order == Call::kLineOrder;
  return Status::kRetracted;
}

Status Lengths::settle_met(bool retractable) {
  const RequestQueues::Hold hold(queues_);
  const Status first = retractable ? meets_first() : Status::kOk;
  // The data are for the first request. This call is repeated unchanged after that request.
  if (first == Status::kRetracted) return settle_to(Call::unpack(log_.own()), true);
  const Status settled = settle(retractable);
  if (settled == Status::kPending && !retractable) return Status::kOk;
  if (settled != Status::kOk || first != Status::kOk) return settled == Status::kOk ? first : settled;
  std::uint64_t mine = 0;
  const bool may_come = retractable && log_.find(log_.sequence(), &mine) &&
                        may_come_later(Call::unpack(mine), log_.sequence(), overtaken_);
  return may_come ? Status::kPending : Status::kOk;
}

// Over several hosts the data of call `number` may come in another place, and a later call's data before
// them. So for some time the tag of another call is no error.
bool Lengths::may_come_later(const Call& call, std::uint64_t number, Overtaken& seen) const {
  constexpr std::int64_t kMostLateNs = 5'000'000'000;  // after this time the calls count as different
  if (!log_.is_bounded() || !seat_.over_hosts || !has_root(call.collective) || call.irregular ||
      call.inward() != (call.root == seat_.rank))
    return false;
  const std::int64_t now = os::now_ns();
  if (seen.number != number) seen = {number, now};
  return now - seen.since_ns < kMostLateNs;
}

Status Lengths::retract_line() {
  const RequestQueues::Hold hold(queues_);
  memcpy(split_.in, lines_.result(), sizeof split_.in);
  split_.out = lines_.undo(Call::unpack(log_.own()).root);
  const Status retracted = retract();
  adapt_first();
  return retracted;
}

Status Lengths::retract() {
  split_.call = Call::unpack(log_.own());
  if (!behind_) settled_ = log_.sequence();
  log_.retract(!splits_ && !behind_);
  seat_.open();
  return Status::kRetracted;
}

void Lengths::depart() {
  departs_ = true;
  look_anew();
}

void Lengths::departed() {
  departs_ = false;
  splits_ = splits_ && !seat_.is_open();
}

bool Lengths::begins_again(Call* again) {
  splits_ = false;
  *again = split_.call;
  again->bytes = their_bytes_;
  return on_line_;
}

Status Lengths::end_again() {
  again_ = false;
  const std::uint64_t mine = split_.call.bytes;
  if (split_.out != nullptr)
    copy_bytes(split_.out, result_, static_cast<std::uint32_t>(std::min(mine, their_bytes_)));
  return their_bytes_ > mine ? Status::kTruncated : Status::kOk;
}

bool Lengths::is_only_call() const {
  return queues_.call != nullptr && queues_.ordered.first == queues_.call &&
         queues_.call->number == log_.sequence();
}

bool Lengths::may_settle(const BlockRequest* request) const {
  return request == queues_.call && (queues_.ordered.first == nullptr || is_only_call());
}

}  // namespace fermata::exec
