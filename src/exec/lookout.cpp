#include "exec/lookout.hpp"

namespace fermata::exec {
namespace {

constexpr std::int64_t kSayAbroadNs = 100'000'000;  // a wait this long tells the other hosts its call
constexpr std::int64_t kLongNs = 100'000'000;       // from the first test until others' calls are checked
constexpr std::uint32_t kTestsOfLook = 64;          // between two reads of the clock

}  // namespace

Status Lookout::test_line() {
  const bool retractable = lengths_.may_retract_tested();
  if (lines_.cursor().status() != Status::kOk) {
    const Status settled = lengths_.settle_met(retractable);
    if (settled != Status::kPending)
      return settled == Status::kRetracted ? lengths_.retract_line() : Status::kOk;
  }
  if (++tests_ % kTestsOfLook != 0) return Status::kPending;
  const std::int64_t now = os::now_ns();
  if (tested_ != log_.sequence()) tested_ = log_.sequence(), since_ns_ = now;
  if (now - since_ns_ < kLongNs) return Status::kPending;
  since_ns_ = now;
  const RequestQueues::Hold hold(queues_);
  const Status settled = lengths_.settle(retractable);
  if (settled != Status::kOk && settled != Status::kPending)
    return settled == Status::kRetracted ? lengths_.retract_line() : settled;
  const Status seen = look_at_others(kLongNs, settled == Status::kPending);
  return seen == Status::kOk ? Status::kPending : seen;
}

Status Lookout::look_at_line(std::int64_t waited_ns) {
  const RequestQueues::Hold hold(queues_);  // a progress thread may be moving requests
  const Status settled = lengths_.settle(lengths_.may_retract());
  if (settled == Status::kRetracted) return lengths_.retract_line();
  if (settled != Status::kOk && settled != Status::kPending) return settled;
  lengths_.adapt_first();
  return look_at_others(waited_ns, settled == Status::kPending);
}

// unsettled: a member that has done its part of this call may have done it elsewhere, with another length.
Status Lookout::look_at_others(std::int64_t waited_ns, bool unsettled) {
  if (std::uint64_t own = 0;
      seat_.over_hosts && waited_ns >= kSayAbroadNs && log_.find(log_.sequence(), &own))
    if (const Status seen = diagnosis_.compare_abroad(log_.sequence(), own); seen != Status::kOk) return seen;
  for (std::uint32_t r = 0; r < team_.members(); ++r) {
    if (r == seat_.rank) continue;
    const bool gone = team_.is_gone(r, seat_.rank);
    // the member has done its part of this call
    const bool ahead = newest_call<RealAtomics>(team_.status(r)) > log_.sequence() * 2;
    const bool away = team_.hosts().is_away(r);  // on another host: its calls are not known here
    // All signals of a member that has left have arrived. An awaited signal that is not here will not come,
    // unless the member gave its data elsewhere.
    const bool elsewhere = ahead && unsettled;
    if (gone && ((!ahead && !away) || (!elsewhere && lines_.awaited_member() == r && !lines_.ready())))
      return diagnosis_.lost(r);
    if (const Status seen = compare(r, waited_ns); seen != Status::kOk) return seen;
  }
  return Status::kOk;
}

// After a long wait: compares that member's calls with this member's.
Status Lookout::compare(std::uint32_t rank, std::int64_t waited_ns) {
  const bool late = waited_ns >= 2 * Waiter::kLookNs && !team_.hosts().is_away(rank);
  return late ? diagnosis_.compare(rank) : Status::kOk;
}

// Makes these checks for a request, and only for its peers in the present stage.
Status Lookout::look_for(const BlockRequest& request, std::int64_t waited_ns, bool unsettled) {
  if (lengths_.ride() != nullptr && &request == queues_.ordered.first) return look_for_ride(waited_ns);
  for (std::uint32_t r = 0; r < team_.members(); ++r) {
    if (r == seat_.rank || !request.operation.works_with(r)) continue;
    const bool gone = team_.is_gone(r, seat_.rank);
    // is_gone() is read before lacks(): data that are missing after that will not come.
    const bool elsewhere = unsettled && newest_call<RealAtomics>(team_.status(r)) / 2 >= request.number;
    if (gone && !elsewhere && request.operation.lacks(r)) return diagnosis_.lost(r);
    if (const Status seen = compare(r, waited_ns); seen != Status::kOk) return seen;
  }
  return Status::kOk;
}

// Checks the members that give data to an unsettled request: one that is gone before it has published the
// call will not publish it.
Status Lookout::look_for_givers(const BlockRequest& request) {
  const Call& call = request.call;
  for (std::uint32_t r = 0; r < team_.members(); ++r) {
    if (r == seat_.rank || team_.hosts().is_away(r) || (!call.inward() && r != call.root)) continue;
    if (team_.is_gone(r, seat_.rank) && newest_call<RealAtomics>(team_.status(r)) / 2 < request.number)
      return diagnosis_.lost(r);
  }
  return Status::kOk;
}

// Makes these checks for a request that is carried out as a line call.
Status Lookout::look_for_ride(std::int64_t waited_ns) {
  Ride& ride = *lengths_.ride();
  const Step& step = ride.cursor.at();
  if (step.code != Code::kAwait && step.code != Code::kCreditAwait) return Status::kOk;
  const std::uint32_t r = ride.memory.swapped(step.peer);
  const bool gone = team_.is_gone(r, seat_.rank);
  if (gone && !ride.cursor.ready(ride.memory)) return diagnosis_.lost(r);
  return compare(r, waited_ns);
}

// Checks all requests, because they share the channel and each may hold up the awaited one.
Status Lookout::look_at_requests(std::int64_t waited_ns) {
  const RequestQueues::Hold hold(queues_);
  bool unsettled = false;
  if (lengths_.is_only_call() &&
      !queues_.call->adapted) {  // an adapted call has its own length only in its descriptor
    const Status settled = lengths_.settle(queues_.call->operation.untouched());
    if (settled == Status::kRetracted) engine_.end(queues_.ordered.pop(), lengths_.retract());
    if (settled != Status::kOk && settled != Status::kPending) return settled;
    unsettled = settled == Status::kPending;
  }
  unsettled = lengths_.adapt_first() == Status::kPending || unsettled;
  if (const BlockRequest* const first = queues_.ordered.first;
      first != nullptr && (unsettled || first->operation.status() == Status::kMismatch))
    if (const Status seen = look_for_givers(*first); seen != Status::kOk) return seen;
  if (const BlockRequest* const first = queues_.ordered.first;
      seat_.over_hosts && waited_ns >= kSayAbroadNs && first != nullptr)
    if (const Status seen = diagnosis_.compare_abroad(first->number, first->call.packed());
        seen != Status::kOk)
      return seen;
  Status seen = Status::kOk;
  queues_.any([&](const BlockRequest& r) {
    const bool first = &r == queues_.ordered.first;
    if (log_.is_bounded() && r.ordered && !first) return false;  // its length is settled once it is the first
    seen = look_for(r, waited_ns, unsettled && first);
    return seen != Status::kOk;
  });
  return seen;
}

Status Lookout::test_requests() {
  const std::int64_t now = os::now_ns();
  if (looked_at_ != queues_.ended || next_look_ns_ == 0) {
    looked_at_ = queues_.ended;
    pending_ns_ = now;
    next_look_ns_ = now + Waiter::kLookNs;
  }
  if (now < next_look_ns_) return Status::kOk;
  next_look_ns_ = now + Waiter::kLookNs;
  const Status seen = look_at_requests(now - pending_ns_);
  return seen == Status::kRetracted ? Status::kOk : seen;  // the request has ended, and the team is whole
}

}  // namespace fermata::exec
