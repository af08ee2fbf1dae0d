// Spreading: a crowd that yields has about as many members on each of its CPUs.
//
// A call takes as long as the switches on the CPU with the most members. The kernel leaves members where they
// are, even three beside one: all of them have run just now, so it expects their data in that CPU's caches.
// So one member at a time looks whether its CPU has two members more, and an eighth more, than another one,
// and moves to that.
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
  static constexpr std::int64_t kLookNs = 1'000'000;       // ns: between two looks, up to twice as long
  static constexpr std::int64_t kMostNs = 10'000'000'000;  // ns: from a move to the next one, at most
  static constexpr std::int64_t kRests =
      64;  // moves take 1 / kRests of a team's time, or kMostAtOnce times that
  static constexpr std::uint32_t kMostVain = 10;  // so often the rest doubles
  // If a call takes 1 / kGain less, the last move has gained; among many, half of one member's share.
  static constexpr std::uint32_t kGain = 16;
  static constexpr std::uint32_t kShare = 8;       // a difference of 1 / kShare of a CPU's members matters,
  static constexpr std::uint32_t kLeastMore = 2;   // members: if it is so many
  static constexpr std::uint32_t kMostAtOnce = 8;  // if so many moves are needed, they come so much faster
  // Members have so many numbers. In a larger team a CPU with many members can't be counted.
  static constexpr std::uint32_t kNumbers = 64, kMostCounted = 16;
};

// Where a member should go, and how many members more its CPU has.
struct EmptierCpu {
  std::int32_t cpu = -1;  // -1: nowhere
  std::uint32_t here = 0, more = 0;
};

// The CPU whose members should be joined by a member of this CPU that has moves left, in a team of so many.
template <class A>
EmptierCpu emptier_cpu(const BasicSigns<A>& signs, const BasicGathering<A>& moves, std::uint32_t team,
                       std::int32_t cpu, std::uint64_t call) {
  using C = SpreadConstants;
  const BasicWaitersHere<A>& waiters = signs.waiters[static_cast<std::uint32_t>(cpu) % kSigned];
  EmptierCpu found{.here = waiters.members()};
  if (waiters.cpu(call) != cpu || (team > C::kNumbers && found.here > C::kMostCounted)) return found;
  const std::uint32_t least = std::max(C::kLeastMore, found.here / C::kShare);
  for (const BasicWaitersHere<A>& there : signs.waiters) {
    const std::uint32_t members = there.members();
    if (members == 0 || members + std::max(least, found.more + 1) > found.here) continue;
    if (!moves.may_spread_to(there.cpu(call))) continue;
    found.more = found.here - members;
    found.cpu = there.cpu(call);
  }
  return found;
}

// Notes a move in that call, by one of so many members. Returns how many times the rest after it doubles.
template <class A>
std::uint32_t vain_moves(BasicSigns<A>& signs, std::uint32_t members, std::uint64_t call, std::int64_t now) {
  // order: relaxed throughout: hints. Others' values may be any.
  const auto since = static_cast<std::uint64_t>(A::load_relaxed(signs.spread_at_ns));
  const std::uint64_t calls = call - A::load_relaxed(signs.spread_at);  // order: see above
  const std::uint64_t whole = calls != 0 ? (static_cast<std::uint64_t>(now) - since) / calls : UINT32_MAX;
  // Before the first move nobody has noted when calls began.
  const auto each =
      since == 0 ? 0U : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(whole, 1, UINT32_MAX));
  const std::uint32_t before = A::load_relaxed(signs.spread_each_ns);  // order: see above
  const std::uint32_t earlier = A::load_relaxed(signs.spread_vain);    // order: see above
  const bool vain = before != 0 && each > before - before / std::max(SpreadConstants::kGain, 2 * members);
  const std::uint32_t in_vain = vain ? std::min(earlier, SpreadConstants::kMostVain - 1) + 1 : 0;
  A::store_relaxed(signs.spread_vain, in_vain);  // order: see above
  A::store_relaxed(signs.spread_each_ns, each);  // order: see above
  return in_vain;
}

// Call it now and then, after a wait of the calling member, while its team of so many has no hold. Os: cpu(),
// now_ns(), and spread(from, to), which moves this thread and returns true, if it can.
template <class A, class Os>
void spread(BasicSigns<A>& signs, BasicGathering<A>& moves, BasicPace<A>& pace, std::uint32_t members,
            std::uint64_t call, std::int64_t now, const Os& os) {
  using C = SpreadConstants;
  const std::int64_t next = A::load_relaxed(signs.spread_ns);  // order: relaxed throughout: hints
  if (now < next && next <= now + C::kMostNs) return;
  // Not at regular times: members have their turns at such.
  const auto some = static_cast<std::int64_t>(call * 0x9e3779b97f4a7c15 >> 44);
  // order: see above
  if (!A::compare_exchange_relaxed(signs.spread_ns, next, now + C::kLookNs + some)) return;
  const std::int32_t cpu = os.cpu();
  const EmptierCpu to = emptier_cpu(signs, moves, members, cpu, call);
  if (to.cpu < 0 || !moves.may_move(now)) return;
  A::store_relaxed(signs.spread_ns, now + C::kMostNs);  // order: see above; until it has moved
  const bool moved = os.spread(cpu, to.cpu);
  const std::int64_t then = os.now_ns();
  std::int64_t rests = C::kRests, least = C::kLookNs;
  if (moved) {
    exclude_until(pace, call);  // the others have waited for it
    const std::uint32_t in_vain = vain_moves(signs, to.here, call, now);
    if (const std::int64_t needed = std::min(to.more / 2, C::kMostAtOnce); in_vain == 0)
      rests /= needed, least /= needed;
    rests <<= in_vain;
    A::store_relaxed(signs.spread_at_ns, then);  // order: see above
    A::store_relaxed(signs.spread_at, call);     // order: see above
    for (const std::int32_t changed : {cpu, to.cpu})
      signs.waiters[static_cast<std::uint32_t>(changed) % kSigned].recount();
  } else {
    moves.spreads_not_to(to.cpu);
  }
  moves.moved(then - now, then);
  const std::int64_t took = std::clamp(then - now, std::int64_t{0}, C::kMostNs / C::kRests);
  const std::int64_t rest = std::clamp(rests * took, least, C::kMostNs);
  A::store_relaxed(signs.spread_ns, then + rest);  // order: see above
}

}  // namespace fermata
#endif
