// Coherent memory in virtual time: when an access to a line is over. It holds no values. Each host has lines
// of its own.
//
// - A read by a core that has the line is free. Any other one is a miss: it starts once it is asked for, the
//   line is free, and the core's read port is free. It takes the miss share of a signal from the line's
//   owner, during which the line serves nobody else. The port is busy for L.
// - A store goes through the core's store port, in order, with a gap of L. Others see it after the
//   invalidation of the farthest core that has the line. If no other core has it, they see it at once.
// - An atomic add moves the line: a whole signal.
// - A miss also takes the next lines (MemoryCosts::prefetch), each of which is busy for a miss.
// Lines serve in the order in which they are asked. So what a line's state will be is known when an access is
// asked for, and that is the state that is kept here: an access counts from then on for those that come
// later.
#ifndef FERMATA_SIM_MEMORY_HPP
#define FERMATA_SIM_MEMORY_HPP

#include <cstdint>
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
  struct Line {
    std::int32_t owner = -1;      // the core that wrote it last,
    Time owned = 0;               // and when it had the line to do so
    std::vector<Sharer> sharers;  // further cores that have it
    Time free = 0, changed = 0;
  };
  Time farthest(const Line& line, std::int32_t core) const;
  static void take(Line& line, std::int32_t core, Time at);  // the core alone has the line, from then on

  const Machine& machine_;
  std::unordered_map<std::uint32_t, Line> lines_;
  std::vector<Time> read_port_, store_port_, last_seen_;  // of each core
};

}  // namespace fermata::sim
#endif
