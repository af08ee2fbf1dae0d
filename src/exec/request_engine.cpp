// Requests: block operations that a member has begun. They advance whenever it waits or asks for progress.
#include "exec/request_engine.hpp"

#include "sync/single_copy.hpp"

namespace fermata::exec {
namespace {

constexpr std::uint32_t kMostAnswers = 8;  // answers that one call for progress waits for

}  // namespace

Status RequestEngine::begin(BlockRequest* request) {
  const Status now = seat_.usable();
  if (now != Status::kOk) return now;
  const RequestQueues::Hold hold(queues_);
  // A callback may start a request with a channel of its own while its member waits in a call.
  if (request->active || (request->ordered && seat_.outstanding())) return Status::kBusy;
  // Checked only rarely here, because a check after the call is published gives a better error text. Without
  // this check a member whose calls never wait would not notice that the team is broken.
  if (queues_.ended >= next_look_) [[unlikely]] {
    next_look_ = queues_.ended + Waiter::kSeldom;
    if (const Status broken = diagnosis_.broken_status(); broken != Status::kOk) return seat_.give_up(broken);
  }
  request->active = true;
  ++queues_.active;
  request->operation.restart();
  request->adapted = false;
  // Ordered requests start in the same order at all members, like line calls, so members count and compare
  // them like line calls. Each unordered request has a channel of its own: only the number of its starts can
  // differ.
  if (request->ordered) {
    request->before = log_.history().digest();
    if (log_.is_bounded()) lengths_.count_episodes(request);
    const std::uint64_t packed = request->call.packed();
    log_.say(packed);
    log_.remember(packed);
    lines_.history_has_changed();
    request->number = log_.sequence();
  } else {
    log_.count_unordered_start();
  }
  request->operation.set_tag(request->ordered ? log_.history().digest() >> 1 : ++request->uses);  // 63 bits
  if (!begin_now(request)) (request->ordered ? queues_.ordered : queues_.unordered).push(request);
  return Status::kOk;
}

// Advances a new request at once, unless earlier requests must end first, or this is a callback: callbacks
// must not nest. True: the request is over.
bool RequestEngine::begin_now(BlockRequest* r) {
  if (queues_.progressing || (r->ordered && queues_.ordered.first != nullptr)) return false;
  if (!advance(r, r == queues_.call ? SIZE_MAX : kFairShare) || lengths_.adapts(r)) return false;
  if (log_.is_bounded() && r != queues_.call && r->ordered && r->operation.status() == Status::kMismatch)
    return false;  // as the first in its queue it may be settled
  queues_.progressing = true;
  end_as_it_did(r, r->ordered);
  queues_.progressing = false;
  return true;
}

// Advances one request. True: it is over.
bool RequestEngine::advance(BlockRequest* r, std::size_t most) {
  if (lengths_.ride() != nullptr && r == queues_.ordered.first) [[unlikely]]
    return lengths_.advance_ride();
  const bool over = r->operation.advance([this](std::uint32_t rank) { ring(rank); }, most);
  if (over && lengths_.is_unsettled(*r)) [[unlikely]]
    return lengths_.settle_met(r->operation.untouched()) != Status::kPending;
  return over;
}

// Returns the error of a request that did not end well. It breaks the team, unless the call is retracted.
Status RequestEngine::failure(const BlockRequest& r) {
  const Status own = r.operation.status();
  if (own == Status::kMismatch && lengths_.may_settle(&r)) {
    const Status settled = lengths_.settle_met(r.operation.untouched());
    if (settled == Status::kRetracted) return lengths_.retract();
  }
  const Status status = own == Status::kMismatch ? diagnosis_.met_another_call(r.operation.foreigner())
                        : own == Status::kMemory ? diagnosis_.has_no_memory()
                                                 : diagnosis_.status_of_broken();
  seat_.set_broken(status);
  take_back();
  return status;
}

bool RequestEngine::progress(std::size_t most, std::int64_t until) {
  if (queues_.is_idle() && queues_.active == 0) return false;
  if (seat_.attends) [[unlikely]]
    team_.attend_port();
  const RequestQueues::Hold hold(queues_);
  if (queues_.progressing) return false;
  queues_.progressing = true;
  bool moved = false;
  // On the shared channel the other requests wait for the first. Callbacks may add requests to both queues.
  while (queues_.ordered.first != nullptr) {
    BlockRequest* const r = queues_.ordered.first;
    const bool over = advance(r, most);
    moved = moved || (lengths_.ride() == nullptr && r->operation.has_moved());
    if (!over) break;
    if (lengths_.adapts(r)) continue;
    if (r->operation.status() == Status::kMismatch) [[unlikely]] {
      const Status settled = lengths_.settle_begun(r);
      if (settled == Status::kRetracted) continue;
      if (settled == Status::kPending) break;
    }
    queues_.ordered.pop();
    end_as_it_did(r, queues_.ordered.first == nullptr);
    moved = true;
  }
  for (std::uint32_t n = queues_.unordered.count; n > 0 && queues_.unordered.first != nullptr; --n) {
    BlockRequest* const r = queues_.unordered.pop();
    if (advance(r, most)) {
      end_as_it_did(r, false);
      moved = true;
    } else {
      moved = moved || r->operation.has_moved();
      queues_.unordered.push(r);
    }
    if (until != 0 && os::now_ns() >= until) break;
  }
  queues_.progressing = false;
  return moved;
}

bool RequestEngine::push_data() {
  queues_.become_held();
  if (seat_.attends) team_.attend_port();
  bool moved = false;
  bool over = false;
  const auto push = [&](BlockOperation& operation) {
    if (operation.over()) return;
    over = operation.advance([this](std::uint32_t rank) { ring(rank); }, kFairShare) || over;
    moved = operation.has_moved() || moved;
  };
  for (BlockRequest* r = queues_.ordered.first; r != nullptr && lengths_.ride() == nullptr; r = r->next) {
    push(r->operation);
    if (!r->operation.over() || r->operation.status() != Status::kOk) break;
  }
  for (BlockRequest* r = queues_.unordered.first; r != nullptr; r = r->next) push(r->operation);
  if (over) ring(seat_.rank);  // its own thread may be parked
  queues_.let_go();
  return moved;
}

void RequestEngine::be_patient() {
  bool moved = true;
  for (std::uint32_t n = 0; n < kMostAnswers && moved && queues_.active != 0; ++n) {
    const std::int64_t limit = patience_.next_ns();
    if (limit == 0) return;
    const std::int64_t start = os::now_ns();
    std::int64_t waited = 0;
    for (moved = false; !moved && queues_.active != 0 && waited < limit; waited = os::now_ns() - start) {
      RealAtomics::pause();
      moved = progress(kFairShare, 0);
    }
    if (moved) patience_.came(waited);
    else patience_.gave_up();
  }
}

// Called in a broken team before the requests end. After that their blocks belong to the caller again, so
// this function waits until no other member reads them. In a team of processes the kernel reads the blocks,
// which is safe even if the memory is gone.
void RequestEngine::take_back() {
  if (taken_back_ || team_.shared()) return;
  taken_back_ = true;
  withdraw<RealAtomics>();
  for (std::uint32_t r = 0; r < team_.members(); ++r) {
    if (r == seat_.rank) continue;
    while (still_reads<RealAtomics>(team_.status(r).reading)) os::yield();  // at most for the time of a copy
  }
}

void RequestEngine::fail(Status status) {
  if (queues_.active != 0) take_back();
  const auto give_up = [](BlockRequest* first) {
    for (BlockRequest* r = first; r != nullptr; r = r->next)
      if (r->operation.has_messages()) r->operation.give_up_messages();
  };
  give_up(queues_.ordered.first);
  give_up(queues_.unordered.first);
  given_up_until_ = os::now_ns() + kGiveUpNs;
  for (RequestQueue* queue : {&queues_.ordered, &queues_.unordered})
    while (queue->first != nullptr) end(queue->pop(), status);
}

}  // namespace fermata::exec
