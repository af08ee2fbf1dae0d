// What a member that waits long checks at intervals: whether the team is broken, whether an awaited member
// has left, and whether another member has made another call.
#include <stdio.h>
#include <string.h>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

constexpr std::int64_t kSayAbroadNs = 100'000'000;  // a wait this long tells the other hosts its call

}  // namespace

Status Member::broken_status() {
  if (broken_ != Status::kOk) return broken_;
  const Breach breach = team_->breach();
  const Status status = Team::cause_of(breach);
  if (status == Status::kOk) return status;
  if (breach.culprit == 0 || status == Status::kBroken) {
    snprintf(detail_, sizeof detail_, "the team was aborted");
  } else if (status == Status::kMemberLost) {
    name_lost(breach.culprit - 1);
  } else {
    snprintf(detail_, sizeof detail_, "rank %u and another rank made different calls", breach.culprit - 1);
  }
  if (status == Status::kMismatch)
    for (std::uint32_t r = 0; r < team_->members(); ++r)
      if (r != rank_ && differs_from(r)) break;
  return status;
}

// The member whose signal the line call awaits; this rank if it awaits no particular member.
std::uint32_t Member::awaited_member() const {
  const Step& step = cursor_.at();
  return step.code == Code::kAwait || step.code == Code::kCreditAwait ? memory_.swapped(step.peer) : rank_;
}

// Called at intervals while waiting: checks whether an awaited member has left, or one made another call.
Status Member::look_around(std::int64_t waited_ns) {
  const Hold hold(*this);  // a progress thread may be moving requests
  const Status settled = settle_length(may_retract());
  if (settled == Status::kRetracted) return retract_line();
  if (settled != Status::kOk && settled != Status::kPending) return settled;
  adapt_first();
  return look_at_others(waited_ns, settled == Status::kPending);
}

// unsettled: a member that has done its part of this call may have done it elsewhere, with another length.
Status Member::look_at_others(std::int64_t waited_ns, bool unsettled) {
  if (std::uint64_t own = 0; over_hosts_ && waited_ns >= kSayAbroadNs && own_call(sequence_, &own))
    if (const Status seen = compare_abroad(sequence_, own); seen != Status::kOk) return seen;
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_) continue;
    const bool gone = team_->is_gone(r, rank_);
    // the member has done its part of this call
    const bool ahead = newest_call<RealAtomics>(team_->status(r)) > sequence_ * 2;
    const bool away = team_->hosts().is_away(r);  // on another host: its calls are not known here
    // All signals of a member that has left have arrived. An awaited signal that is not here will not come,
    // unless the member gave its data elsewhere.
    const bool elsewhere = ahead && unsettled;
    if (gone && ((!ahead && !away) || (!elsewhere && awaited_member() == r && !cursor_.ready(memory_))))
      return lost(r);
    if (waited_ns >= 2 * kLookNs && !away && differs_from(r)) return break_team(Status::kMismatch, r);
  }
  return Status::kOk;
}

// Makes these checks for a request, and only for its peers in the present stage.
Status Member::look_for(const BlockRequest& request, std::int64_t waited_ns, bool unsettled) {
  if (differing_.ride != nullptr && &request == requests_.ordered.first) return look_for_ride(waited_ns);
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_ || !request.operation.works_with(r)) continue;
    const bool gone = team_->is_gone(r, rank_);
    // is_gone() is read before lacks(): data that are missing after that will not come.
    const bool elsewhere = unsettled && newest_call<RealAtomics>(team_->status(r)) / 2 >= request.number;
    if (gone && !elsewhere && request.operation.lacks(r)) return lost(r);
    if (waited_ns >= 2 * kLookNs && !team_->hosts().is_away(r) && differs_from(r))
      return break_team(Status::kMismatch, r);
  }
  return Status::kOk;
}

// Checks the members that give data to an unsettled request: one that is gone before it has published the
// call will not publish it.
Status Member::look_for_givers(const BlockRequest& request) {
  const Call& call = request.call;
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_ || team_->hosts().is_away(r) || (!call.inward() && r != call.root)) continue;
    if (team_->is_gone(r, rank_) && newest_call<RealAtomics>(team_->status(r)) / 2 < request.number)
      return lost(r);
  }
  return Status::kOk;
}

// Makes these checks for a request that is carried out as a line call.
Status Member::look_for_ride(std::int64_t waited_ns) {
  Ride& ride = *differing_.ride;
  const Step& step = ride.cursor.at();
  if (step.code != Code::kAwait && step.code != Code::kCreditAwait) return Status::kOk;
  const std::uint32_t r = ride.memory.swapped(step.peer);
  const bool gone = team_->is_gone(r, rank_);
  if (gone && !ride.cursor.ready(ride.memory)) return lost(r);
  return waited_ns >= 2 * kLookNs && !team_->hosts().is_away(r) && differs_from(r)
             ? break_team(Status::kMismatch, r)
             : Status::kOk;
}

