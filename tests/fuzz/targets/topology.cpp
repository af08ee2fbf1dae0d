// The text that `fermata topo` prints and --topology reads.
#include "topo/topology.hpp"
#include "../target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  return fuzz::round_trip(fuzz::text_of(data, size), topology_from_text,
                          [](const Topology& topology) { return to_text(topology); });
}
