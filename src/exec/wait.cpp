// Waiting: everything a member does once its bounded spin was in vain.
#include <stdio.h>
#include <string.h>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

constexpr std::int64_t kLookNs = 20'000'000;  // between looks at the other members, and the longest park

// A member is gone if it left, or its process has died.
bool is_gone(const Team& team, std::uint32_t rank) {
  const StatusLine& s = team.status(rank);
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(s));
  if (state == MemberState::kLeft) return true;
  if (state != MemberState::kJoined || !team.shared()) return false;
  // order: relaxed: written before the state that was acquired above
  if (s.process.load(std::memory_order_relaxed) == os::process_id()) return false;
  return !os::byte_is_locked(team.fd(), rank);
}

}  // namespace

Status Member::broken_status() {
  const TeamHeader& h = team_->header();
  const std::uint32_t broken = broken_by<RealAtomics>(h);
  if (broken == 0) return Status::kOk;
  const auto status = static_cast<Status>(-static_cast<std::int32_t>(broken));
  const std::uint32_t culprit = h.culprit.load(std::memory_order_relaxed);  // order: relaxed: behind broken_by()
  if (detail_[0] == '\0') {
    if (culprit != 0) {
      snprintf(detail_, sizeof detail_, "rank %u %s", culprit - 1,
               status == Status::kMemberLost ? "has left or died during a collective" : "met calls that differ");
    } else {
      snprintf(detail_, sizeof detail_, "the team was aborted");
    }
  }
  return status;
}

// Called now and then while waiting: is anybody that we may wait for gone, or in another call?
Status Member::look_around(std::int64_t waited_ns) {
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_) continue;
    const StatusLine& s = team_->status(r);
    const bool gone = is_gone(*team_, r);
    const CallSeen seen = read_call<RealAtomics>(s);
    if (seen.sequence > sequence_ * 2) continue;  // has done its part of our call
    if (gone) {
      snprintf(detail_, sizeof detail_, "rank %u (process %u, thread %u) has left or died", r,
               s.process.load(std::memory_order_relaxed), s.thread.load(std::memory_order_relaxed));  // order: text
      team_->break_with(Status::kMemberLost, r);
      return Status::kMemberLost;
    }
    if (seen.sequence != sequence_ * 2 || !seen.stable) continue;
    const std::uint64_t mine = status_->call.load(std::memory_order_relaxed);  // order: own line
    if (seen.call == mine || waited_ns < 2 * kLookNs) continue;
    char theirs[80];
    char ours[80];
    describe(Call::unpack(seen.call), theirs, sizeof theirs);
    describe(Call::unpack(mine), ours, sizeof ours);
    snprintf(detail_, sizeof detail_, "rank %u called %s, rank %u %s", rank_, ours, r, theirs);
    team_->break_with(Status::kMismatch, r);
    return Status::kMismatch;
  }
  return Status::kOk;
}

// Where members outnumber CPUs this runs once per turn on a CPU, so a turn reads the clock twice: before its yield and behind it.
template <class Policy>
Status Member::wait_with(Policy& policy) {
  const std::int64_t start = os::now_ns();
  const std::int64_t deadline = timeout_ns_ > 0 ? start + timeout_ns_ : INT64_MAX;
  const std::int64_t stall = team_->stall_ns() > 0 ? start + team_->stall_ns() : INT64_MAX;
  bool reported = false;
  std::int64_t next_look = start + kLookNs;
  std::int64_t now = start;
  WaitView view;
  view.call = sequence_;
  for (;;) {
    view.waited_ns = now - start;
    if (hook_ != nullptr && hook_(hook_context_) != 0) return Status::kInterrupted;
    const Status broken = broken_status();
    if (broken != Status::kOk) return broken_ = broken;
    if (now >= next_look) {
      const Status seen = look_around(view.waited_ns);
      if (seen != Status::kOk) return broken_ = seen;
      next_look = now + kLookNs;
    }
    if (now >= stall && !reported) {
      reported = true;
      report_stall(view.waited_ns);
    }
    if (now >= deadline) {
      snprintf(detail_, sizeof detail_, "rank %u has waited %.3f s at stage step for rank or word %u", rank_,
               static_cast<double>(view.waited_ns) * 1e-9, cursor_.at().peer);
      return Status::kTimeout;
    }
    view.last_action = policy.next(view);
    switch (view.last_action) {
      case WaitAction::kSpin: break;
      case WaitAction::kYield: os::yield(); break;
      case WaitAction::kPark: {
        std::int64_t limit = next_look - now;
        if (deadline - now < limit) limit = deadline - now;
        if (limit < 1000) limit = 1000;
        const Step& step = cursor_.at();
        park<RealAtomics>(memory_.door(step), memory_.full_fence(), memory_.calls, limit,
                          [this] { return cursor_.ready(memory_) || broken_by<RealAtomics>(team_->header()) != 0; });
        break;
      }
    }
    const bool over = advance(policy.spins());
    const std::int64_t then = now;
    now = os::now_ns();
    view.now_ns = now;
    view.last_action_ns = now - then;
    view.first = false;
    if (over) {
      policy.done(view);
      spins_ = policy.spins();
      return finish();
    }
  }
}

Status Member::wait() {
  switch (team_->wait()) {
    case WaitKind::kSpin: {
      SpinWait policy;
      return wait_with(policy);
    }
    case WaitKind::kYield: {
      YieldWait policy;
      return wait_with(policy);
    }
    case WaitKind::kPark: {
      ParkWait policy;
      return wait_with(policy);
    }
    case WaitKind::kAuto: break;
  }
  const std::uint32_t joined = joined_so_far<RealAtomics>(team_->header().joined);
  if (joined != joined_seen_) {
    joined_seen_ = joined;
    const std::uint32_t cpus = team_->usable_cpus();
    auto_ = AutoWait(joined > cpus, (joined + cpus - 1) / cpus, &team_->header().pace);
    choose_spins();
  }
  return wait_with(auto_);
}

}  // namespace fermata::exec
