// Spreading: a crowd that yields has about as many members on each of its CPUs.
//
// A call takes as long as the switches on the CPU with the most members. The kernel leaves members where they
// are, even three beside one: all of them have run just now, so it expects their data in that CPU's caches.
// So one member at a time looks whether its CPU has two members more than another one, and moves there.
//
// It counts heads: where members do not have equal work, another placement may be better. And the kernel,
// other teams, or other teams of the same threads may move members back. A move after which calls are no
// faster doubles the rest before the next one.
#ifndef FERMATA_SYNC_SPREAD_HPP
#define FERMATA_SYNC_SPREAD_HPP

#include <algorithm>
#include <cstdint>

#include "sync/company.hpp"
#include "sync/gathering.hpp"
#include "sync/pace.hpp"

namespace fermata {

// docs/waiting.md says how these were measured.
struct SpreadConstants {
  static constexpr std::int64_t kLookNs = 1'000'000;       // ns: between two looks, or up to twice as long
  static constexpr std::int64_t kMostNs = 10'000'000'000;  // ns: from a move to the next one, at most
  static constexpr std::int64_t kRests = 64;               // moves take 1 / kRests of a team's time
  static constexpr std::uint32_t kMostVain = 10;           // so often the rest doubles
  static constexpr std::uint32_t kGain = 16;      // if a call takes 1 / kGain less, the last move has gained
  static constexpr std::uint32_t kMostHere = 16;  // members: with more on a CPU, two of them matter little
};

// The CPU whose members should be joined by a member of this CPU that has moves left; -1: there is none.
template <class A>
std::int32_t emptier_cpu(const BasicSigns<A>& signs, const BasicGathering<A>& moves, std::int32_t cpu,
                         std::uint64_t call) {
  const BasicWaitersHere<A>& here = signs.waiters[static_cast<std::uint32_t>(cpu) % kSigned];
  if (here.cpu(call) != cpu || here.members() > SpreadConstants::kMostHere) return -1;
  std::int32_t found = -1;
  std::uint32_t fewer = here.members();
  for (const BasicWaitersHere<A>& there : signs.waiters) {
    const std::uint32_t members = there.members();
    if (members == 0 || members + 2 > here.members() || members >= fewer) continue;
    if (!moves.may_spread_to(there.cpu(call))) continue;
    fewer = members;
    found = there.cpu(call);
  }
  return found;
}

// Notes a move in that call. Returns how many times the usual rest follows it.
template <class A>
std::int64_t rests_after(BasicSigns<A>& signs, std::uint64_t call, std::int64_t now) {
  // order: relaxed throughout: hints. Others' values may be any.
  const auto since = static_cast<std::uint64_t>(A::load_relaxed(signs.spread_at_ns));
  const std::uint64_t calls = call - A::load_relaxed(signs.spread_at);  // order: see above
  const std::uint64_t whole = calls != 0 ? (static_cast<std::uint64_t>(now) - since) / calls : UINT32_MAX;
  // Before the first move nobody has noted when calls began.
  const auto each =
      since == 0 ? 0U : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(whole, 1, UINT32_MAX));
  const std::uint32_t before = A::load_relaxed(signs.spread_each_ns);  // order: see above
  const std::uint32_t earlier = A::load_relaxed(signs.spread_vain);    // order: see above
  const bool vain = before != 0 && each > before - before / SpreadConstants::kGain;
  const std::uint32_t in_vain = vain ? std::min(earlier, SpreadConstants::kMostVain - 1) + 1 : 0;
  A::store_relaxed(signs.spread_vain, in_vain);  // order: see above
  A::store_relaxed(signs.spread_each_ns, each);  // order: see above
  return std::int64_t{1} << in_vain;
}

// Call it now and then, after a wait of the calling member, while its team has no hold. Os: cpu(), now_ns(),
// and spread(from, to), which moves this thread and returns true, if it can.
template <class A, class Os>
void spread(BasicSigns<A>& signs, BasicGathering<A>& moves, BasicPace<A>& pace, std::uint64_t call,
            std::int64_t now, const Os& os) {
  using C = SpreadConstants;
  const std::int64_t next = A::load_relaxed(signs.spread_ns);  // order: relaxed throughout: hints
  if (now < next && next <= now + C::kMostNs) return;
  // Not at regular times: members have their turns at such.
  const auto some = static_cast<std::int64_t>(call * 0x9e3779b97f4a7c15 >> 44);
  // order: see above
  if (!A::compare_exchange_relaxed(signs.spread_ns, next, now + C::kLookNs + some)) return;
  const std::int32_t cpu = os.cpu(), to = emptier_cpu(signs, moves, cpu, call);
  if (to < 0 || !moves.may_move(now)) return;
  A::store_relaxed(signs.spread_ns, now + C::kMostNs);  // order: see above; until it has moved
  const bool moved = os.spread(cpu, to);
  const std::int64_t then = os.now_ns();
  std::int64_t rests = 1;
  if (moved) {
    exclude_until(pace, call);  // the others have waited for it
    rests = rests_after(signs, call, now);
    A::store_relaxed(signs.spread_at_ns, then);  // order: see above
    A::store_relaxed(signs.spread_at, call);     // order: see above
    for (const std::int32_t changed : {cpu, to})
      signs.waiters[static_cast<std::uint32_t>(changed) % kSigned].recount();
  } else {
    moves.spreads_not_to(to);
  }
  moves.moved(then - now, then);
  const std::int64_t took = std::clamp(then - now, std::int64_t{0}, C::kMostNs / C::kRests);
  const std::int64_t rest = std::clamp(C::kRests * rests * took, C::kLookNs, C::kMostNs);
  A::store_relaxed(signs.spread_ns, then + rest);  // order: see above
}

}  // namespace fermata
#endif
