// What a member waits for: the signals of its line call, or the end of requests.
#include <algorithm>

#include "exec/busy_members.hpp"
#include "exec/member.hpp"
#include "exec/report.hpp"

namespace fermata::exec {
namespace {

// The longest park while others have not published their call: publishing a call rings no doorbell.
constexpr std::int64_t kUnsaidNs = 1'000'000;
constexpr std::uint32_t kMostMoves = 256;  // rounds that move something between two reads of the clock
constexpr std::size_t kBytesPerNs = 4;     // speed of another member's copy, at least, if it keeps its CPU
// About a time slice of other programs: if a copy takes longer, the copying member may have lost its CPU.
constexpr std::int64_t kMostExpectedNs = 4'000'000;

}  // namespace

// What all waits of a member share.
struct Member::Wait {
  Member& m;
  Status broken() const { return m.diagnosis_.broken_status(); }
  Status give_up(Status status) const { return m.seat_.give_up(status); }
  bool report_stall(std::int64_t waited_ns) const {
    return exec::report_stall(m.team(), m.rank(), m.calls(), waited_ns);
  }
  bool advance_others() const { return m.progress_others(); }
  bool has_port() const { return m.team().port().is_connected(); }
  void attend_port() const { m.team().attend_port(); }
  // Call it before a park.
  const Fences<RealAtomics>& fences() const {
    const TeamMemory& memory = m.lines_.memory();
    if (m.park_rate_.parks_in(m.log_.paced_calls())) memory.fences->raise(memory.calls);
    return *memory.fences;
  }
  // Sleeps at that door until ready().
  template <class Ready>
  void park_at(Door<RealAtomics>& at, std::int64_t limit_ns, Ready&& ready) const {
    fermata::park<RealAtomics>(at, fences(), m.lines_.memory().calls, limit_ns,
                               [&] { return ready() || is_broken<RealAtomics>(m.team().header()); });
  }
};

struct Member::LineWait : Wait {
  bool advance(std::uint32_t spins) const {
    if (m.has_requests()) m.progress(kFairShare);
    return m.lines_.advance(spins) &&
           (!is_unsettled() || m.lengths_.settle_met(m.lengths_.may_retract()) != Status::kPending);
  }
  bool watch() const {
    const void* const word = MonitorChoice::may_wait() ? m.lines_.awaited_word() : nullptr;
    if (word == nullptr || m.has_requests() || is_unsettled()) return false;
    return MonitorChoice::wait(word,
                               [&] { return m.lines_.ready() || is_broken<RealAtomics>(m.team().header()); });
  }
  void park(std::int64_t limit_ns, bool guarded) const {
    // Signals for the requests may ring another doorbell than this one, so the park is short.
    if (m.has_requests()) limit_ns = std::min(limit_ns, Waiter::kWithRequestsNs);
    const bool unsettled = is_unsettled();
    if (unsettled) limit_ns = std::min(limit_ns, kUnsaidNs);
    if (guarded && may_be_guarded()) return park_guarded(limit_ns);
    park_at(m.lines_.memory().door(m.lines_.cursor().at()), limit_ns,
            [&] { return !unsettled && m.lines_.ready(); });
  }
  bool park_unwatched(std::int64_t limit_ns) const {
    if (!BusyMembers::mine().is_empty() || has_port() || !may_be_guarded()) return false;
    park_guarded(limit_ns);
    return advance(0);
  }
  Status finish() const { return m.finish(); }
  Status look(std::int64_t waited_ns) const { return m.lookout_.look_at_line(waited_ns); }
  Status time_out(std::int64_t waited_ns) const {
    const std::uint32_t peer = m.lines_.cursor().at().peer;
    return m.diagnosis_.time_out(waited_ns, peer < m.team().members() ? m.lines_.peer() : peer);
  }
  // False: the awaited signal comes from a member of this host.
  bool from_away() const { return m.team().hosts().is_away(m.lines_.awaited_member()); }
  std::int64_t expected_ns() const { return 0; }

