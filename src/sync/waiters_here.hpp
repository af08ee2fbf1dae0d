// The members of a crowd that wait on the same CPU.
//
// A member that yields lets another one run. Once all members of its CPU wait, that one has nothing to do
// either. When the members on other CPUs arrive, a switch is in progress that nobody needs. So the last
// member that begins to wait on its CPU spins for about as long as a switch takes, before it yields. With m
// members on each CPU a call then takes m - 1 switches there, instead of m.
//
// Which member is the last one is a guess. Waits are counted, and compared with the most in one of the last
// calls. The member that ends a call does not wait, the kernel moves members, and a member may wait several
// times in a call. So the members of a CPU also learn whether their spins succeed.
//
// They also count how many they are: each one that waited here in the last calls.
#ifndef FERMATA_SYNC_WAITERS_HERE_HPP
#define FERMATA_SYNC_WAITERS_HERE_HPP

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "base/line.hpp"
#include "sync/atomics.hpp"

namespace fermata {

// What the members on one CPU share. One of them may be preempted while it writes, which costs a wrong guess.
// All are hints: no value makes a wait hang.
template <class A>
class alignas(kMaxLine) BasicWaitersHere {
 public:
  // A member begins to wait on that CPU, in the call of that number. who: a number below 64, which few others
  // have. Returns true if it shall spin() first.
  bool arrive(std::int32_t cpu, std::uint64_t number, std::uint32_t who) {
    const auto call = static_cast<std::uint32_t>(number);
    const std::uint32_t mine = static_cast<std::uint32_t>(cpu) + 1;
    const std::uint32_t whose = get(cpu_);
    // Numbers that are much smaller are a new barrier's.
    const auto ahead = static_cast<std::int32_t>(call - get(call_));
    if (whose != 0 && ahead < 0 && ahead > -kSpread) return false;
    if (whose != mine) {
      if (whose != 0 && ahead >= 0 && ahead < kForget) return false;  // another CPU uses these words
      set(cpu_, mine);
      for (auto* word : {&waiting_, &most_, &failed_, &skipped_}) set(*word, 0U);
      set(expected_, UINT32_MAX);  // not known
      recount();
    }
    const std::uint64_t bit = std::uint64_t{1} << who;
    const std::uint64_t seen = A::load_relaxed(seen_);           // order: relaxed: a hint
    if ((seen & bit) == 0) A::store_relaxed(seen_, seen | bit);  // order: see above
    std::uint32_t waiting = get(waiting_);
    if (ahead != 0) {
      waiting = 0;
      begin(call);
    }
    set(waiting_, ++waiting);
    if (waiting > get(most_)) set(most_, waiting);
    if (waiting < get(expected_)) return false;
    set(expected_, waiting);
    if (waiting == 1) return false;  // a yield runs no other member
    if (get(failed_) < kHalf) return true;
    const std::uint32_t skipped = get(skipped_) + 1;
    set(skipped_, skipped < kSkips ? skipped : 0U);
    return skipped >= kSkips;
  }
  // Spins for about kSwitchNs at most, without a look at the clock for the first pauses. over(): looks once
  // whether the wait is over. Returns true if it is. Os: now_ns().
  template <class Os, class Over>
  bool spin(const Os& os, Over&& over) {
    for (std::int64_t end = 0;;) {
      for (std::uint32_t i = 0; i < kPauses; ++i) {
        A::pause();
        if (over()) return learn(true);
      }
      const std::int64_t now = os.now_ns();
      if (end == 0) end = now + kSwitchNs;
      if (now >= end) return learn(false);
    }
  }
  // The CPU, if members have waited here in about that call; else -1.
  std::int32_t cpu(std::uint64_t number) const {
    const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(number) - get(call_));
    return ahead < kForget && ahead > -kForget ? static_cast<std::int32_t>(get(cpu_)) - 1 : -1;
  }
  // How many members have waited here in the last calls; 0: not known. Those with the same number count once.
  std::uint32_t members() const { return get(members_); }
  void recount() {
    for (auto* word : {&calls_, &members_}) set(*word, 0U);
    A::store_relaxed(seen_, std::uint64_t{0});  // order: relaxed: a hint
  }
  void forget() { set(cpu_, 0U); }

 private:
  template <class T>
  using Atomic = typename A::template Atomic<T>;
  // order: relaxed: a hint
  static std::uint32_t get(const Atomic<std::uint32_t>& word) { return A::load_relaxed(word); }
  static void set(Atomic<std::uint32_t>& word, std::uint32_t value) {
    A::store_relaxed(word, value);  // order: relaxed: a hint
  }
  void begin(std::uint32_t call) {
    set(call_, call);
    const std::uint32_t calls = get(calls_) + 1;
    set(calls_, calls < kCalls ? calls : 0U);
    if (calls < kCalls) return;
    set(expected_, get(most_));
    set(most_, 0U);
    set(members_,
        static_cast<std::uint32_t>(std::popcount(A::load_relaxed(seen_))));  // order: relaxed: a hint
    A::store_relaxed(seen_, std::uint64_t{0});                               // order: relaxed: a hint
  }
  bool learn(bool has_come) {
    const std::uint32_t failed = get(failed_);
    set(failed_, failed - failed / kShare + (has_come ? 0U : kWhole / kShare));
    return has_come;
  }

  // docs/waiting.md says how these were measured.
  static constexpr std::int64_t kSwitchNs = 2'500;  // ns: about two switches, to another member and back
  static constexpr std::uint32_t kPauses = 8;       // pauses between two looks at the clock
  static constexpr std::uint32_t kCalls = 8;        // calls: so many show the most waits here
  static constexpr std::int32_t kForget = 64;       // calls: after so many, another CPU may use these words
  static constexpr std::int32_t kSpread = 1024;     // calls: members are seldom further apart
  static constexpr std::uint32_t kSkips = 64;       // waits: so seldom a spin is tried where most fail
  static constexpr std::uint32_t kShare = 8;        // spins: about so many decide whether most fail
  static constexpr std::uint32_t kWhole = 256, kHalf = kWhole / 2;

  Atomic<std::uint32_t> cpu_;       // the number of the CPU whose members use these words, plus 1; 0: none do
  Atomic<std::uint32_t> call_;      // the last call, its low bits,
  Atomic<std::uint32_t> waiting_;   // and how many waits have begun in it
  Atomic<std::uint32_t> calls_;     // so many of the next kCalls calls have begun,
  Atomic<std::uint32_t> most_;      // and the most waits in one of them
  Atomic<std::uint32_t> expected_;  // the same for the kCalls calls before; or more, if there were more since
  Atomic<std::uint32_t> failed_;    // how many of the last spins have failed, as a part of kWhole
  Atomic<std::uint64_t> seen_;      // which members have waited in these calls, by their numbers,
  Atomic<std::uint32_t> members_;   // and how many did in the kCalls calls before
  Atomic<std::uint32_t> skipped_;   // spins that were not tried since the last one that was
};

}  // namespace fermata
#endif
