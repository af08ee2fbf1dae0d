#include "sim/clock.hpp"

#include <algorithm>

#include "sim/machine.hpp"

namespace fermata::sim {

ClockSplit split_of(double ns, double ns_at_clock, double clock) {
  const double cycles = (ns - ns_at_clock) / (1 - 1 / clock);
  return {cycles, ns - cycles};
}

Profile at_clock(Profile profile, double clock, double work_ns) {
  bool near = false;  // the nearest pair of CPUs shares a cache
  const double saved = 1 - 1 / clock;
  const auto rows = std::min(profile.o.n, static_cast<std::int32_t>(profile.topology.cpus.size()));
  for (std::int32_t i = 0; i < rows; ++i)
    for (std::int32_t j = 0; j < rows; ++j) {
      const Level level = common_level(profile.topology.cpus[static_cast<std::size_t>(i)],
                                       profile.topology.cpus[static_cast<std::size_t>(j)]);
      double &o = profile.o.at(i, j), &l = profile.l.at(i, j);
      if (level <= Level::kL3) {
        o /= clock;
        l /= clock;
        near = near || i != j;
      } else if (level < Level::kNetwork) {
        o = std::max(0.0, o - (o + l - without_work(o + l, work_ns)) * saved);
      }
    }
  if (profile.memory.work_ns) *profile.memory.work_ns /= clock;
  if (!profile.word_add_ns.empty()) profile.word_add_ns[0] /= clock;  // one member alone
  if (!near) return profile;
  for (double* const ns :
       {&profile.one_way_ns, &profile.awaited_ns, &profile.reader_ns, &profile.word_read_ns})
    *ns /= clock;
  for (std::size_t k = 1; k < profile.word_add_ns.size(); ++k) profile.word_add_ns[k] /= clock;
  return profile;
}

}  // namespace fermata::sim
