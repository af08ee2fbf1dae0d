// The memory that a team's cursors use, and where a member finds each of its plans.
#ifndef FERMATA_EXEC_TEAM_MEMORY_HPP
#define FERMATA_EXEC_TEAM_MEMORY_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/cursor.hpp"
#include "exec/poll_interval.hpp"
#include "exec/program.hpp"
#include "exec/team.hpp"
#include "net/net.hpp"
#include "os/os.hpp"
#include "sync/atomics.hpp"
#include "sync/company.hpp"
#include "sync/doorbell.hpp"

namespace fermata::exec {

// The memory that a program's offsets refer to: one region of a team's segment, and the members' doors.
struct TeamMemory {
  std::byte* region = nullptr;
  DoorLine* doors = nullptr;              // one per member
  Fences<RealAtomics>* fences = nullptr;  // the team's
  Signs* signs = nullptr;                 // the team's
  std::uint32_t root = 0;                 // for swapped(); 0 if each root has programs of its own
  OsCalls calls;
  const Team* team = nullptr;

  using Counter = std::atomic<std::uint64_t>;
  Counter& header(std::uint32_t offset) const { return *reinterpret_cast<Counter*>(region + offset); }
  Counter& word(std::uint32_t offset) const { return header(offset); }
  Counter& credit(std::uint32_t offset) const { return header(offset); }
  std::uint64_t& payload(std::uint32_t slot, std::uint32_t i) const {
    return reinterpret_cast<std::uint64_t*>(region + slot + 8)[i];
  }
  // On one host rooted programs are made for root 0. For another root, ranks 0 and root are exchanged. All
  // other members keep their ranks.
  std::uint32_t swapped(std::uint32_t rank) const { return rank == 0 ? root : (rank == root ? 0 : rank); }
  Door<RealAtomics>& door(const Step& step) const {
    if (step.rings == 1) return doors[swapped(step.door)].door;
    return *reinterpret_cast<Door<RealAtomics>*>(region + step.door);
  }
  [[gnu::always_inline]] bool must_wake(const Step& step) const {
    return step.rings != 0 && is_armed<RealAtomics>(door(step), *fences);
  }
  void wake(const Step& step) {
    sign(*signs, os::thread_id(), os::current_cpu());
    fermata::wake<RealAtomics>(door(step), calls);
  }
  void ring(const Step& step) {
    if (must_wake(step)) [[unlikely]]
      wake(step);
  }
  void carry(const Step& step, std::uint32_t offset, std::uint64_t header, std::uint32_t words,
             const std::uint64_t* payload) const {
    net::Line line{.offset = static_cast<std::uint64_t>(region - team->base()) + offset,
                   .header = header,
                   .to = step.peer,
                   .words = static_cast<std::uint16_t>(words)};
    for (std::uint32_t i = 0; i < words; ++i) line.payload[i] = payload[i];
    team->port().write(line);
  }
};

static_assert(sizeof(Door<RealAtomics>) <= kDoorBytes);

using TeamCursor = Cursor<RealAtomics, TeamMemory>;

// Where a member finds one plan of the team.
struct Bound {
  Step* steps = nullptr;              // in the member's memory; null: the team has no such plan
  std::byte* region = nullptr;        // of root 0
  std::uint64_t region_bytes = 0;     // from one root's region to the next; 0: one region for all
  std::uint64_t* episodes = nullptr;  // one per region
  std::uint32_t pauses = 0;           // the poll interval of all of the plan's awaits; 0: it has not one
  Polling found = {};                 // the one that was found and is in the steps
};

}  // namespace fermata::exec
#endif
