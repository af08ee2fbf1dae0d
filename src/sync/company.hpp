// Company: two members of a team have come to share a CPU, and one of them may leave it.
//
// Each member signs the CPU that it is on when it waits longer than a spin, and when it wakes others. A
// member that finds another's signature there, newer than its own last wait, shares that CPU: at first its
// waits leave out the spin, which would hold up the awaited member. Once they have taken as long as a move,
// it moves (rule 4 of AutoWait).
#ifndef FERMATA_SYNC_COMPANY_HPP
#define FERMATA_SYNC_COMPANY_HPP

#include <cstdint>
#include <initializer_list>

#include "sync/atomics.hpp"
#include "sync/waiters_here.hpp"

namespace fermata {

// CPUs whose numbers differ by a multiple of this share a word: there members may miss that they are close.
inline constexpr std::uint32_t kSigned = 8;

// All are hints.
template <class A>
struct BasicSigns {
  template <class T>
  using Atomic = typename A::template Atomic<T>;
  Atomic<std::uint64_t> waited_on[kSigned], woke_on[kSigned];  // who did last on each CPU
  Atomic<std::int64_t> moved_ns;                               // when a member last moved
  // Of a crowd: where it gathers, and which member decides that, as a signature (sync/gathering.hpp).
  Atomic<std::uint64_t> gather;
  Atomic<std::uint64_t> gather_until;  // the call up to which this holds, unless that member renews it
  Atomic<std::int64_t> rests_ns;       // until when it does not try to gather members
  // Of a crowd without a hold (sync/spread.hpp): from when on a member may look for an emptier CPU; when, and
  // in which call, the last move was; what a call took before it, in ns (0: there was none); and how many
  // moves in a row have gained nothing.
  Atomic<std::int64_t> spread_ns, spread_at_ns;
  Atomic<std::uint64_t> spread_at;
  Atomic<std::uint32_t> spread_each_ns, spread_vain;
  BasicWaitersHere<A> waiters[kSigned];  // on each CPU, of a crowd
};
using Signs = BasicSigns<RealAtomics>;

// Resets it to the state before the first wait.
template <class A>
void forget(BasicSigns<A>& signs) {
  for (auto* table : {signs.waited_on, signs.woke_on})
    // order: relaxed, both: no other thread knows of it yet
    for (std::uint32_t i = 0; i < kSigned; ++i) A::store_relaxed(table[i], std::uint64_t{0});
  A::store_relaxed(signs.moved_ns, std::int64_t{0});       // order: see above
  A::store_relaxed(signs.gather, std::uint64_t{0});        // order: see above
  A::store_relaxed(signs.gather_until, std::uint64_t{0});  // order: see above
  A::store_relaxed(signs.rests_ns, std::int64_t{0});       // order: see above
  for (auto* time : {&signs.spread_ns, &signs.spread_at_ns})
    A::store_relaxed(*time, std::int64_t{0});                // order: see above
  A::store_relaxed(signs.spread_at, std::uint64_t{0});       // order: see above
  A::store_relaxed(signs.spread_each_ns, std::uint32_t{0});  // order: see above
  A::store_relaxed(signs.spread_vain, std::uint32_t{0});     // order: see above
  for (auto& here : signs.waiters) here.forget();
}

constexpr std::uint64_t signature(std::uint32_t thread, std::int32_t cpu) {
  return static_cast<std::uint64_t>(thread) << 32 | (static_cast<std::uint32_t>(cpu) + 1);
}
// Before a thread wakes others on that CPU. Threads of several processes may have one number, which hides
// that they share a CPU. A thread may be several members.
template <class A>
void sign(BasicSigns<A>& signs, std::uint32_t thread, std::int32_t cpu) {
  // order: relaxed: a hint
  A::store_relaxed(signs.woke_on[static_cast<std::uint32_t>(cpu) % kSigned], signature(thread, cpu));
}

// The CPU of a signature; -1: there is none.
constexpr std::int32_t cpu_of(std::uint64_t signature) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(signature) - 1);
}
// Moves this thread away from that CPU, to one that no other member has signed, if it can. Os(cpu, taken,
// count) leaves a CPU, and avoids others. Returns false if the thread can't move.
template <class A, class Os>
bool leave_cpu(const BasicSigns<A>& signs, std::int32_t cpu, Os&& os) {
  std::int32_t taken[2 * kSigned];
  std::size_t n = 0;
  // order: relaxed, both: hints
  for (const auto& word : signs.waited_on) taken[n++] = cpu_of(A::load_relaxed(word));
  for (const auto& word : signs.woke_on) taken[n++] = cpu_of(A::load_relaxed(word));  // order: see above
  return os(cpu, taken, n);
}

// Policies whose action may be kMove (sync/wait.hpp).
template <class Policy>
inline constexpr bool kMayMove = requires(const Policy& policy) { policy.asks_for_thread(0); };

