// Lists of CPUs as --cpus takes them.
#include <algorithm>

#include "../target.hpp"
#include "topo/topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const auto read = [](std::string_view text) {
    auto cpus = parse_cpu_list(text);
    if (cpus.ok()) {  // the text does not keep order or repeats
      std::sort(cpus->begin(), cpus->end());
      cpus->erase(std::unique(cpus->begin(), cpus->end()), cpus->end());
    }
    return cpus;
  };
  return fuzz::round_trip(fuzz::text_of(data, size), read,
                          [](const std::vector<std::int32_t>& cpus) { return cpu_list(cpus); });
}
