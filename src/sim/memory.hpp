// Coherent memory in virtual time: when an access to a line is over. It holds no values. Each host has lines
// of its own.
//
// - A read by a core that has the line is free. Any other one is a miss: it starts once it is asked for, the
//   line is free, and the core's read port is free. It takes the miss share of a signal from the line's
//   owner. The line is busy for the time between two readers (Machine::served), the port for L.
// - A store goes through the core's store port, in order, with a gap of L. Others see it after the
//   invalidation of the farthest core that has the line. Until then a core that had the line reads its copy.
// - A core owns a line until another core's request reaches it: after half of that access's time, since the
//   other half is the way back. Stores that the core issues by then are done when it has the line, and the
//   one move carries them all.
// - An atomic add moves the line: a whole signal. It is free for a core that owns the line.
// - A miss also takes the next lines (MemoryCosts::prefetch), each of which is as busy as for a miss.
// Lines serve in the order in which they are asked. So what a line's state will be is known when an access is
// asked for, and that is the state that is kept here: an access counts from then on for those that come
// later.
#ifndef FERMATA_SIM_MEMORY_HPP
#define FERMATA_SIM_MEMORY_HPP

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sim/machine.hpp"

namespace fermata::sim {

class Memory {
 public:
  explicit Memory(const Machine& machine);

  // When the core has or had the line's contents in its cache; -1: it does not have them, or a store is on
  // its way.
  Time ready(std::int32_t core, std::uint32_t line);
  // The end of a miss that is asked for at `asked`; the core has the line afterwards.
  Time read(std::int32_t core, std::uint32_t line, Time asked);
  // When others see a store that its core issues at `now`. Call changed() with that time then.
  Time store(std::int32_t core, std::uint32_t line, Time now);
  // The end of an atomic add. Call changed() with that time then.
  Time add(std::int32_t core, std::uint32_t line, Time now);
  void changed(std::uint32_t line, Time now) { lines_[line].changed = now; }
  // A message has come to this line. It is in the core's cache, unless another store to it is on its way.
  void landed(std::int32_t core, std::uint32_t line, Time now);
  // When the line's contents last changed.
  Time changed(std::uint32_t line) { return lines_[line].changed; }

  std::uint64_t misses = 0, stores = 0, adds = 0;

 private:
  struct Sharer {
    std::int32_t core;
    Time ready;
  };
  static constexpr Time kOpen = std::numeric_limits<Time>::max();
  // A core owns the line: its stores need nobody.
  struct Tenure {
    std::int32_t core = -1;
    Time from = 0, until = kOpen;
  };
  struct Line {
    Tenure owner;                 // the core that wrote it last; its tenure ends when another core reads it
    Time readable = 0;            // when the owner has or had the contents
    std::vector<Tenure> before;   // of owners that may still store
    std::vector<Sharer> sharers;  // further cores that have it
    Time free = 0, changed = 0;
  };
  // The core has the line, too, after a miss.
  static void share(Line& line, std::int32_t core, Time start, Time takes);
  Time farthest(const Line& line, std::int32_t core) const;
  // When a store that the core issues at `now` is done if the core owns the line; -1: it does not.
  Time owned(Line& line, std::int32_t core, Time now);
  // From `at` on the core alone has the line. Its request reaches the owner before it at `asked`.
  static void take(Line& line, std::int32_t core, Time asked, Time at, Time readable);

  const Machine& machine_;
  std::unordered_map<std::uint32_t, Line> lines_;
  std::vector<Time> read_port_, store_port_, last_seen_;  // of each core
};

}  // namespace fermata::sim
#endif
