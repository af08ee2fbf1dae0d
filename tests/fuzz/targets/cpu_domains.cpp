// The kernel's lists of CPUs: those online, and those that share a cache with each of the first four.
#include <sched.h>

#include <algorithm>
#include <vector>

#include "../files.hpp"
#include "os/linux/cpu_list.hpp"
#include "os/os.hpp"

namespace {

// A thread bound to one CPU reads about all CPUs that are online.
bool confine() {
  std::int32_t first = 0;
  return fermata::os::affinity_list(&first, 1) >= 1 && fermata::os::pin_thread(first) == fermata::Status::kOk;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static fuzz::Root root;
  static const bool confined = confine();
  if (!confined) return 0;
  const auto files = fuzz::files_of(fuzz::text_of(data, size), 5);
  root.write("sys/devices/system/cpu/online", files[0]);
  for (std::size_t cpu = 0; cpu < 4; ++cpu)
    root.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index3/shared_cpu_list",
               files[cpu + 1]);

  long before = -1, listed = 0;
  os::each_cpu(std::string(files[0]).c_str(), [&](std::int32_t cpu) {
    if (cpu <= before || cpu >= os::kMostListed)
      fuzz::fail("a CPU that cannot be there", std::to_string(cpu));
    before = cpu;
    ++listed;
  });
  std::vector<std::uint8_t> domain_of(300, 77);
  const std::int32_t domains = os::locality_domains(
      domain_of.data(), static_cast<std::int32_t>(domain_of.size()), root.path().c_str());
  if (domains < 1 || domains > 64) fuzz::fail("so many localities", std::to_string(domains));
  if (*std::max_element(domain_of.begin(), domain_of.end()) >= domains)
    fuzz::fail("a CPU in no locality", std::to_string(domains));
  return listed > 0 ? 0 : -1;
}
