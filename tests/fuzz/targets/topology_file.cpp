// Topology files in Fermata's own formats: text and JSON, as `fermata topo` prints them. XML is left out
// because hwloc's reader (2.9) trusts its input: changed bytes make it follow null pointers.
// topology_synthetic tests what Fermata does with a tree that hwloc has read.
#include "../files.hpp"
#include "topo/topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static const fuzz::Unnamed file;
  const auto read = [](std::string_view text) { return topology_from_file(file.with(text)); };
  const std::string_view text = fuzz::text_of(data, size);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '<') return -1;
  const auto topology = read(text);
  if (topology.ok()) {
    to_table(*topology);
    const auto again = read(to_json(*topology));
    if (!again.ok())
      fuzz::fail("refuses the JSON that it wrote itself", again.error().message + "\n" + to_json(*topology));
    if (again->cpus != topology->cpus) fuzz::fail("JSON of another machine", to_json(*topology));
  }
  return fuzz::round_trip(text, read, [](const Topology& t) { return to_text(t); });
}
