// Maps a schedule's edges and words to addresses in a region.
#ifndef FERMATA_PLAN_LAYOUT_HPP
#define FERMATA_PLAN_LAYOUT_HPP

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// The place of the slots of one transfer between members.
struct EdgePlace {
  std::uint32_t offset = 0;  // of slot 0
  std::uint32_t stride = 0;  // bytes between an edge's slots
  std::uint32_t door = 0;    // of a published line: offset of the doorbell on which all its readers park
  bool published = false;
};

struct Placed {
  std::vector<std::vector<EdgePlace>> edges;  // [stage][transfer]; unused for edges of words
  std::vector<std::uint32_t> words;           // offset of each word's line; its doorbell is 8 bytes further
  std::uint32_t bytes = 0;                    // so far; the compiler appends the credits
};

// payload: bytes per slot after the 8-byte header. hosts: the host of each rank; empty: all are on one host.
// A published line serves two or more receivers on the sender's host that get the same value; each other
// receiver has slots of its own. Errors: kArgument for an invalid layout; kUnsupported for a payload that is
// not 0..56 bytes, or if the region would exceed 2 GiB.
Result<Placed> place_edges(const Schedule& schedule, const Layouts& layouts, std::int32_t payload,
                           const std::vector<std::int32_t>& hosts);

}  // namespace fermata
#endif
