// What the calls of threads with ranks share: one team, and an entry per rank, in one piece of memory with
// the handle. create() makes all reservations that can fail. Each rank settles its member at its first call:
// only then does it run on its CPU, which the wait policy must know.
#ifndef FERMATA_API_RT_RANKED_TEAM_HPP
#define FERMATA_API_RT_RANKED_TEAM_HPP

#include <stdlib.h>

#include <cstdint>
#include <initializer_list>
#include <new>

#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "exec/team.hpp"
#include "sync/wait_wanted.hpp"

namespace fermata::rt {

// One rank's entry. Only the thread that makes the rank's calls writes it, except for `reserved`. If another
// thread takes over the rank, its calls must come after the earlier ones, and so do these writes.
struct alignas(kMaxLine) Entry {
  exec::Member* settled;  // equal to `reserved`; null until the rank's first call
  exec::FirstSignals first_signals;
  exec::Member* reserved;
};

// The base of a handle. The entries follow the handle, which has no state of its own beyond this.
struct alignas(kMaxLine) RankedTeam {
  exec::Team* team;
  std::uint32_t members;
  bool saved;     // its barrier runs a plan from the cache
  bool straight;  // in its allreduce each rank signals rank 0; else they go along a tree
  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
};

[[gnu::noinline, gnu::cold]] inline Entry* settle(Entry* entry) {
  const os::ErrnoGuard guard;
  entry->reserved->settle();
  entry->reserved->find_poll_interval();
  entry->reserved->keep_first_signals_in(&entry->first_signals);
  entry->settled = entry->reserved;
  return entry;
}

// Null: there is no such rank.
[[gnu::always_inline]] inline Entry* entry_of(RankedTeam* ranked, std::uint32_t rank) {
  if (ranked == nullptr || rank >= ranked->members) [[unlikely]]
    return nullptr;
  Entry* entry = ranked->entries() + rank;
  return entry->settled != nullptr ? entry : settle(entry);
}

inline void destroy(RankedTeam* ranked) {
  if (ranked == nullptr) return;
  if (ranked->team != nullptr) {
    for (std::uint32_t rank = 0; rank < ranked->members; ++rank)
      if (ranked->entries()[rank].reserved != nullptr) ranked->entries()[rank].reserved->leave();
    ranked->team->release();
  }
  free(ranked);
}

// More make no difference.
constexpr std::uint32_t within_members(std::uint32_t threads) {
  return threads < kMaxTeamMembers ? threads : kMaxTeamMembers;
}

// make_team(handle) sets its team, and `saved` and `straight` if they mean anything.
template <class Handle, class MakeTeam>
Status create(std::uint32_t members, Handle** out, MakeTeam&& make_team) {
  static_assert(sizeof(Handle) == sizeof(RankedTeam));
  if (out == nullptr || members < 1 || members > kMaxTeamMembers) return Status::kArgument;
  void* memory = aligned_alloc(kMaxLine, sizeof(Handle) + members * sizeof(Entry));
  if (memory == nullptr) return Status::kMemory;
  auto* handle = new (memory) Handle{{nullptr, members, false, false}};
  for (std::uint32_t rank = 0; rank < members; ++rank) new (handle->entries() + rank) Entry{};
  Status status = make_team(*handle);
  const char* detail = "";
  for (std::uint32_t rank = 0; rank < members && status == Status::kOk; ++rank)
    status = exec::Member::reserve(handle->team, rank, &handle->entries()[rank].reserved, &detail);
  if (status == Status::kOk) *out = handle;
  else destroy(handle);
  return status;
}

// Frees the programs. A null one in place of a needed one means that there was no memory for it.
inline Status team_of(exec::TeamOptions& options, std::initializer_list<exec::PlanSlot> needed,
                      exec::Team** out) {
  bool whole = true;
  for (const exec::PlanSlot slot : needed) whole &= options.programs[static_cast<int>(slot)] != nullptr;
  const char* detail = "";
  const Status status = whole ? exec::Team::create(options, out, &detail) : Status::kMemory;
  for (const exec::PlanSlot slot : needed) free(const_cast<void*>(options.programs[static_cast<int>(slot)]));
  return status;
}

}  // namespace fermata::rt

#endif
