// hwloc's synthetic strings, as --synthetic takes them.
#include "../target.hpp"
#include "topo/topology.hpp"

// hwloc leaks memory when it refuses an input.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const auto topology = topology_from_synthetic(std::string(fuzz::text_of(data, size)));
  if (!topology.ok()) {
    if (topology.error().message.empty()) fuzz::fail("refused without a reason", "");
    return -1;
  }
  return fuzz::round_trip(to_text(*topology), topology_from_text,
                          [](const Topology& t) { return to_text(t); });
}
