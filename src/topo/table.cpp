// Prints a topology for people: one line per domain, CPUs as ranges.
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "topo/topology.hpp"

namespace fermata {

namespace {

constexpr std::size_t kColumns = 100;

std::size_t distinct(const std::vector<Cpu>& cpus, std::int32_t Cpu::* member) {
  std::set<std::int32_t> ids;
  for (const Cpu& c : cpus) ids.insert(c.*member);
  return ids.size();
}

std::string fit(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 3) + "...";
  return text;
}

std::string summary(const Topology& t) {
  const std::size_t cores = distinct(t.cpus, &Cpu::core), l2 = distinct(t.cpus, &Cpu::l2);
  const std::size_t l3 = distinct(t.cpus, &Cpu::l3), hosts = distinct(t.cpus, &Cpu::host);
  std::string out = hosts > 1 ? counted(hosts, "host") + ", " : "";
  out += counted(distinct(t.cpus, &Cpu::package), "package") + ", ";
  out += counted(distinct(t.cpus, &Cpu::numa), "NUMA node") + ", ";
  if (l3 < l2 || l3 == 1) out += (l3 == 1 ? "1 shared L3" : counted(l3, "shared L3 domain")) + ", ";
  if (l2 < cores) out += (l2 == 1 ? "1 shared L2" : counted(l2, "shared L2 domain")) + ", ";
  out += counted(cores, "core") + ", " + counted(t.cpus.size(), "CPU");
  if (t.cpus.size() > cores) out += " (SMT)";
  return out;
}

// Groups CPUs by host, package and NUMA node, and also by L3 if several cores share one.
using Key = std::array<std::int32_t, 4>;
std::map<Key, std::vector<Cpu>> domains(const Topology& t) {
  const std::size_t cores = distinct(t.cpus, &Cpu::core), l3 = distinct(t.cpus, &Cpu::l3);
  const bool by_l3 = l3 < cores || cores == 1;
  std::map<Key, std::vector<Cpu>> out;
  for (const Cpu& c : t.cpus) out[{c.host, c.package, c.numa, by_l3 ? c.l3 : -1}].push_back(c);
  return out;
}

std::string row(const Key& key, const std::vector<Cpu>& cpus) {
  const std::size_t cores = distinct(cpus, &Cpu::core), l2 = distinct(cpus, &Cpu::l2);
  std::vector<std::int32_t> indexes;
  for (const Cpu& c : cpus) indexes.push_back(c.os_index);
  const std::string l3 = key[3] < 0 ? "-" : std::to_string(key[3]);
  return format("  %5d %8d %5d %5s %6zu %10zu %6zu  ", key[0], key[1], key[2], l3.c_str(), cores, l2,
                cpus.size()) +
         fit(cpu_list(indexes), kColumns - 58) + "\n";
}

std::string trim_number(double value) {
  std::string out = format("%.2f", value);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace

std::string to_table(const Topology& t) {
  std::vector<std::int32_t> indexes;
  for (const Cpu& c : t.cpus) indexes.push_back(c.os_index);
  std::string title = t.model.empty() ? "CPU model unknown" : t.model;
  if (t.virtual_machine) title += " (virtual machine)";
  if (!t.kernel.empty()) title += ", kernel " + t.kernel;
  std::string out = fit(title, kColumns) + "\n";
  out += fit("source: " + t.source, kColumns) + "\n";
  out += fit(summary(t), kColumns) + ", lines of " + std::to_string(t.line_bytes) + " bytes\n";
  const std::string of = std::to_string(t.cpus.size()) + " of " + std::to_string(t.cpus_total);
  out += "CPUs this process may use: " + of + " (" + fit(cpu_list(indexes), 40) + "); ";
  out += t.quota_cpus > 0 ? "cgroup quota " + trim_number(t.quota_cpus) + " CPUs"
                          : std::string("no cgroup quota");
  out += "\nmembers that can run at once: " + std::to_string(t.usable_cpus()) + "\n";
  if (t.network)
    out += fit("network: " + describe(t.network), kColumns) + "\nlinks: " + costs_text(t.network) + "\n";
  out += "fingerprint: " + fingerprint(t) + "\n\n";
  out += "   host  package  NUMA    L3  cores  L2 groups   CPUs  which\n";
  const auto groups = domains(t);
  std::size_t shown = 0;
  for (const auto& [key, cpus] : groups) {
    if (++shown > 64) {
      out += "  ... and " + std::to_string(groups.size() - 64) + " more\n";
      break;
    }
    out += row(key, cpus);
  }
  return out;
}

}  // namespace fermata
