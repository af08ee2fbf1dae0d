// What a member keeps of calls to which others gave another length (exec/adapt.cpp).
#ifndef FERMATA_EXEC_DIFFERING_HPP
#define FERMATA_EXEC_DIFFERING_HPP

#include <cstdint>

#include "exec/call.hpp"
#include "exec/team_memory.hpp"

namespace fermata::exec {

// A call on lines that was retracted, as its caller made it.
struct Split {
  Call call;
  void* out = nullptr;
  std::uint64_t in[kPayloadWords] = {};
};

// What a request does on a line, with a cursor of its own.
struct Ride {
  TeamCursor cursor;
  TeamMemory memory;
  Carried carried;
  Load load = Load::kNothing;
  std::uint64_t bytes = 0;
  alignas(16) std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
};

struct Differing {
  struct Own {
    std::uint64_t number = 0, call = 0;  // packed
  };
  Own own;                                   // the last call that others may not wait for: kept where nobody else writes
  std::uint64_t bytes = 0;                   // of a block, as the others have the call that was retracted,
  bool on_line = false;                      // and they have it on a line
  bool behind = false;                       // or it is made again as it was, behind a request that is what they have there
  bool departs = false;                      // from a split-phase call
  bool splits = false;                       // what is outstanding on lines is split, and has data
  bool again = false;                        // `split` is made again on a line, and
  std::uint64_t result[kPayloadWords] = {};  // this is where its result goes
  Split split;
  Ride* ride = nullptr;       // of the first ordered request, if it has one
  std::uint64_t adapted = 0;  // the last call that was retracted and is made again, blocking, with their length
  std::uint64_t settled = 0;  // the last call that is made as the others have it: once, whatever they say then
  std::uint64_t said = 0;     // and that other hosts' members were told of
  std::uint32_t tests = 0;    // of calls on lines, that found them not over
  std::uint64_t tested = 0;   // the last of these calls,
  std::int64_t since_ns = 0;  // and since when
};

}  // namespace fermata::exec
#endif