// Checks all requests, because they share the channel and each may hold up the awaited one.
Status Member::look_for_requests(std::int64_t waited_ns) {
  const Hold hold(*this);
  bool unsettled = false;
  if (is_only_call() &&
      !requests_.call->adapted) {  // an adapted call has its own length only in its descriptor
    const Status settled = settle_length(requests_.call->operation.untouched());
    if (settled == Status::kRetracted) end_request(requests_.ordered.pop(), retract());
    if (settled != Status::kOk && settled != Status::kPending) return settled;
    unsettled = settled == Status::kPending;
  }
  unsettled = adapt_first() == Status::kPending || unsettled;
  if (const BlockRequest* const first = requests_.ordered.first;
      first != nullptr && (unsettled || first->operation.status() == Status::kMismatch))
    if (const Status seen = look_for_givers(*first); seen != Status::kOk) return seen;
  if (const BlockRequest* const first = requests_.ordered.first;
      over_hosts_ && waited_ns >= kSayAbroadNs && first != nullptr)
    if (const Status seen = compare_abroad(first->number, first->call.packed()); seen != Status::kOk)
      return seen;
  for (const RequestQueue* queue : {&requests_.ordered, &requests_.unordered})
    for (const BlockRequest* r = queue->first; r != nullptr; r = r->next) {
      // its length is settled once it is the first
      if (bounded_ && r->ordered && r != requests_.ordered.first) continue;
      const Status seen = look_for(*r, waited_ns, unsettled && r == requests_.ordered.first);
      if (seen != Status::kOk) return seen;
    }
  return Status::kOk;
}

// For a member that tests again and again instead of waiting.
Status Member::look_now_and_then() {
  const std::int64_t now = os::now_ns();
  if (requests_.looked_at != requests_.ended || requests_.next_look_ns == 0) {
    requests_.looked_at = requests_.ended;
    requests_.pending_ns = now;
    requests_.next_look_ns = now + kLookNs;
  }
  if (now < requests_.next_look_ns) return Status::kOk;
  requests_.next_look_ns = now + kLookNs;
  return look_for_requests(now - requests_.pending_ns);
}

// The caller has written the error text. If the team was broken before, returns the earlier status: `rank`
// may have left because of it. (If calls differ, the texts of both members are right.)
Status Member::break_team(Status status, std::uint32_t rank) {
  const bool first = team_->break_with(status, rank);
  const bool both_differ = status == Status::kMismatch && Team::cause_of(team_->breach()) == status;
  return first || both_differ ? status : status_of_broken();
}

// For a team that was seen broken: never kOk, even if a faulty member has reset the word since.
Status Member::status_of_broken() {
  const Status status = broken_status();
  return status != Status::kOk ? status : Status::kBroken;
}

Status Member::lost(std::uint32_t rank) {
  name_lost(rank);
  return break_team(Status::kMemberLost, rank);
}

// Writes the error text: it names a member that has left, or a process that has died and all its members.
void Member::name_lost(std::uint32_t rank) {
  const StatusLine& s = team_->status(rank);
  if (team_->hosts().are_several() && (team_->hosts().is_away(rank) || !team_->is_gone(rank, rank_))) {
    const char* how = team_->hosts().is_away(rank) ? "has stopped answering or has left"
                                                   : "cannot be reached from another host";
    snprintf(detail_, sizeof detail_, "rank %u on host %u %s", rank, team_->hosts().of(rank), how);
    return;
  }
  // order: relaxed: text, written before the state that showed the member gone
  const os::ProcessMemory process{s.home.load(std::memory_order_relaxed), nullptr,
                                  s.process.load(std::memory_order_relaxed)};
  if (static_cast<MemberState>(state_of<RealAtomics>(s)) == MemberState::kLeft) {
    snprintf(detail_, sizeof detail_, "rank %u (process %u, thread %u) has left", rank, process.process,
             s.thread.load(std::memory_order_relaxed));  // order: relaxed: text
    return;
  }
  auto at = static_cast<std::size_t>(
      snprintf(detail_, sizeof detail_, "process %u has died, and with it", process.process));
  const char* before = " rank";
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    const bool joined =
        static_cast<MemberState>(state_of<RealAtomics>(team_->status(r))) == MemberState::kJoined;
    if (!joined || team_->where_is(r, process) != Where::kHere || !team_->is_gone(r, rank_)) continue;
    if (at > sizeof detail_ - 24) {
      snprintf(detail_ + at, sizeof detail_ - at, ", ...");
      return;
    }
    at += static_cast<std::size_t>(snprintf(detail_ + at, sizeof detail_ - at, "%s %u", before, r));
    before = ", rank";
  }
}

}  // namespace fermata::exec
