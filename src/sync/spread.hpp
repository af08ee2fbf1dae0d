// Spreading: a crowd that has its CPUs for itself has about as many members on each of them.
//
// A call takes as long as the switches on the CPU with the most members. The kernel leaves members where they
// are, even three beside one: all of them have run just now, so it expects their data in that CPU's caches.
// So one member at a time looks whether its CPU has two members more than another one, and moves there.
#ifndef FERMATA_SYNC_SPREAD_HPP
#define FERMATA_SYNC_SPREAD_HPP

#include <algorithm>
#include <cstdint>

#include "sync/company.hpp"

namespace fermata {

// docs/waiting.md says how these were measured.
constexpr std::int64_t kSpreadLookNs = 1'000'000;    // between two looks
constexpr std::int64_t kSpreadMostNs = 100'000'000;  // times further ahead are a faulty member's
constexpr std::int64_t kSpreadRests = 64;  // a team's moves take 1 / kSpreadRests of its time at most

// The CPU whose members should be joined by one of this CPU; -1: there is none.
template <class A>
std::int32_t emptier_cpu(const BasicSigns<A>& signs, std::int32_t cpu, std::uint64_t call) {
  const BasicWaitersHere<A>& here = signs.waiters[static_cast<std::uint32_t>(cpu) % kSigned];
  std::int32_t found = -1;
  if (here.cpu(call) != cpu) return found;
  std::uint32_t fewer = here.members();
  for (const BasicWaitersHere<A>& there : signs.waiters) {
    const std::uint32_t members = there.members();
    if (members == 0 || members + 2 > here.members() || members >= fewer || there.cpu(call) < 0) continue;
    fewer = members;
    found = there.cpu(call);
  }
  return found;
}

// Call it now and then, after a wait of the calling member. Os: cpu(), now_ns(), and join(cpu), which moves
// this thread if it can.
template <class A, class Os>
void spread(BasicSigns<A>& signs, std::uint64_t call, std::int64_t now, const Os& os) {
  const std::int64_t next = A::load_relaxed(signs.spread_ns);  // order: relaxed throughout: hints
  if (now < next && next < now + kSpreadMostNs) return;
  // order: see above
  if (!A::compare_exchange_relaxed(signs.spread_ns, next, now + kSpreadLookNs)) return;
  const std::int32_t cpu = os.cpu(), to = emptier_cpu(signs, cpu, call);
  if (to < 0) return;
  for (const std::int32_t changed : {cpu, to})
    signs.waiters[static_cast<std::uint32_t>(changed) % kSigned].recount();
  os.join(to);
  const std::int64_t then = os.now_ns();
  const std::int64_t rest = std::clamp(kSpreadRests * (then - now), kSpreadLookNs, kSpreadMostNs);
  A::store_relaxed(signs.spread_ns, then + rest);  // order: see above
}

}  // namespace fermata
#endif
