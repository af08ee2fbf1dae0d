// Requests: operations on blocks that a member has begun, advanced whenever it waits or asks for progress.
#include <stdio.h>

#include "exec/member.hpp"
#include "sync/lending.hpp"

namespace fermata::exec {
namespace {

// What both ends of an edge must agree on, 63 bits: the call, and which use of its channel it is.
std::uint64_t tag_of(const Call& call, std::uint64_t use) {
  const std::uint64_t size = call.bytes * 0x9e3779b97f4a7c15u >> 52;  // 12 bits of it
  return std::uint64_t{static_cast<std::uint8_t>(call.kind)} | std::uint64_t{call.type} << 5 | std::uint64_t{call.op} << 11 |
         std::uint64_t{call.root & 0xfff} << 19 | size << 31 | (use & 0xfffff) << 43;
}

void describe_tag(std::uint64_t tag, char* text, std::size_t capacity) {
  Call call;
  call.kind = static_cast<Kind>(tag & 31);
  call.type = static_cast<std::uint8_t>(tag >> 5 & 63);
  call.op = static_cast<std::uint8_t>(tag >> 11 & 255);
  call.root = static_cast<std::uint32_t>(tag >> 19 & 0xfff);
  describe(call, text, capacity);
}

}  // namespace

Status Member::begin(BlockRequest* request) {
  const Status now = usable();
  if (now != Status::kOk) return now;
  // A callback may start those with a channel of their own while its member waits in a call.
  if (request->active || (request->ordered && outstanding())) return Status::kBusy;
  request->active = true;
  if (!has_requests()) next_look_ns_ = 0;
  request->next = nullptr;
  request->operation.restart();
  request->operation.set_tag(tag_of(request->call, request->ordered ? issued_++ : request->uses));
  ++request->uses;
  BlockRequest** at = request->ordered ? &ordered_ : &unordered_;
  while (*at != nullptr) at = &(*at)->next;
  *at = request;
  // Ordered ones come in the same order at all members, as calls on lines do, and are counted with them.
  if (request->ordered) say_call<RealAtomics>(*status_, ++sequence_, request->call.packed());
  progress();
  return Status::kOk;
}

// Until a request can't go on; where the channel is shared the others wait for the first.
bool Member::advance_requests(BlockRequest** list, bool one_by_one) {
  bool any = false;
  const auto bell = [this](std::uint32_t rank) { ring(rank); };
  for (BlockRequest** at = list; *at != nullptr;) {
    BlockRequest* r = *at;
    if (!r->operation.advance(bell)) {
      if (one_by_one) break;
      at = &r->next;
      continue;
    }
    *at = r->next;
    any = true;
    r->active = false;
    ++ended_;
    r->status = r->operation.status();
    if (r->status == Status::kMismatch) {
      char theirs[96];
      char ours[96];
      describe_tag(r->operation.foreign_tag(), theirs, sizeof theirs);
      describe_tag(r->operation.call().tag, ours, sizeof ours);
      const std::uint32_t other = r->operation.foreigner();
      snprintf(detail_, sizeof detail_, "rank %u called %s, rank %u %s", rank_, ours, other, theirs);
      team_->break_with(Status::kMismatch, other);
      broken_ = Status::kMismatch;
    } else if (r->status != Status::kOk) {
      r->status = broken_ = broken_status();
    }
    if (r->status != Status::kOk) {
      gate_ = 0;
      take_back();
    }
    if (r->ordered && ordered_ == nullptr && broken_ == Status::kOk) say_over<RealAtomics>(*status_, sequence_);
    if (r->completed != nullptr) r->completed(r, r->context);
    // A callback may have begun others, at the end of either list: `at` still is where the rest begins.
  }
  return any;
}

bool Member::progress() {
  if (progressing_ || !has_requests()) return false;
  progressing_ = true;
  bool any = advance_requests(&ordered_, true);
  any = advance_requests(&unordered_, false) || any;
  progressing_ = false;
  return any;
}

Status Member::execute(BlockRequest* request) {
  Status status = begin(request);
  if (status == Status::kOk) status = wait_for(request);
  if (request->active) {
    interrupted_ = request;
    gate_ = 0;
  }
  return status;
}

Status Member::test_for(BlockRequest* request) {
  progress();
  if (!request->active) return request->status;
  return team_status() == Status::kOk ? Status::kPending : request->status;
}

Status Member::team_status() {
  if (broken_ == Status::kOk) broken_ = broken_status();
  if (broken_ == Status::kOk && has_requests()) broken_ = look_now_and_then();
  if (broken_ == Status::kOk) return broken_;
  gate_ = 0;
  fail_requests(broken_);
  return broken_;
}

// The team is broken, and requests are about to end: what they lent is their owner's again, so nobody may be reading it. Members of
// other processes read by the kernel, which knows what is there.
void Member::take_back() {
  if (taken_back_) return;
  taken_back_ = true;
  withdraw<RealAtomics>();
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_ || team_->where_is(r, home()) == Where::kElsewhere) continue;
    while (still_reads<RealAtomics>(team_->status(r).reading)) os::yield();  // for the time of a copy
  }
}

// The team is broken: nothing will move any more.
void Member::fail_requests(Status status) {
  if (has_requests()) take_back();
  for (BlockRequest** list : {&ordered_, &unordered_}) {
    while (*list != nullptr) {
      BlockRequest* r = *list;
      *list = r->next;
      r->active = false;
      r->status = status;
      if (r->completed != nullptr) r->completed(r, r->context);
    }
  }
}

}  // namespace fermata::exec
