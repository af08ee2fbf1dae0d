// Layout: the map from a schedule's edges and words to addresses in a region.
#ifndef FERMATA_PLAN_LAYOUT_HPP
#define FERMATA_PLAN_LAYOUT_HPP

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Where one member-to-member transfer's slots are.
struct EdgePlace {
  std::uint32_t offset = 0;  // of slot 0
  std::uint32_t stride = 0;  // bytes between an edge's slots
  std::uint32_t door = 0;    // published lines: offset of the door that all its readers park on
  bool published = false;
};

struct Placed {
  std::vector<std::vector<EdgePlace>> edges;  // [stage][transfer]; word edges unused
  std::vector<std::uint32_t> words;           // offset of each word's line: value, then its door 8 bytes on
  std::uint32_t bytes = 0;                    // so far; credits are appended by the compiler
};

// payload: bytes per slot behind the 8-byte header. hosts: of each rank, or empty; what is published is so to those on the same one, and
// has a slot for each other. Error: kUnsupported if the region would exceed 2 GiB.
Result<Placed> place_edges(const Schedule& schedule, const Layouts& layouts, std::int32_t payload, const std::vector<std::int32_t>& hosts);

}  // namespace fermata
#endif
