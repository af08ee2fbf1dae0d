#include "profile/job.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "os/os.hpp"
#include "profile/job_parts.hpp"

namespace fermata {
namespace {

MachineId machine_id() {
  MachineId id{};
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  text.copy(id.data(), id.size() - 1);
  return id;
}

// Costs between two processes of one host, whose memory has profile p. If both are pinned: the costs between
// their CPUs. Else: the medians over all pairs of the host's CPUs.
void fill_memory(const Job& job, const Profile& p, std::int32_t a, std::int32_t b, JobCosts& costs) {
  const auto row = [&](std::int32_t process) {
    const auto& cpus = p.topology.cpus;
    const auto found = std::find_if(cpus.begin(), cpus.end(), [&](const Cpu& c) {
      return c.os_index == job.pinned[JobProcesses::at(process)];
    });
    return found == cpus.end() ? -1 : static_cast<std::int32_t>(found - cpus.begin());
  };
  const std::int32_t i = row(a), j = row(b);
  if (i >= 0 && j >= 0)
    return costs.set(a, b, p.o.at(i, j) + (i == j ? std::max(p.yield_ns, 1.0) : 0), p.l.at(i, j),
                     p.g.n > 0 ? p.g.at(i, j) : 0);
  if (p.o.n <= 1) return costs.set(a, b, p.o.at(0, 0) + p.yield_ns, p.l.at(0, 0), 0);
  const std::vector<RowPair> all = all_pairs(p.o.n);
  const LinkCost usual = median_of(p, all);
  costs.set(a, b, usual.o, usual.l, p.g.n > 0 ? median_of(p.g, all) : 0);
}

// The job's processes, as the CPUs of one topology.
Topology topology_of(const JobProcesses& processes, std::int32_t line_bytes) {
  Topology t;
  t.source = "processes of an MPI job";
  t.model = "job";
  for (const std::string& name : processes.job.names) t.model += " " + name;
  t.line_bytes = line_bytes;
  t.cpus_total = processes.n;
  // A host's domain ids are unique within the host. Here each domain gets an id that is unique in the job,
  // in order of first appearance.
  std::array<std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>, 5> ids;
  for (std::int32_t p = 0; p < processes.n; ++p) {
    const bool pinned = processes.job.pinned[JobProcesses::at(p)] >= 0;
    const Cpu& c = processes.place(p).cpu;
    const auto id = [&](std::size_t kind, std::int32_t own) {
      const std::pair key(processes.host(p), own);
      return ids[kind].try_emplace(key, static_cast<std::int32_t>(ids[kind].size())).first->second;
    };
    Cpu out;
    out.os_index = p;
    out.host = processes.host(p);
    out.core = id(0, pinned ? c.core : -1 - p);
    out.l2 = id(1, pinned ? c.l2 : -1 - p);
    out.l3 = id(2, pinned ? c.l3 : -1);
    out.numa = id(3, pinned ? c.numa : -1);
    out.package = id(4, pinned ? c.package : -1);
    t.cpus.push_back(out);
  }
  return t;
}

std::vector<std::string> remarks_of(const JobOptions& options, const JobLinks& links,
                                    const JobNetwork& network) {
  std::vector<std::string> out;
  if (options.sample) out.push_back("sampled: one pair of processes stands for all between its two hosts");
  if (links.left_out > 0)
    out.push_back("there was time for " + std::to_string(links.measured.size()) + " of " +
                  std::to_string(links.measured.size() + links.left_out) +
                  " pairs of processes: the other pairs get the costs of measured pairs");
  if (network.left_out) out.push_back("there was no time to find out whether the hosts share a network");
  return out;
}

// memory: one profile per host. The date and the costs that do not depend on a pair are those of the first
// host.
Profile assembled(const JobProcesses& processes, const std::vector<Profile>& memory, JobCosts& costs,
                  const JobLinks& links, const JobNetwork& network) {
  Profile p = memory.front();
  for (std::int32_t a = 0; a < processes.n; ++a)
    for (std::int32_t b = a + 1; b < processes.n; ++b)
      if (processes.host(a) == processes.host(b))
        fill_memory(processes.job, memory[JobProcesses::at(processes.host(a))], a, b, costs);
  const std::int32_t hosts = processes.hosts();
  p.machine = counted(static_cast<std::size_t>(hosts), "host") + ": " + memory.front().machine;
  p.topology = topology_of(processes, memory.front().topology.line_bytes);
  p.fingerprint = fingerprint(p.topology);
  p.hosts = processes.job.names;
  p.pinned = processes.job.pinned;
  p.o = std::move(costs.o);
  p.l = std::move(costs.l);
  for (std::int32_t a = 0; a < processes.n; ++a) costs.g.at(a, a) = p.g.n > 0 ? p.g.at(0, 0) : 0;
  p.g = std::move(costs.g);
  p.g_direct = Matrix(0);
  p.domains.clear();
  if (network.byte_ns > 0) p.domains.push_back({Level::kNetwork, processes.n, network.byte_ns});
  p.blocks.clear();
  p.remarks = remarks_of(processes.options, links, network);
  return p;
}

}  // namespace

bool JobProcesses::find_places(const Topology& here) {
  PlaceOfProcess mine;
  mine.machine = machine_id();
  if (const Cpu* cpu = here.find(job.pinned[at(job.rank)])) mine.cpu = *cpu;
  places_.resize(at(n));
  return job.gather(&mine, sizeof mine, places_.data());
}

std::int32_t JobProcesses::leader(std::int32_t h) const {
  return static_cast<std::int32_t>(std::find(job.hosts.begin(), job.hosts.end(), h) - job.hosts.begin());
}

void JobCosts::set(std::int32_t a, std::int32_t b, double of_o, double of_l, double of_g) {
  o.at(a, b) = o.at(b, a) = rounded(of_o);
  l.at(a, b) = l.at(b, a) = rounded(of_l);
  g.at(a, b) = g.at(b, a) = of_g;
}

Result<Profile> measure_job(const Job& job, const Topology& here, const JobOptions& options,
                            const MeasureHost& measure_host) {
  const std::int64_t begin_ns = os::now_ns();
  JobProcesses processes(job, options);
  if (!processes.find_places(here)) return job_is_lost();
  const auto memory = measure_memory(processes, here, measure_host);
  if (!memory) return memory.error();
  JobCosts costs(processes.n);
  const auto links = measure_links(processes, begin_ns, costs);
  if (!links) return links.error();
  const auto network = measure_network(processes, *links, costs);
  if (!network) return network.error();
  return assembled(processes, *memory, costs, *links, *network);
}

}  // namespace fermata
