#include "profile/subset.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "topo/topology.hpp"

namespace fermata {

namespace {

constexpr std::int32_t kUnknown = -1;

std::map<std::int32_t, std::int32_t> rows_by_cpu(const Profile& p) {
  std::map<std::int32_t, std::int32_t> rows;
  const auto n = std::min(p.topology.cpus.size(), static_cast<std::size_t>(std::min(p.o.n, p.l.n)));
  for (std::size_t i = 0; i < n; ++i)
    rows.try_emplace(p.topology.cpus[i].os_index, static_cast<std::int32_t>(i));
  return rows;
}

double dearest(const Matrix& m) { return m.v.empty() ? 0 : *std::max_element(m.v.begin(), m.v.end()); }

}  // namespace

std::vector<std::int32_t> missing_cpus(const Profile& profile, const std::vector<std::int32_t>& cpus) {
  const auto rows = rows_by_cpu(profile);
  std::vector<std::int32_t> out;
  for (const std::int32_t cpu : cpus)
    if (!rows.contains(cpu)) out.push_back(cpu);
  return out;
}

Profile subset(const Profile& profile, const std::vector<std::int32_t>& cpus) {
  const auto rows = rows_by_cpu(profile);
  const double worst_o = dearest(profile.o), worst_l = dearest(profile.l);
  const double worst_g = dearest(profile.g), worst_direct = dearest(profile.g_direct);
  const double turn = profile.yield_ns > 0 ? profile.yield_ns : profile.futex_ns;
  Profile out = profile;
  out.topology.cpus.clear();
  std::vector<std::int32_t> row;
  for (const std::int32_t cpu : cpus) {
    const auto it = rows.find(cpu);
    row.push_back(it == rows.end() ? kUnknown : it->second);
    Cpu unknown;
    unknown.os_index = cpu;
    out.topology.cpus.push_back(
        it == rows.end() ? unknown : profile.topology.cpus[static_cast<std::size_t>(it->second)]);
  }
  const auto n = static_cast<std::int32_t>(cpus.size());
  out.o = Matrix(n);
  out.l = Matrix(n);
  out.g = Matrix(profile.g.n > 0 ? n : 0);
  out.g_direct = Matrix(profile.g_direct.n > 0 ? n : 0);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      const std::int32_t a = row[static_cast<std::size_t>(i)], b = row[static_cast<std::size_t>(j)];
      const bool known = a != kUnknown && b != kUnknown;
      out.o.at(i, j) = known ? profile.o.at(a, b) : worst_o;
      out.l.at(i, j) = known ? profile.l.at(a, b) : worst_l;
      if (out.g.n > 0) out.g.at(i, j) = known ? profile.g.at(a, b) : worst_g;
      if (out.g_direct.n > 0) out.g_direct.at(i, j) = known ? profile.g_direct.at(a, b) : worst_direct;
      if (i != j && known && a == b) out.o.at(i, j) += turn;
    }
  }
  const auto missing = missing_cpus(profile, cpus);
  if (!missing.empty())
    out.remarks.push_back("not in the profile, so with its highest costs: CPUs " + cpu_list(missing));
  return out;
}

Profile extend(const Profile& known, const Topology& topology) {
  Profile out = estimate_profile(topology);
  const auto rows = rows_by_cpu(known);
  const double scale = out.one_way_ns > 0 && known.one_way_ns > 0 ? known.one_way_ns / out.one_way_ns : 1;
  const Matrix o = out.o, l = out.l;
  Matrix g(known.g.n > 0 ? o.n : 0), direct(known.g_direct.n > 0 ? o.n : 0);
  std::vector<std::int32_t> unmeasured;
  for (std::int32_t i = 0; i < o.n; ++i) {
    const auto a = rows.find(out.topology.cpus[static_cast<std::size_t>(i)].os_index);
    if (a == rows.end()) unmeasured.push_back(out.topology.cpus[static_cast<std::size_t>(i)].os_index);
    for (std::int32_t j = 0; j < o.n; ++j) {
      const auto b = rows.find(out.topology.cpus[static_cast<std::size_t>(j)].os_index);
      const bool measured = a != rows.end() && b != rows.end();
      out.o.at(i, j) = measured ? known.o.at(a->second, b->second) : o.at(i, j) * (i == j ? 1 : scale);
      out.l.at(i, j) = measured ? known.l.at(a->second, b->second) : l.at(i, j) * (i == j ? 1 : scale);
      if (g.n > 0 && measured) g.at(i, j) = known.g.at(a->second, b->second);
      if (direct.n > 0 && measured) direct.at(i, j) = known.g_direct.at(a->second, b->second);
    }
  }
  const Matrix full_o = out.o, full_l = out.l;
  const Topology full = out.topology;
  out = known;
  out.o = full_o;
  out.l = full_l;
  out.g = std::move(g);
  out.g_direct = std::move(direct);
  out.topology = full;
  if (!unmeasured.empty())
    out.remarks.push_back("estimated from the levels of the topology: CPUs " + cpu_list(unmeasured));
  return out;
}

}  // namespace fermata
