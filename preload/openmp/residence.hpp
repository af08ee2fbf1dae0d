// What a residence consists of (resident.hpp).
#ifndef FERMATA_PRELOAD_OPENMP_RESIDENCE_HPP
#define FERMATA_PRELOAD_OPENMP_RESIDENCE_HPP

#include <fermata/fermata.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#include "compare.hpp"
#include "gomp_state.hpp"
#include "objects.hpp"
#include "resident.hpp"
#include "settings.hpp"
#include "thread_memory.hpp"

namespace fermata::preload {

// What the other threads of a residence get for each region.
struct Work {
  enum class Kind : std::uint64_t { kEnd = 0, kRegion, kLoop, kBarrier };
  Kind kind = Kind::kEnd;
  Body* body = nullptr;
  void* data = nullptr;
};
static_assert(sizeof(Work) <= FERMATA_FORKJOIN_BYTES);

// How many callers there were, and objects had ever been loaded, when may_reside() last looked at all
// objects.
struct Looked {
  std::uint32_t callers;
  unsigned long long added;
  static Looked now() { return {callers_known(), loads().added}; }
};

// How many threads other residences have, if they and `size` threads are more than the CPUs.
inline std::uint32_t threads_beside(std::uint32_t others, std::uint32_t size, std::uint32_t cpus) {
  return others + size > cpus ? others : 0;
}

struct Residence {
  const RunTime* run_time;
  std::uint32_t size;
  fermata_forkjoin* team;
  Memory memory;
  PoolPointer pool;
  ThreadEnd end;
  Progress progress;
  Settings outside;       // of the first thread before the residence
  Settings within;        // of each thread of a region, at its begin
  std::uint32_t process;  // process_page.set()
  bool crowded;           // its threads do not stay awake
  std::uint32_t cpus;     // of the process
  std::uint32_t beside;   // threads of other residences, if all together were more than the CPUs
  Looked looked;
  std::uint64_t regions = 0;
  ResidentRegions timed = {};
  std::uint64_t lonely_at = 0;  // after so many regions others were last there, if `beside` is not 0
  Opening opening = {};         // for kLoop
  Region region;
  // What the memory has in the serial phase and in a region, while it has the other.
  alignas(kLine) std::byte serial[kMostMemory];
  alignas(kLine) std::byte team_side[kMostMemory];

  void enter() {
    memcpy(serial, memory.at, memory.bytes);
    memcpy(memory.at, team_side, memory.bytes);
  }
  void leave() {
    memcpy(team_side, memory.at, memory.bytes);
    memcpy(memory.at, serial, memory.bytes);
  }
  // The residence has ended, and the memory has what libgomp wrote then. In the serial phase it had lost
  // sight of its pool. If it has made another one there, a pause ends that one's threads. Returns false then.
  bool restore() {
    const std::uintptr_t kept = pool.in(memory.at), other = pool.in(serial);
    memcpy(memory.at, serial, memory.bytes);
    if (other != 0) run_time->find(gomp::kPauseAll)(1);
    pool.set(memory.at, kept);
    return other == 0;
  }
};

// Do its threads wait as they should beside those of other residences, `all` threads together? Others may end
// and begin a residence just now, so one without threads beside looks for a while.
inline bool waits_rightly(Residence& residence, std::uint32_t all) {
  constexpr std::uint64_t kLonely = 4096;  // so many regions
  const std::uint32_t others = all - residence.size;
  const bool beside = threads_beside(others, residence.size, residence.cpus) != 0;
  if (beside == (residence.beside != 0)) {
    residence.lonely_at = residence.regions;
    return true;
  }
  return !beside && residence.regions - residence.lonely_at < kLonely;
}

}  // namespace fermata::preload

#endif
