#include "topo/topology.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace fermata {

const char* name_of(Level level) {
  constexpr const char* kNames[kLevelCount] = {"self", "core",    "l2",      "l3",
                                               "numa", "package", "machine", "network"};
  const auto index = static_cast<std::size_t>(level);
  return index < kLevelCount ? kNames[index] : "?";
}

std::int32_t Topology::usable_cpus() const {
  const auto by_affinity = static_cast<double>(cpus.size());
  const double by_quota = quota_cpus > 0 ? std::ceil(quota_cpus) : by_affinity;
  return std::max<std::int32_t>(1, static_cast<std::int32_t>(std::min(by_affinity, by_quota)));
}

const Cpu* Topology::find(std::int32_t os_index) const {
  // In most topologies the CPUs are in the order of their numbers.
  const auto at = static_cast<std::size_t>(os_index);
  if (os_index >= 0 && at < cpus.size() && cpus[at].os_index == os_index) return &cpus[at];
  const auto it =
      std::find_if(cpus.begin(), cpus.end(), [&](const Cpu& c) { return c.os_index == os_index; });
  return it == cpus.end() ? nullptr : &*it;
}

Level common_level(const Cpu& a, const Cpu& b) {
  if (a.host != b.host) return Level::kNetwork;
  if (a.os_index == b.os_index) return Level::kSelf;
  if (a.core == b.core) return Level::kCore;
  if (a.l2 == b.l2) return Level::kL2;
  if (a.l3 == b.l3) return Level::kL3;
  if (a.package != b.package) return Level::kMachine;
  return a.numa == b.numa ? Level::kNuma : Level::kPackage;
}

std::string shape_of(const std::vector<Cpu>& cpus) {
  std::uint64_t hash = hash_of("");
  for (const Cpu& c : cpus) {
    for (const std::int32_t id : {c.os_index, c.core, c.l2, c.l3, c.numa, c.package, c.smt, c.host})
      hash = hash_of(std::to_string(id) + ",", hash);
  }
  return hex(hash);
}

std::string fingerprint(const Topology& topology) {
  const std::string shape = topology.shape.empty() ? shape_of(topology.cpus) : topology.shape;
  const Network& n = topology.network;
  const std::string network = n ? "\n" + form_text(n) + "\n" + costs_text(n) : "";
  return hex(hash_of("fermata-machine-1\n" + topology.model + "\n" + std::to_string(topology.cpus_total) +
                     "\n" + std::to_string(topology.line_bytes) + "\n" + shape + network));
}

Result<std::vector<std::int32_t>> parse_cpu_list(std::string_view text) {
  constexpr std::int32_t kMaxIndex = 65535;
  constexpr std::size_t kMaxCount = 65536;
  const auto bad = [&](const char* why) {
    return Error{Status::kArgument,
                 "CPU list '" + std::string(text.substr(0, 60)) + "': " + why + " (example: 0-3,8)"};
  };
  std::vector<std::int32_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::int32_t& value) {
    const auto [next, ec] = std::from_chars(at, end, value);
    if (ec != std::errc() || value < 0 || value > kMaxIndex) return false;
    at = next;
    return true;
  };
  while (true) {
    std::int32_t first = 0;
    if (!number(first)) return bad("a number from 0 to 65535 is expected");
    std::int32_t last = first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(last)) return bad("a number from 0 to 65535 is expected");
      if (last < first) return bad("a range runs backwards");
    }
    if (out.size() + static_cast<std::size_t>(last - first) + 1 > kMaxCount)
      return bad("more than 65536 CPUs");
    for (std::int32_t i = first; i <= last; ++i) out.push_back(i);
    if (at == end) return out;
    if (*at != ',') return bad("a comma is expected");
    ++at;
  }
}

std::string cpu_list(std::vector<std::int32_t> cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (!out.empty()) out += ',';
    out += std::to_string(cpus[i]);
    if (j > i) out += (j == i + 1 ? "," : "-") + std::to_string(cpus[j]);
    i = j + 1;
  }
  return out;
}

}  // namespace fermata