// What a member knows about it. Whatever BasicSigns contains, a member shares its CPU for as long as its
// moves take before it moves.
template <class A>
class BasicCompany {
 public:
  // In each wait, before the first action that is no spin: the CPU, the call, and the time.
  void look(BasicSigns<A>& signs, std::uint32_t thread, std::int32_t cpu, std::uint64_t call,
            std::int64_t now) {
    const std::uint32_t at = static_cast<std::uint32_t>(cpu) % kSigned;
    const std::uint64_t mine = signature(thread, cpu);
    bool other = false;
    for (auto* word : {&signs.waited_on[at], &signs.woke_on[at]}) {
      const std::uint64_t last = A::load_relaxed(*word);  // order: relaxed: a hint
      other = other || (last != mine && static_cast<std::uint32_t>(last) == static_cast<std::uint32_t>(mine));
      if (last != mine) A::store_relaxed(*word, mine);  // order: see above
    }
    const bool was_close = is_close();
    if (cpu != cpu_) {
      withdraw(signs, thread);
      met_ = 0;  // the other's signature may be old
    } else if (other) {
      met_ = met_ < kMeets ? static_cast<std::uint8_t>(met_ + 1) : kMeets;
    } else if (met_ > 0) {
      --met_;
    }
    cpu_ = cpu;
    if (was_close != is_close()) {
      if (!was_close) apart_calls_ = since_ns_ == 0 ? 0 : call - since_call_, apart_ns_ = waited_ns_;
      begin(call, now);
    }
  }
  // This member shares its CPU.
  bool is_close() const { return met_ == kMeets; }
  // A wait has taken so long. A program may pause or compute between its calls, so only waits count.
  void waited(std::int64_t ns) { waited_ns_ += ns; }

  // True: it shall move now, in this wait, from this CPU. Members move one at a time.
  bool leaves(BasicSigns<A>& signs, std::int32_t cpu, std::uint64_t call, std::int64_t now) {
    if (!is_close() || stays_) return false;
    // order: relaxed: a hint
    const std::int64_t last = A::load_relaxed(signs.moved_ns);
    // The kernel or another member's move may have parted them. Clocks may differ a little.
    if (cpu != cpu_ || (last > since_ns_ && last <= now + kMostNs)) {
      met_ = 0;
      begin(call, now);
      return false;
    }
    if (waited_ns_ < std::int64_t{cost_ns_} * rests_) return false;
    if (!A::compare_exchange_relaxed(signs.moved_ns, last, now)) return false;  // order: see above
    // What a call has cost together, and apart before, with the move.
    const auto each = [](std::int64_t ns, std::uint64_t calls) {
      return static_cast<double>(ns) / static_cast<double>(calls);
    };
    const bool gained =
        apart_calls_ == 0 || each(waited_ns_, call - since_call_ + 1) > kGain * each(apart_ns_, apart_calls_);
    rests_ = static_cast<std::uint8_t>(gained ? 1 : rests_ < kMostRests ? 2 * rests_ : kMostRests);
    met_ = 0;
    begin(call, now);
    return true;
  }
  // It has moved, which took so long, until now; or it can't move.
  void moved(BasicSigns<A>& signs, bool could, std::int64_t ns, std::int64_t now) {
    stays_ = !could;
    waited(ns);
    cost_ns_ = ns < kLeastNs ? kLeastNs : ns < kMostNs ? static_cast<std::int32_t>(ns) : kMostNs;
    A::store_relaxed(signs.moved_ns, now);  // order: relaxed: a hint
  }

 private:
  // This member is no longer where it was at its last look.
  void withdraw(BasicSigns<A>& signs, std::uint32_t thread) const {
    if (cpu_ < 0) return;
    const std::uint32_t at = static_cast<std::uint32_t>(cpu_) % kSigned;
    for (auto* word : {&signs.waited_on[at], &signs.woke_on[at]})
      // order: relaxed, both: hints
      if (A::load_relaxed(*word) == signature(thread, cpu_)) A::store_relaxed(*word, std::uint64_t{0});
  }
  void begin(std::uint64_t call, std::int64_t now) { since_call_ = call, since_ns_ = now, waited_ns_ = 0; }

  // docs/waiting.md says how these were measured.
  static constexpr std::uint8_t kMeets = 3;  // waits: one woken beside another may soon run elsewhere
  // ns: what a move is taken to cost, at least and at most. Times further ahead are a faulty member's.
  static constexpr std::int32_t kLeastNs = 1'000'000, kMostNs = 100'000'000;
  static constexpr double kGain =
      1.25;  // together a call costs that many times more: the last move has gained
  static constexpr std::uint8_t kMostRests = 32;  // moves that gain nothing take 1 / kMostRests

  // Since when it has shared its CPU, or not, and what waits have taken since then. What they took before it
  // shared it, and in how many calls.
  std::int64_t since_ns_ = 0, waited_ns_ = 0, apart_ns_ = 0;
  std::uint64_t since_call_ = 0, apart_calls_ = 0;
  std::int32_t cost_ns_ = kLeastNs;  // of this member's last move
  std::int32_t cpu_ = -1;            // at the last look; -1: there was none
  std::uint8_t met_ = 0;
  std::uint8_t rests_ = 1;  // times its cost, it shares its CPU before the next move
  bool stays_ = false;      // it can't move
};

}  // namespace fermata
#endif
