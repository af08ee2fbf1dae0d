// Requests: block operations that a member has begun. They advance whenever it waits or asks for progress.
#include <stdio.h>

#include "exec/member.hpp"
#include "sync/single_copy.hpp"

namespace fermata::exec {
namespace {

constexpr std::uint32_t kLockSpins = 200;  // tries before the thread yields its CPU
constexpr std::uint32_t kMostAnswers = 8;  // answers that one call for progress waits for

}  // namespace

Status Member::prepares(Call call) {
  const Status now = usable();
  if (now != Status::kOk) return now;
  if (outstanding()) return Status::kBusy;
  call.prepares = true;
  say_call<RealAtomics>(*status_, ++sequence_, call.packed());
  say_over<RealAtomics>(*status_, sequence_);
  remember(call.packed());
  return Status::kOk;
}

Status Member::begin(BlockRequest* request) {
  const Status now = usable();
  if (now != Status::kOk) return now;
  const Hold hold(*this);
  // A callback may start a request with a channel of its own while its member waits in a call.
  if (request->active || (request->ordered && outstanding())) return Status::kBusy;
  // Checked only rarely here, because a check after the call is published gives a better error text. Without
  // this check a member whose calls never wait would not notice that the team is broken.
  if (requests_.ended != 0 && requests_.ended % kSeldom == 0) [[unlikely]]
    if (const Status broken = broken_status(); broken != Status::kOk) {
      gate_ = 0;
      return give_up(broken);
    }
  request->active = true;
  if (!has_requests()) requests_.next_look_ns = 0;
  ++requests_.active;
  request->operation.restart();
  request->adapted = false;
  // Ordered requests start in the same order at all members, like line calls, so members count and compare
  // them like line calls. Each unordered request has a channel of its own: only the number of its starts can
  // differ.
  if (request->ordered) {
    request->number = ++sequence_;
    request->before = history_.digest();
    if (bounded_) count_episodes(request);
    say_call<RealAtomics>(*status_, sequence_, request->call.packed());
    remember(request->call.packed());
  } else {
    ++unordered_starts_;
  }
  request->operation.set_tag(request->ordered ? history_.digest() >> 1 : ++request->uses);  // 63 bits
  if (!begin_now(request)) (request->ordered ? requests_.ordered : requests_.unordered).push(request);
  return Status::kOk;
}

// Advances a new request at once, unless earlier requests must end first, or this is a callback: callbacks
// must not nest. True: the request is over.
bool Member::begin_now(BlockRequest* r) {
  if (requests_.progressing || (r->ordered && requests_.ordered.first != nullptr)) return false;
  if (!advance_request(r, r == requests_.call ? SIZE_MAX : kFairShare) || adapts(r)) return false;
  if (bounded_ && r != requests_.call && r->ordered && r->operation.status() == Status::kMismatch)
    return false;  // as the first in its queue it may be settled
  requests_.progressing = true;
  const Status status = outcome(*r);
  if (r->ordered && broken_ == Status::kOk && status != Status::kRetracted)
    say_over<RealAtomics>(*status_, sequence_);
  end_request(r, status);
  requests_.progressing = false;
  return true;
}

bool Member::is_only_call() const {
  return requests_.call != nullptr && requests_.ordered.first == requests_.call &&
         requests_.call->number == sequence_;
}

// True for a call whose length may be settled, and which its caller can repeat.
bool Member::may_settle(const BlockRequest* request) const {
  return request == requests_.call && (requests_.ordered.first == nullptr || is_only_call());
}

// True if the request has met a piece of another call, and may wait until the others publish their calls or
// their data come.
bool Member::is_unsettled(const BlockRequest& request) const {
  return bounded_ && may_settle(&request) && request.operation.status() == Status::kMismatch;
}

// Advances one request. True: it is over.
bool Member::advance_request(BlockRequest* r, std::size_t most) {
  if (differing_.ride != nullptr && r == requests_.ordered.first) [[unlikely]]
    return advance_ride();
  const bool over = r->operation.advance([this](std::uint32_t rank) { ring(rank); }, most);
  if (over && is_unsettled(*r)) [[unlikely]]
    return settle_met_length(r->operation.untouched()) != Status::kPending;
  return over;
}

// Returns how a request that is over has ended. An error breaks the team.
Status Member::outcome(const BlockRequest& r) {
  const Status own = r.operation.status();
  if (own == Status::kOk) return r.operation.truncated() ? Status::kTruncated : own;
  if (own == Status::kMismatch && may_settle(&r)) {
    const Status settled = settle_met_length(r.operation.untouched());
    if (settled == Status::kRetracted) return retract();
  }
  const Status status =
      own == Status::kMismatch ? met_another_call(r.operation.foreigner()) : broken_ = status_of_broken();
  gate_ = 0;
  take_back();
  return status;
}

// Precondition: the request has left its queue.
void Member::end_request(BlockRequest* r, Status status) {
  if (r == requests_.call) requests_.call = nullptr;
  r->active = false;
  --requests_.active;
  ++requests_.ended;
  r->status = status;
  if (r->completed != nullptr) r->completed(r, r->context);
}

bool Member::progress(std::size_t most, std::int64_t until) {
  if (is_idle() && !has_requests()) return false;
  if (attends_) [[unlikely]]
    team_->attend_port();
  const Hold hold(*this);
  if (requests_.progressing) return false;
  requests_.progressing = true;
  bool moved = false;
  // On the shared channel the other requests wait for the first. Callbacks may add requests to both queues.
  while (requests_.ordered.first != nullptr) {
    BlockRequest* const r = requests_.ordered.first;
    const bool over = advance_request(r, most);
    moved = moved || (differing_.ride == nullptr && r->operation.has_moved());
    if (!over) break;
    if (adapts(r)) continue;
    if (r->operation.status() == Status::kMismatch) [[unlikely]] {
      const Status settled = settle_begun(r);
      if (settled == Status::kRetracted) continue;
      if (settled == Status::kPending) break;
    }
    requests_.ordered.pop();
    const Status status = outcome(*r);
    if (requests_.ordered.first == nullptr && broken_ == Status::kOk && status != Status::kRetracted)
      say_over<RealAtomics>(*status_, sequence_);
    end_request(r, status);
    moved = true;
  }
  for (std::uint32_t n = requests_.unordered.count; n > 0 && requests_.unordered.first != nullptr; --n) {
    BlockRequest* const r = requests_.unordered.pop();
    if (advance_request(r, most)) {
      end_request(r, outcome(*r));
      moved = true;
    } else {
      moved = moved || r->operation.has_moved();
      requests_.unordered.push(r);
    }
    if (until != 0 && os::now_ns() >= until) break;
  }
  requests_.progressing = false;
  return moved;
}

// Advances an outstanding line call, split-phase or interrupted.
void Member::advance_line() {
  if (outstanding() && requests_.interrupted == nullptr) advance(0);
}

bool Member::progress_others() {
  BusyMembers& busy = BusyMembers::mine();
  if (busy.is_empty()) return false;
  Member* m = busy.take_next(nullptr, this);
  const bool any = m != nullptr;
  while (m != nullptr) {
    m->requests_.become_held();
    m->progress(kFairShare);
    m->team_status();
    Member* const next = busy.take_next(m, this);
    m->requests_.let_go(m);
    m = next;
  }
  return any;
}

bool Member::push_data() {
  requests_.become_held();
  if (attends_) team_->attend_port();
  bool moved = false;
  bool over = false;
  const auto push = [&](BlockOperation& operation) {
    if (operation.over()) return;
    over = operation.advance([this](std::uint32_t rank) { ring(rank); }, kFairShare) || over;
    moved = operation.has_moved() || moved;
  };
  for (BlockRequest* r = requests_.ordered.first; r != nullptr && differing_.ride == nullptr; r = r->next) {
    push(r->operation);
    if (!r->operation.over() || r->operation.status() != Status::kOk) break;
  }
  for (BlockRequest* r = requests_.unordered.first; r != nullptr; r = r->next) push(r->operation);
  if (over) ring(rank_);  // its own thread may be parked
  requests_.let_go(this);
  return moved;
}

void RequestEngine::lock(Member* member) {
  for (std::uint32_t n = 0; !lock_.try_lock(); ++n) {
    if (lock_.is_biased()) return;
    if (n < kLockSpins) RealAtomics::pause();
    else os::yield();
  }
  if (link_.thread == BusyMembers::self()) return;
  BusyMembers::remove(member);
  BusyMembers::mine().add(member);
}

void RequestEngine::unlock(Member* member) {
  const bool known = has_others();
  if (!known) BusyMembers::remove(member);
  else if (link_.busy == nullptr) BusyMembers::mine().add(member);
  lock_.unlock(known ? BiasedLock<RealAtomics>::kFree : BiasedLock<RealAtomics>::kBiased);
}

Status Member::execute(BlockRequest* request) {
  if (requests_.is_held()) return Status::kBusy;
  Status status;
  {
    const Hold hold(*this);
    requests_.call = request;
    status = begin(request);
    if (status != Status::kOk) requests_.call = nullptr;
  }
  if (status == Status::kOk) status = request->active ? wait_for(request) : request->status;
  if (!request->active) return status;
  const Hold hold(*this);
  requests_.call = nullptr;
  requests_.interrupted = request;
  gate_ = 0;
  return status;
}

Status Member::progress_for(std::int64_t ns) {
  adopt();
  if (ns <= 0) {
    if (progress(kFairShare)) be_patient();
    advance_line();
    progress_others();
  } else {
    const std::int64_t end = os::now_ns() + ns;
    do {
      const bool moved = progress(kFairShare, end);
      advance_line();
      if (!has_requests()) break;
      progress_others();
      // The awaited member may need this CPU.
      if (!moved) os::yield();
    } while (os::now_ns() < end);
  }
  if (!has_requests()) return Status::kOk;
  const Status broken = team_status();
  return broken == Status::kOk ? Status::kPending : broken;
}

// After something has moved: an answer may come soon, so looks for it a little longer (exec/patience.hpp).
void Member::be_patient() {
  bool moved = true;
  for (std::uint32_t n = 0; n < kMostAnswers && moved && has_requests(); ++n) {
    const std::int64_t limit = patience_.next_ns();
    if (limit == 0) return;
    const std::int64_t start = os::now_ns();
    std::int64_t waited = 0;
    for (moved = false; !moved && has_requests() && waited < limit; waited = os::now_ns() - start) {
      RealAtomics::pause();
      moved = progress(kFairShare);
    }
    if (moved) patience_.came(waited);
    else patience_.gave_up();
  }
}

Status Member::test_for(BlockRequest* request) {
  progress(kFairShare);
  if (!request->active) return request->status;
  progress_others();
  return team_status() == Status::kOk ? Status::kPending : request->status;
}

Status Member::team_status() {
  const Hold hold(*this);
  if (broken_ == Status::kOk) broken_ = broken_status();
  if (broken_ == Status::kOk && has_requests()) broken_ = look_now_and_then();
  if (broken_ == Status::kOk) return broken_;
  gate_ = 0;
  fail_requests(broken_);
  return broken_;
}

// Called in a broken team before the requests end. After that their blocks belong to the caller again, so
// this function waits until no other member reads them. In a team of processes the kernel reads the blocks,
// which is safe even if the memory is gone.
void Member::take_back() {
  if (requests_.taken_back || team_->shared()) return;
  requests_.taken_back = true;
  withdraw<RealAtomics>();
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_) continue;
    while (still_reads<RealAtomics>(team_->status(r).reading)) os::yield();  // at most for the time of a copy
  }
}

// Ends all requests of a broken team: nothing will move any more.
void Member::fail_requests(Status status) {
  if (has_requests()) take_back();
  for (RequestQueue* queue : {&requests_.ordered, &requests_.unordered})
    while (queue->first != nullptr) end_request(queue->pop(), status);
}

}  // namespace fermata::exec
