// Measures accesses to lines between two CPUs, and a line with several readers. docs/simulation.md has the
// model whose parameters follow from them (profile/memory.hpp).
// - Accesses: chains of reads and of adds, awaited lines, and lines next to others that were read. In each
//   round the other CPU takes the lines anew, which is not timed. A round takes 2 to 10 us.
// - Readers: from three CPUs on. A round takes one signal each way and a miss for each reader.
#include <algorithm>

#include "os/os.hpp"
#include "profile/access_loops.hpp"
#include "profile/measure.hpp"

namespace fermata {
namespace {

class NumberedLines {
 public:
  NumberedLines(const probe::SharedMemory& memory, std::int32_t line_bytes, probe::Control& control)
      : memory_(memory), line_bytes_(static_cast<std::size_t>(line_bytes)), control_(control) {}

  std::uint64_t read(int line) const {
    // order: acquire, as kSlotAwait; pairs with write
    return at(line).load(std::memory_order_acquire);
  }
  void write(int line, std::uint64_t value) const { probe::signal(at(line), value); }
  std::uint64_t add(int line, std::uint64_t value) const {
    // order: acq_rel, as kWordAdd; pairs with itself
    return at(line).fetch_add(value, std::memory_order_acq_rel);
  }
  bool await(int line, std::uint64_t value) const { return probe::await(at(line), value, control_); }
  static double now() { return static_cast<double>(os::now_ns()); }

 private:
  std::atomic<std::uint64_t>& at(int line) const {
    return *memory_.at<std::atomic<std::uint64_t>>(static_cast<std::size_t>(line) * line_bytes_);
  }

  const probe::SharedMemory& memory_;
  const std::size_t line_bytes_;
  probe::Control& control_;
};

std::size_t bytes_of(std::size_t members, std::int32_t line_bytes) {
  return static_cast<std::size_t>(probe::line_count(static_cast<int>(members))) *
         static_cast<std::size_t>(line_bytes);
}

}  // namespace

std::optional<AccessTimes> measure_accesses(std::int32_t a, std::int32_t b, std::int32_t line_bytes,
                                            bool processes, double seconds) {
  probe::SharedMemory memory(bytes_of(2, line_bytes));
  if (!memory) return std::nullopt;
  probe::Control none;
  NumberedLines fresh(memory, line_bytes, none);
  probe::make_chains([&](int line, std::uint64_t value) { fresh.write(line, value); });
  const auto role = [&](int member, const probe::Command& command, probe::Control& control) {
    NumberedLines lines(memory, line_bytes, control);
    const probe::AccessPoint point = probe::access_point(command.point);
    double ns = 0;
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      if (member != 0) {
        if (!probe::prepare_accesses(lines, point, e)) return -1.0;
        continue;
      }
      const double round = probe::time_accesses(lines, point, e);
      if (round < 0) return -1.0;
      ns += round;
    }
    return ns;
  };
  const auto ns = probe::sample_timed({{a, b}, processes, seconds}, probe::kAccessPoints, role);
  if (ns.empty()) return std::nullopt;
  return access_times(ns);
}

std::vector<double> measure_readers(const std::vector<std::int32_t>& cpus, std::int32_t line_bytes,
                                    bool processes, double seconds) {
  const std::size_t members = std::min(cpus.size(), kMostTogether);
  probe::SharedMemory memory(bytes_of(members, line_bytes));
  if (!memory || members < 3) return {};
  const auto role = [&](int member, const probe::Command& command, probe::Control& control) {
    const int readers = command.point + 1;
    if (member > readers) return 0.0;  // touches none of these lines, and awaits the next command elsewhere
    NumberedLines lines(memory, line_bytes, control);
    double ns = 0;
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      const double round = probe::publish(lines, member, readers, e);
      if (round < 0) return -1.0;
      ns += round;
    }
    return ns;
  };
  const std::vector<std::int32_t> near(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(members));
  return probe::sample_timed({near, processes, seconds}, static_cast<std::int32_t>(members) - 1, role);
}

}  // namespace fermata
