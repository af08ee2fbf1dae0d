// The memory of a job's hosts. A host's first process measures it.
#include <algorithm>
#include <map>
#include <utility>

#include "profile/job_parts.hpp"

namespace fermata {
namespace {

// The share of the time budget for memory.
constexpr double kMemoryShare = 0.3;

struct TurnOfHost {
  std::int32_t mine = 0;   // the index of the host among the hosts that share its machine
  std::int32_t turns = 1;  // the largest number of hosts that share one machine
};

TurnOfHost turn_of(const JobProcesses& processes, std::int32_t h) {
  std::map<MachineId, std::int32_t> count;
  TurnOfHost turn;
  for (std::int32_t g = 0; g < processes.hosts(); ++g) {
    std::int32_t& n = count[processes.place(processes.leader(g)).machine];
    if (g == h) turn.mine = n;
    turn.turns = std::max(turn.turns, ++n);
  }
  return turn;
}

// The CPUs to which the processes of host h are pinned. If one of them is not pinned: all CPUs that this
// process may use.
Topology machine_of(const JobProcesses& processes, const Topology& here, std::int32_t h) {
  Topology t = here;
  std::vector<Cpu> pinned;
  for (std::int32_t p = 0; p < processes.n; ++p) {
    if (processes.host(p) != h) continue;
    if (processes.job.pinned[JobProcesses::at(p)] < 0) return t;
    const Cpu& cpu = processes.place(p).cpu;
    if (std::find(pinned.begin(), pinned.end(), cpu) == pinned.end()) pinned.push_back(cpu);
  }
  t.cpus = std::move(pinned);
  return t;
}

// Gives every process the memory profile of every host. found: of this process's host, if this process has
// measured it.
Result<std::vector<Profile>> exchange(const JobProcesses& processes, const Result<Profile>& found) {
  const std::string text = found ? to_json(*found) : std::string();
  std::vector<std::int64_t> lengths(JobProcesses::at(processes.n));
  const auto length = static_cast<std::int64_t>(text.size());
  if (!processes.job.gather(&length, sizeof length, lengths.data())) return job_is_lost();
  const auto most = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  if (most == 0)
    return Error{Status::kSystem,
                 "no host could measure its memory: " + (found ? std::string() : found.error().message)};
  std::string padded = text, all(most * lengths.size(), ' ');
  padded.resize(most, ' ');
  if (!processes.job.gather(padded.data(), most, all.data())) return job_is_lost();
  std::vector<Profile> memory;
  std::map<MachineId, std::size_t> known;
  for (std::int32_t g = 0; g < processes.hosts(); ++g) {
    const std::size_t p = JobProcesses::at(processes.leader(g));
    const MachineId& machine = processes.place(processes.leader(g)).machine;
    if (lengths[p] == 0) {  // takes the result of a host of the same machine, else of the first host
      if (memory.empty()) return Error{Status::kSystem, "the first host could not measure its memory"};
      memory.push_back(memory[known.contains(machine) ? known[machine] : 0]);
      continue;
    }
    auto read =
        profile_from_json(std::string_view(all).substr(p * most, static_cast<std::size_t>(lengths[p])));
    if (!read) return read.error();
    known.try_emplace(machine, memory.size());
    memory.push_back(*std::move(read));
  }
  return memory;
}

}  // namespace

Result<std::vector<Profile>> measure_memory(const JobProcesses& processes, const Topology& here,
                                            const MeasureHost& measure) {
  const JobOptions& options = processes.options;
  const std::int32_t h = processes.host(processes.job.rank);
  const auto [mine, turns] = turn_of(processes, h);
  Result<Profile> found = Error{Status::kSystem, ""};
  for (std::int32_t turn = 0; turn < turns; ++turn) {
    processes.report(0.3 * turn / turns, "memory");
    // With options.sample, the result of the machine's first host counts for this host, too.
    const bool taken = options.sample && mine > 0;
    if (turn == mine && processes.leader(h) == processes.job.rank && !taken) {
      ProfileOptions how;
      how.processes = true;
      how.sample = options.sample;
      how.seconds_per_pair = options.seconds_per_pair;
      const Topology machine = machine_of(processes, here, h);
      if (options.seconds > 0) {
        how.seconds = options.seconds * kMemoryShare / turns;
        how.seconds_per_pair = share_of_pair(how.seconds, options.sample ? 4 : machine.cpus.size());
      }
      found = measure(machine, how);
    }
    processes.job.rest();
  }
  return exchange(processes, found);
}

}  // namespace fermata
