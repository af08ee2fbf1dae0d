// Waiting: what a member does after its first bounded spin was not enough.
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

// Time between two checks of the other members; also the longest park.
constexpr std::int64_t kLookNs = 20'000'000;
constexpr std::int64_t kSayAbroadNs = 100'000'000;  // a wait this long tells the other hosts its call
// The longest park beside requests that do not ring this wait's doorbell.
constexpr std::int64_t kWithRequestsNs = 50'000;
constexpr std::int64_t kWithPortNs = 1'000'000;  // the longest park between two looks at the port
// The longest park while others have not published their call: publishing a call rings no doorbell.
constexpr std::int64_t kUnsaidNs = 1'000'000;
// Time between two looks at the port while the awaited member is on this host.
constexpr std::int64_t kPortNs = 50'000;
constexpr std::int64_t kSayAgainNs = 1'000'000'000;
constexpr std::uint32_t kMostMoves = 256;  // rounds that move something between two reads of the clock
constexpr std::size_t kBytesPerNs = 4;     // speed of another member's copy, at least, if it keeps its CPU
// About a time slice of other programs: if a copy takes longer, the copying member may have lost its CPU.
constexpr std::int64_t kMostExpectedNs = 4'000'000;

}  // namespace

void Member::choose_spins() {
  switch (team_->wait()) {
    case WaitKind::kAuto: spins_ = over_hosts_ ? HostsWait{}.spins() : auto_.spins(); break;
    case WaitKind::kSpin: spins_ = SpinWait{}.spins(); break;
    case WaitKind::kYield: spins_ = YieldWait{}.spins(); break;
    case WaitKind::kPark: spins_ = ParkWait{}.spins(); break;
  }
}

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
    const bool away = team_->is_away(r);  // on another host: its calls are not known here
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
  if (differing_.ride != nullptr && &request == ordered_.first) return look_for_ride(waited_ns);
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_ || !request.operation.works_with(r)) continue;
    const bool gone = team_->is_gone(r, rank_);
    // is_gone() is read before lacks(): data that are missing after that will not come.
    const bool elsewhere = unsettled && newest_call<RealAtomics>(team_->status(r)) / 2 >= request.number;
    if (gone && !elsewhere && request.operation.lacks(r)) return lost(r);
    if (waited_ns >= 2 * kLookNs && !team_->is_away(r) && differs_from(r))
      return break_team(Status::kMismatch, r);
  }
  return Status::kOk;
}