 private:
  bool is_unsettled() const { return m.lines_.cursor().status() != Status::kOk; }
  // All that wait here wait for one signal, so one of them sees all that a look can show.
  bool may_be_guarded() const {
    return m.lines_.cursor().at().rings == 2 && !m.team().shared() && !m.has_requests() && !is_unsettled();
  }
  void park_guarded(std::int64_t limit_ns) const {
    TeamMemory& memory = m.lines_.memory();
    m.guard_.park(memory.door(m.lines_.cursor().at()), fences(), memory.calls, limit_ns,
                  [&] { return m.lines_.ready() || is_broken<RealAtomics>(m.team().header()); });
  }
};

struct Member::BlockWait : Wait {
  BlockRequest* const* requests;
  std::size_t count;
  bool several;  // some requests are of other members
  bool over() const {
    return std::any_of(requests, requests + count, [](const BlockRequest* r) { return !r->active; });
  }
  // Rounds that move something do not count as spins, but only kMostMoves of them: the idle hook and the time
  // limit must be served too.
  bool advance(std::uint32_t spins) const {
    const std::size_t most = m.queues_.active == 1 ? SIZE_MAX : kFairShare;
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
  static bool watch() { return false; }  // several words may be awaited
  void park(std::int64_t limit_ns, bool) const {
    const bool unsettled = has_unsettled();
    if (unsettled) limit_ns = std::min(limit_ns, kUnsaidNs);
    park_at(m.team().segment().door(m.rank()), limit_ns, [&] { return ready(unsettled); });
  }
  static bool park_unwatched(std::int64_t) { return false; }
  Status finish() const { return Status::kOk; }
  Status look(std::int64_t waited_ns) const { return m.lookout_.look_at_requests(waited_ns); }
  Status time_out(std::int64_t waited_ns) const {
    const RequestQueues::Hold hold(m.queues_);
    const BlockRequest* r = awaited();
    return m.diagnosis_.time_out(waited_ns, r != nullptr ? r->operation.awaited() : m.rank());
  }
  static bool from_away() { return true; }
  std::int64_t expected_ns() const {
    const RequestQueues::Hold hold(m.queues_);
    const BlockRequest* r = awaited();
    const std::size_t ns = r != nullptr ? r->operation.open_bytes() / kBytesPerNs : 0;
    return std::min(static_cast<std::int64_t>(ns), kMostExpectedNs);
  }

 private:
  bool has_unsettled() const {
    const RequestQueues::Hold hold(m.queues_);
    const BlockRequest* const first = m.queues_.ordered.first;
    return first != nullptr && first->operation.status() == Status::kMismatch;
  }
  // True if any request can move. unsettled: the first ordered one waits for a call to be published.
  bool ready(bool unsettled) const {
    const RequestQueues::Hold hold(m.queues_);
    Ride* const ride = m.lengths_.ride();
    if (ride != nullptr && ride->cursor.ready(ride->memory)) return true;
    const BlockRequest* const first = m.queues_.ordered.first;
    if (first != nullptr && !unsettled && ride == nullptr && first->operation.ready()) return true;
    for (const BlockRequest* r = m.queues_.unordered.first; r != nullptr; r = r->next)
      if (r->operation.ready()) return true;
    return false;
  }
  const BlockRequest* awaited() const {
    const BlockRequest* r = requests[0];
    if (r->operation.is_prepared()) return r;
    return m.queues_.ordered.first != nullptr ? m.queues_.ordered.first : m.queues_.unordered.first;
  }
};

template <class What>
Status Member::wait(const What& what) {
  // At least 1: a faulty member can write over the count.
  const std::uint32_t joined =
      std::clamp(joined_so_far<RealAtomics>(team().header().joined), 1U, team().members());
  if (joined != waiter_.joined())
    waiter_.set_joined(joined, team().segment().usable_cpus(), &team().header().pace, rank(),
                       &team().header().signs);
  return waiter_.wait(what, log_.paced_calls());
}

Status Member::wait() {
  const LineWait what{{*this}};
  if (waiter_.over_soon(log_.paced_calls(), [&] { return what.advance(0); })) return what.finish();
  const Status status = wait(what);
  guard_.leave(lines_.memory().calls);
  return status;
}

Status Member::wait_for_any(BlockRequest* const* requests, std::size_t count, bool several) {
  if (queues_.is_held()) return Status::kBusy;
  const BlockWait what{{*this}, requests, count, several};
  if (what.advance(waiter_.spins())) return Status::kOk;
  if (waiter_.over_soon(log_.paced_calls(), [&] { return what.advance(0); })) return what.finish();
  const Status status = wait(what);
  if (seat_.broken() != Status::kOk) {
    const RequestQueues::Hold hold(queues_);
    engine_.fail(seat_.broken());
  }
  return status;
}

}  // namespace fermata::exec
