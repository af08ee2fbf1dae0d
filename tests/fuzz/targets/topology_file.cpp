// Topology files: what `fermata topo` prints as text or JSON, and hwloc's XML.
#include "../files.hpp"
#include "topo/topology.hpp"

// hwloc keeps some of what it has read of an input that it refuses.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static const fuzz::Unnamed file;
  const auto read = [](std::string_view text) { return topology_from_file(file.with(text)); };
  const std::string_view text = fuzz::text_of(data, size);
  const auto topology = read(text);
  if (topology.ok()) {
    to_table(*topology);
    const auto again = read(to_json(*topology));
    if (!again.ok()) fuzz::fail("refuses the JSON that it wrote itself", again.error().message + "\n" + to_json(*topology));
    if (again->cpus != topology->cpus) fuzz::fail("JSON of another machine", to_json(*topology));
  }
  return fuzz::round_trip(text, read, [](const Topology& t) { return to_text(t); });
}