// Checks the members that give data to an unsettled request: one that is gone before it has published the
// call will not publish it.
Status Member::look_for_givers(const BlockRequest& request) {
  const Call& call = request.call;
  for (std::uint32_t r = 0; r < team_->members(); ++r) {
    if (r == rank_ || team_->is_away(r) || (!call.inward() && r != call.root)) continue;
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
  return waited_ns >= 2 * kLookNs && !team_->is_away(r) && differs_from(r) ? break_team(Status::kMismatch, r)
                                                                           : Status::kOk;
}

// Checks all requests, because they share the channel and each may hold up the awaited one.
Status Member::look_for_requests(std::int64_t waited_ns) {
  const Hold hold(*this);
  bool unsettled = false;
  if (is_only_call() && !call_->adapted) {  // an adapted call has its own length only in its descriptor
    const Status settled = settle_length(call_->operation.untouched());
    if (settled == Status::kRetracted) end_request(ordered_.pop(), retract());
    if (settled != Status::kOk && settled != Status::kPending) return settled;
    unsettled = settled == Status::kPending;
  }
  unsettled = adapt_first() == Status::kPending || unsettled;
  if (const BlockRequest* const first = ordered_.first;
      first != nullptr && (unsettled || first->operation.status() == Status::kMismatch))
    if (const Status seen = look_for_givers(*first); seen != Status::kOk) return seen;
  if (const BlockRequest* const first = ordered_.first;
      over_hosts_ && waited_ns >= kSayAbroadNs && first != nullptr)
    if (const Status seen = compare_abroad(first->number, first->call.packed()); seen != Status::kOk)
      return seen;
  for (const RequestQueue* queue : {&ordered_, &unordered_})
    for (const BlockRequest* r = queue->first; r != nullptr; r = r->next) {
      // its length is settled once it is the first
      if (bounded_ && r->ordered && r != ordered_.first) continue;
      const Status seen = look_for(*r, waited_ns, unsettled && r == ordered_.first);
      if (seen != Status::kOk) return seen;
    }
  return Status::kOk;
}

// For a member that tests again and again instead of waiting.
Status Member::look_now_and_then() {
  const std::int64_t now = os::now_ns();
  if (looked_at_ != ended_ || next_look_ns_ == 0) {
    looked_at_ = ended_;
    pending_ns_ = now;
    next_look_ns_ = now + kLookNs;
  }
  if (now < next_look_ns_) return Status::kOk;
  next_look_ns_ = now + kLookNs;
  return look_for_requests(now - pending_ns_);
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
  if (team_->is_over_hosts() && (team_->is_away(rank) || !team_->is_gone(rank, rank_))) {
    const char* how =
        team_->is_away(rank) ? "has stopped answering or has left" : "cannot be reached from another host";
    snprintf(detail_, sizeof detail_, "rank %u on host %u %s", rank, team_->host_of(rank), how);
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

struct Member::LineWait {
  Member& m;
  bool advance(std::uint32_t spins) const {
    if (m.has_requests()) m.progress(kFairShare);
    return m.advance(spins) &&
           (m.cursor_.status() == Status::kOk || m.settle_met_length(m.may_retract()) != Status::kPending);
  }
  void park(std::int64_t limit_ns) const {
    // Signals for the requests may ring another doorbell than this one, so the park is short.
    if (m.has_requests() && limit_ns > kWithRequestsNs) limit_ns = kWithRequestsNs;
    const bool unsettled = m.cursor_.status() != Status::kOk;
    if (unsettled && limit_ns > kUnsaidNs) limit_ns = kUnsaidNs;
    fermata::park<RealAtomics>(
        m.memory_.door(m.cursor_.at()), m.memory_.full_fence(), m.memory_.calls, limit_ns, [&] {
          return (!unsettled && m.cursor_.ready(m.memory_)) || is_broken<RealAtomics>(m.team_->header());
        });
  }
  Status finish() const { return m.finish(); }
  Status look(std::int64_t waited_ns) const { return m.look_around(waited_ns); }
  std::uint32_t peer() const { return m.cursor_.at().peer; }
  // False: the awaited signal comes from a member of this host.
  bool from_away() const { return m.team_->is_away(m.awaited_member()); }
  std::int64_t expected_ns() const { return 0; }
};

struct Member::BlockWait {
  Member& m;
  BlockRequest* const* requests;
  std::size_t count;
  bool several;  // some requests are of other members
  bool over() const {
    for (std::size_t i = 0; i < count; ++i)
      if (!requests[i]->active) return true;
    return false;
  }
  // Rounds that move something do not count as spins, but only kMostMoves of them: the idle hook and the time
  // limit must be served too.
  bool advance(std::uint32_t spins) const {
    const std::size_t most = m.active_ == 1 ? SIZE_MAX : kFairShare;
    std::uint32_t moves = 0;
    for (std::uint32_t n = 0;;) {
      const bool moved = m.progress(most);
      m.advance_line();
      if (several) m.progress_others();
      if (over()) return true;
      if (moved && ++moves < kMostMoves) continue;
      if (n++ >= spins) return false;
      RealAtomics::pause();
    }
  }
  void park(std::int64_t limit_ns) const {
    const bool unsettled = has_unsettled();
    if (unsettled && limit_ns > kUnsaidNs) limit_ns = kUnsaidNs;
    fermata::park<RealAtomics>(
        m.team_->door(m.rank_), m.memory_.full_fence(), m.memory_.calls, limit_ns, [&] {
          const Hold hold(m);
          Ride* const ride = m.differing_.ride;
          if (ride != nullptr && ride->cursor.ready(ride->memory)) return true;
          for (const RequestQueue* queue : {&m.ordered_, &m.unordered_})
            for (const BlockRequest* r = queue->first; r != nullptr;
                 r = queue == &m.ordered_ ? nullptr : r->next)
              if (r->operation.ready() && !((unsettled || ride != nullptr) && r == m.ordered_.first))
                return true;
          return is_broken<RealAtomics>(m.team_->header());
        });
  }
  Status finish() const { return Status::kOk; }
  Status look(std::int64_t waited_ns) const { return m.look_for_requests(waited_ns); }
  std::uint32_t peer() const {
    const Hold hold(m);
    const BlockRequest* r = awaited();
    return r != nullptr ? r->operation.awaited() : m.rank_;
  }
  static bool from_away() { return true; }
  std::int64_t expected_ns() const {
    const Hold hold(m);
    const BlockRequest* r = awaited();
    const std::size_t ns = r != nullptr ? r->operation.open_bytes() / kBytesPerNs : 0;
    return ns < kMostExpectedNs ? static_cast<std::int64_t>(ns) : kMostExpectedNs;
  }

 private:
  bool has_unsettled() const {
    const Hold hold(m);
    return m.ordered_.first != nullptr && m.ordered_.first->operation.status() == Status::kMismatch;
  }
  const BlockRequest* awaited() const {
    const BlockRequest* r = requests[0];
    if (r->operation.is_prepared()) return r;
    return m.ordered_.first != nullptr ? m.ordered_.first : m.unordered_.first;
  }
};

// If members outnumber CPUs, a wait is often a single yield. Such a wait reads the clock twice, before the
// yield and after it.
template <class Policy, class What>
Status Member::wait_with(Policy& policy, What what) {
  const std::int64_t start = os::now_ns();
  const std::int64_t deadline = timeout_ns_ > 0 ? start + timeout_ns_ : INT64_MAX;
  std::int64_t stall = team_->stall_ns() > 0 ? start + team_->stall_ns() : INT64_MAX;
  const bool port = team_->port() != nullptr;
  const std::int64_t sleep_ns = port && (hook_ == nullptr || idle_sleep_ns_ <= 0) ? kWithPortNs
                                : hook_ != nullptr                                ? idle_sleep_ns_
                                                                                  : 0;
  std::int64_t next_look = start + kLookNs;
  std::int64_t next_port = start;
  std::int64_t now = start;
  WaitView view;
  view.call = paced_calls();
  view.now_ns = start;
  const auto end = [&] {
    policy.done(view);
    spins_ = policy.spins();
    return what.finish();
  };
  for (;;) {
    view.waited_ns = now - start;
    if (hook_ != nullptr) {
      if (hook_(hook_context_) != 0) return Status::kInterrupted;
      // The hook may have given up the CPU. The awaited signal may have come meanwhile, so look before the
      // next yield.
      if (what.advance(0)) return end();
    }
    if (const Status broken = broken_status(); broken != Status::kOk) {
      // Others may have broken the team in a later call: if all signals for this call are here, it succeeds.
      if (port) team_->attend_port();
      return what.advance(0) ? end() : give_up(broken);
    }
    if (now >= next_look) {
      const Status seen = what.look(view.waited_ns);
      if (seen != Status::kOk) return seen == Status::kRetracted ? seen : give_up(seen);
      next_look = now + kLookNs;
    }
    // If standard error takes nothing now, try again later.
    if (now >= stall) stall = report_stall(view.waited_ns) ? INT64_MAX : now + kSayAgainNs;
    if (now >= deadline) {
      const std::uint32_t peer = what.peer();
      const auto ms = static_cast<unsigned long long>(view.waited_ns / 1'000'000);
      const int at =
          snprintf(detail_, sizeof detail_, "rank %u has waited %llu.%03llu s for rank (or shared word) %u",
                   rank_, ms / 1000, ms % 1000, peer);
      if (peer < team_->members() && team_->is_away(peer))
        snprintf(detail_ + at, sizeof detail_ - static_cast<std::size_t>(at), ", which is on host %u",
                 team_->host_of(peer));
      return Status::kTimeout;
    }
    const bool others = progress_others();
    // only while it spins, when it has time for this
    if (view.last_action == WaitAction::kSpin) view.expected_ns = what.expected_ns();
    view.last_action = policy.next(view);
    switch (view.last_action) {
      case WaitAction::kSpin: break;
      case WaitAction::kYield: os::yield(); break;
      case WaitAction::kPark: {
        std::int64_t limit = next_look - now;
        if (deadline - now < limit) limit = deadline - now;
        if (others && limit > kWithRequestsNs) limit = kWithRequestsNs;
        // The hook and the port are served often at first, later at intervals of 1/8 of the time waited.
        if (sleep_ns > 0) {
          const std::int64_t soon =
              view.waited_ns / 8 > kWithRequestsNs ? view.waited_ns / 8 : kWithRequestsNs;
          const std::int64_t most = soon < sleep_ns ? soon : sleep_ns;
          if (limit > most) limit = most;
        }
        what.park(limit < 1000 ? 1000 : limit);
        break;
      }
    }
    // Just before advance(), so that a line that lands now does not wait for a yield.
    if (port && (now >= next_port || what.from_away())) {
      team_->attend_port();
      next_port = now + kPortNs;
    }
    const bool over = what.advance(policy.spins());
    const std::int64_t then = now;
    now = os::now_ns();
    view.now_ns = now;
    view.last_action_ns = now - then;
    view.first = false;
    if (over) return end();
  }
}

template <class What>
Status Member::wait(What what) {
  const os::ErrnoGuard guard;
  switch (team_->wait()) {
    case WaitKind::kSpin: {
      SpinWait policy;
      return wait_with(policy, what);
    }
    case WaitKind::kYield: {
      YieldWait policy;
      return wait_with(policy, what);
    }
    case WaitKind::kPark: {
      ParkWait policy;
      return wait_with(policy, what);
    }
    case WaitKind::kAuto: break;
  }
  if (over_hosts_) {
    HostsWait policy;
    return wait_with(policy, what);
  }
  // At least 1: a faulty member can write over the count.
  const std::uint32_t joined =
      std::clamp(joined_so_far<RealAtomics>(team_->header().joined), 1U, team_->members());
  if (joined != joined_seen_) {
    joined_seen_ = joined;
    const std::uint32_t cpus = team_->usable_cpus();
    auto_ = AutoWait(joined > cpus, (joined + cpus - 1) / cpus, &team_->header().pace);
    choose_spins();
  }
  return wait_with(auto_, what);
}

Status Member::wait() { return wait(LineWait{*this}); }

Status Member::wait_for_any(BlockRequest* const* requests, std::size_t count, bool several) {
  if (is_held()) return Status::kBusy;
  const BlockWait what{*this, requests, count, several};
  if (what.advance(spins_)) return Status::kOk;
  const Status status = wait(what);
  if (broken_ != Status::kOk) {
    const Hold hold(*this);
    gate_ = 0;
    fail_requests(broken_);
  }
  return status;
}

}  // namespace fermata::exec
