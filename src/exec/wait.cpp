// Waiting: what a member does after its first bounded spin was not enough.
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

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
  // The awaited rank, or the number of members plus that of a shared word.
  std::uint32_t peer() const {
    const std::uint32_t peer = m.cursor_.at().peer;
    return peer < m.team_->members() ? m.memory_.swapped(peer) : peer;
  }
  // False: the awaited signal comes from a member of this host.
  bool from_away() const { return m.team_->hosts().is_away(m.awaited_member()); }
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
    const std::size_t most = m.requests_.active == 1 ? SIZE_MAX : kFairShare;
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
        m.team_->segment().door(m.rank_), m.memory_.full_fence(), m.memory_.calls, limit_ns, [&] {
          const Hold hold(m);
          Ride* const ride = m.differing_.ride;
          if (ride != nullptr && ride->cursor.ready(ride->memory)) return true;
          for (const RequestQueue* queue : {&m.requests_.ordered, &m.requests_.unordered})
            for (const BlockRequest* r = queue->first; r != nullptr;
                 r = queue == &m.requests_.ordered ? nullptr : r->next)
              if (r->operation.ready() && !((unsettled || ride != nullptr) && r == m.requests_.ordered.first))
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
    return m.requests_.ordered.first != nullptr &&
           m.requests_.ordered.first->operation.status() == Status::kMismatch;
  }
  const BlockRequest* awaited() const {
    const BlockRequest* r = requests[0];
    if (r->operation.is_prepared()) return r;
    return m.requests_.ordered.first != nullptr ? m.requests_.ordered.first : m.requests_.unordered.first;
  }
};

// The time limits of one wait, in ns of os::now_ns(), and what is due next.
struct Member::Limits {
  std::int64_t start, deadline, stall, next_look, next_port;
  std::int64_t
      sleep_ns;  // longest sleep between two calls of the idle hook or looks at the port; 0: no limit

  Limits(const Member& m, std::int64_t now)
      : start(now),
        deadline(m.timeout_ns_ > 0 ? now + m.timeout_ns_ : INT64_MAX),
        stall(m.team_->stall_ns() > 0 ? now + m.team_->stall_ns() : INT64_MAX),
        next_look(now + kLookNs),
        next_port(now),
        sleep_ns(m.team_->port().is_connected() && (m.hook_ == nullptr || m.idle_sleep_ns_ <= 0) ? kWithPortNs
                 : m.hook_ != nullptr ? m.idle_sleep_ns_
                                      : 0) {}

  // beside_requests: other members of this thread have requests, which do not ring this wait's doorbell.
  std::int64_t longest_park(std::int64_t now, bool beside_requests) const {
    std::int64_t limit = next_look - now;
    if (deadline - now < limit) limit = deadline - now;
    if (beside_requests && limit > kWithRequestsNs) limit = kWithRequestsNs;
    // The hook and the port are served often at first, later at intervals of 1/8 of the time waited.
    if (sleep_ns > 0) {
      const std::int64_t eighth = (now - start) / 8;
      const std::int64_t soon = eighth > kWithRequestsNs ? eighth : kWithRequestsNs;
      const std::int64_t most = soon < sleep_ns ? soon : sleep_ns;
      if (limit > most) limit = most;
    }
    return limit < 1000 ? 1000 : limit;
  }
};

// `peer`: the awaited rank, or the number of members plus that of the awaited shared word.
Status Member::time_out(std::int64_t waited_ns, std::uint32_t peer) {
  const auto ms = static_cast<unsigned long long>(waited_ns / 1'000'000);
  const std::uint32_t members = team_->members();
  const bool word = peer >= members;
  const int at = snprintf(detail_, sizeof detail_, "rank %u has waited %llu.%03llu s for %s %u", rank_,
                          ms / 1000, ms % 1000, word ? "shared word" : "rank", word ? peer - members : peer);
  if (!word && team_->hosts().is_away(peer))
    snprintf(detail_ + at, sizeof detail_ - static_cast<std::size_t>(at), ", which is on host %u",
             team_->hosts().of(peer));
  return Status::kTimeout;
}

// Looks at the team and the clock, before each further step of a wait. kPending: the wait goes on.
template <class What>
Status Member::check_wait(Limits& limits, std::int64_t now, const What& what) {
  if (const Status broken = broken_status(); broken != Status::kOk) {
    // Others may have broken the team in a later call: if all signals for this call are here, it succeeds.
    if (team_->port().is_connected()) team_->attend_port();
    return what.advance(0) ? Status::kOk : give_up(broken);
  }
  const std::int64_t waited_ns = now - limits.start;
  if (now >= limits.next_look) {
    const Status seen = what.look(waited_ns);
    if (seen != Status::kOk) return seen == Status::kRetracted ? seen : give_up(seen);
    limits.next_look = now + kLookNs;
  }
  // If standard error takes nothing now, try again later.
  if (now >= limits.stall) limits.stall = report_stall(waited_ns) ? INT64_MAX : now + kSayAgainNs;
  return now >= limits.deadline ? time_out(waited_ns, what.peer()) : Status::kPending;
}

// If members outnumber CPUs, a wait is often a single yield. Such a wait reads the clock twice, before the
// yield and after it.
template <class Policy, class What>
Status Member::wait_with(Policy& policy, What what) {
  std::int64_t now = os::now_ns();
  Limits limits(*this, now);
  const bool port = team_->port().is_connected();
  WaitView view;
  view.call = paced_calls();
  view.now_ns = now;
  const auto end = [&] {
    policy.done(view);
    spins_ = policy.spins();
    return what.finish();
  };
  for (;;) {
    view.waited_ns = now - limits.start;
    if (hook_ != nullptr) {
      if (hook_(hook_context_) != 0) return Status::kInterrupted;
      // The hook may have given up the CPU. The awaited signal may have come meanwhile, so look before the
      // next yield.
      if (what.advance(0)) return end();
    }
    if (const Status checked = check_wait(limits, now, what); checked != Status::kPending)
      return checked == Status::kOk ? end() : checked;
    const bool others = progress_others();
    // only while it spins, when it has time for this
    if (view.last_action == WaitAction::kSpin) view.expected_ns = what.expected_ns();
    view.last_action = policy.next(view);
    switch (view.last_action) {
      case WaitAction::kSpin: break;
      case WaitAction::kYield: os::yield(); break;
      case WaitAction::kPark: what.park(limits.longest_park(now, others)); break;
    }
    // Just before advance(), so that a line that lands now does not wait for a yield.
    if (port && (now >= limits.next_port || what.from_away())) {
      team_->attend_port();
      limits.next_port = now + kPortNs;
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
    const std::uint32_t cpus = team_->segment().usable_cpus();
    auto_ = AutoWait(joined > cpus, (joined + cpus - 1) / cpus, &team_->header().pace);
    choose_spins();
  }
  return wait_with(auto_, what);
}

Status Member::wait() { return wait(LineWait{*this}); }

Status Member::wait_for_any(BlockRequest* const* requests, std::size_t count, bool several) {
  if (requests_.is_held()) return Status::kBusy;
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
