// The energy that the machine's CPUs and their memory use, by the RAPL counters of Linux (Intel and AMD).
// docs.kernel.org/power/powercap/powercap.html describes the files.
#ifndef FERMATA_BENCH_ENERGY_HPP
#define FERMATA_BENCH_ENERGY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fermata::bench {

// The counters of all packages, and of the memory that belongs to them. Other zones lie within these, or
// contain them.
class Energy {
 public:
  explicit Energy(const std::string& root = {});  // a folder with another /sys: for tests

  // The names of the zones that are read ("package-0, dram"), or why none can be read.
  const std::string& source() const { return source_; }
  // The joules since the last call, or since construction. Nothing if a counter cannot be read. A counter
  // begins anew at its range, which takes minutes: it may do so once between two calls.
  std::optional<double> spent();

 private:
  struct Zone {
    std::string counter;  // a file
    std::uint64_t range_uj = 0;
    std::uint64_t last_uj = 0;
  };
  std::vector<Zone> zones_;
  std::string source_;
};

}  // namespace fermata::bench
#endif
