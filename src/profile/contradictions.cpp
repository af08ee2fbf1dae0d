// Virtual machines may declare a wrong topology. If the measured costs disagree with the declared domains,
// the profile gets a remark.
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "profile/measure.hpp"
#include "profile/statistics.hpp"

namespace fermata {

namespace {

constexpr double kSpread = 2.0;     // a level whose pairs differ by a larger factor is not one level
constexpr double kAlike = 1.15;     // levels whose medians differ by a smaller factor are one distance
constexpr double kInverted = 0.85;  // a farther level must not cost less than this share of a nearer one
// In ns. No server's shared L3 is this slow, but signals between packages are.
constexpr double kFarForACache = 150;

struct Measured {
  std::vector<double> costs;
  double low = 0, high = 0;
  std::pair<std::int32_t, std::int32_t> low_pair, high_pair;
};

std::map<Level, Measured> by_level(const Profile& p) {
  std::map<Level, Measured> out;
  for (std::int32_t i = 0; i < p.o.n; ++i) {
    for (std::int32_t j = i + 1; j < p.o.n; ++j) {
      const Cpu &a = p.topology.cpus[static_cast<std::size_t>(i)],
                &b = p.topology.cpus[static_cast<std::size_t>(j)];
      const double cost = p.o.at(i, j) + p.l.at(i, j);
      Measured& m = out[common_level(a, b)];
      if (m.costs.empty() || cost < m.low) m.low = cost, m.low_pair = {a.os_index, b.os_index};
      if (m.costs.empty() || cost > m.high) m.high = cost, m.high_pair = {a.os_index, b.os_index};
      m.costs.push_back(cost);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> contradictions(const Profile& p) {
  std::vector<std::string> out;
  const auto levels = by_level(p);
  const char* guest = p.topology.virtual_machine ? " of this virtual machine" : "";
  double least = 0, most = 0;
  Level before = Level::kSelf;
  double before_cost = 0;
  for (const auto& [level, m] : levels) {
    const double middle = median(m.costs);
    const bool by_way = level == Level::kNetwork && p.topology.network;  // hosts are at many distances
    if (m.low > 0 && m.high > kSpread * m.low && !by_way)
      out.push_back(
          format("the topology%s puts all pairs of level %s at one distance, but CPUs %d,%d measure %.0f ns "
                 "and %d,%d "
                 "%.0f ns: Fermata uses the measured costs",
                 guest, name_of(level), m.low_pair.first, m.low_pair.second, m.low, m.high_pair.first,
                 m.high_pair.second, m.high));
    if (before_cost > 0 && middle < kInverted * before_cost)
      out.push_back(format(
          "the topology%s puts level %s farther than %s, but signals are faster there (%.0f against %.0f "
          "ns): Fermata uses the measured costs",
          guest, name_of(level), name_of(before), middle, before_cost));
    if (p.topology.virtual_machine && level <= Level::kL3 && middle > kFarForACache)
      out.push_back(
          format("the virtual machine declares a shared %s, but a signal across it takes %.0f ns, as between "
                 "packages: "
                 "Fermata uses the measured costs",
                 name_of(level), middle));
    least = least == 0 ? middle : std::min(least, middle);
    most = std::max(most, middle);
    before = level;
    before_cost = middle;
  }
  if (levels.size() > 1 && most < kAlike * least)
    out.push_back(format(
        "the topology%s declares %zu levels, but all measure alike (%.0f to %.0f ns): the profile has one "
        "distance",
        guest, levels.size(), least, most));
  return out;
}

}  // namespace fermata
