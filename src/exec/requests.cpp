// The calls of a member that start requests, advance them, and wait for them.
#include "exec/member.hpp"

namespace fermata::exec {

Status Member::prepares(Call call) {
  const Status now = seat_.usable();
  if (now != Status::kOk) return now;
  if (seat_.outstanding()) return Status::kBusy;
  call.prepares = true;
  log_.say(call.packed());
  log_.say_over();
  remember(call.packed());
  return Status::kOk;
}

bool Member::progress_others() {
  BusyMembers& busy = BusyMembers::mine();
  if (busy.is_empty()) return false;
  RequestQueues* at = busy.take_next(nullptr, &queues_);
  const bool any = at != nullptr;
  while (at != nullptr) {
    at->become_held();
    at->owner().progress(kFairShare);
    at->owner().team_status();
    RequestQueues* const next = busy.take_next(at, &queues_);
    at->let_go();
    at = next;
  }
  return any;
}

Status Member::execute(BlockRequest* request) {
  if (queues_.is_held()) return Status::kBusy;
  Status status;
  {
    const RequestQueues::Hold hold(queues_);
    queues_.call = request;
    status = begin(request);
    if (status != Status::kOk) queues_.call = nullptr;
  }
  if (status == Status::kOk) status = request->active ? wait_for(request) : request->status;
  if (!request->active) return status;
  const RequestQueues::Hold hold(queues_);
  queues_.call = nullptr;
  queues_.interrupted = request;
  seat_.close();
  return status;
}

Status Member::progress_for(std::int64_t ns) {
  adopt();
  if (ns <= 0) {
    if (progress(kFairShare)) engine_.be_patient();
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

Status Member::test_for(BlockRequest* request) {
  progress(kFairShare);
  if (!request->active) return request->status;
  progress_others();
  // In a broken team all its requests end. A chain may still be in a link of another team.
  return team_status() == Status::kOk || request->active ? Status::kPending : request->status;
}

Status Member::team_status() {
  const RequestQueues::Hold hold(queues_);
  Status broken = diagnosis_.broken_status();
  if (broken == Status::kOk && has_requests()) broken = lookout_.test_requests();
  if (broken == Status::kOk) return broken;
  seat_.set_broken(broken);
  engine_.fail(broken);
  return broken;
}

}  // namespace fermata::exec
