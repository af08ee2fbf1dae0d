// What a member stores about calls that the other members make with another length (exec/adapt.cpp).
#ifndef FERMATA_EXEC_DIFFERING_HPP
#define FERMATA_EXEC_DIFFERING_HPP

#include <cstdint>

#include "exec/call.hpp"
#include "exec/team_memory.hpp"

namespace fermata::exec {

// A retracted line call, as its caller made it.
struct Split {
  Call call;
  void* out = nullptr;
  std::uint64_t in[kPayloadWords] = {};
};

// A request that is carried out as a line call, with a cursor of its own.
struct Ride {
  TeamCursor cursor;
  TeamMemory memory;
  Carried carried;
  Load load = Load::kNothing;
  std::uint64_t bytes = 0;
  alignas(16) std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
};

// The last call that met another call's data before its own, and when it first met them.
struct Overtaken {
  std::uint64_t number = 0;
  std::int64_t since_ns = 0;
};

struct Differing {
  struct Own {
    std::uint64_t number = 0, call = 0;  // packed
  };
  Own own;                  // the last call in which others may not wait; no other member can write here
  std::uint64_t bytes = 0;  // the others' block size in the retracted call
  bool on_line = false;     // the others make the retracted call as a line call
  // the retracted call is repeated unchanged, after a request that the others make as a line call
  bool behind = false;
  bool departs = false;                      // this member is in depart()
  bool splits = false;                       // the outstanding line call is split-phase and has data
  bool again = false;                        // `split` runs again as a line call,
  std::uint64_t result[kPayloadWords] = {};  // and its result goes here
  Split split;
  Ride* ride = nullptr;  // of the first ordered request, if it is carried out as a line call
  // the last call that was retracted and repeated, blocking, with the others' length
  std::uint64_t adapted = 0;
  // the last call that was settled to the others' length: each call is settled only once
  std::uint64_t settled = 0;
  std::uint64_t said = 0;                // the last call that this member told the other hosts
  std::uint32_t tests = 0;               // tests of line calls that were not over
  std::uint64_t tested = 0;              // the last call that was tested,
  std::int64_t since_ns = 0;             // and the time of its first test or last check
  Overtaken overtaken, first_overtaken;  // for the present call, and for the first request
};

}  // namespace fermata::exec
#endif
