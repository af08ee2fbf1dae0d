// fermata_team_create_mpi. After each step that can fail in one process, all processes agree on its status,
// so that all return the same status. No process leaves the call between two steps.
#include "fermata/mpi.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "calls.hpp"
#include "fermata/hosts.h"
#include "port.hpp"
#include "processes.hpp"

namespace fermata::net {
namespace {

constexpr double kSeconds = 30;  // the time that a host's processes have to attach to its segment
// Bytes of a team's plans. For longer plans, the call is made twice.
constexpr std::size_t kUsualPlans = 1 << 20;

// A team's ranks, and where they are.
struct Ranks {
  std::vector<int> first;    // of each process, and a last entry: the number of ranks
  std::vector<int> process;  // of each rank
  std::vector<int> host;     // of each rank
  std::vector<int> pinned;   // of each rank: the CPU that it has for itself, or -1

  int members() const { return first.back(); }
};

Ranks ranks_of(const Processes& processes) {
  Ranks ranks;
  ranks.first.push_back(0);
  for (std::size_t p = 0; p < processes.said.size(); ++p) {
    const auto n = static_cast<std::size_t>(processes.said[p].members);
    ranks.first.push_back(ranks.first.back() + processes.said[p].members);
    ranks.process.insert(ranks.process.end(), n, static_cast<int>(p));
    ranks.host.insert(ranks.host.end(), n, processes.host_of[p]);
    ranks.pinned.insert(ranks.pinned.end(), n, n == 1 ? processes.pinned[p] : -1);
  }
  return ranks;
}

// The first process plans, and sends the plans to all processes.
int plan(MPI_Comm comm, const fermata_team_config& config, const Processes& processes, const Ranks& ranks,
         std::vector<char>& plans) {
  std::size_t length = kUsualPlans;
  const int planned = agreed_after(comm, [&]() -> int {
    if (rank_in(comm) != 0) return FERMATA_OK;
    std::vector<const char*> names;
    for (const std::string& name : processes.names) names.push_back(name.c_str());
    int status = FERMATA_OK;
    do {
      plans.resize(length);
      status = fermata_hosts_plan(&config, ranks.host.data(), names.data(), ranks.pinned.data(), plans.data(),
                                  &length);
    } while (status == FERMATA_OK && length > plans.size());
    return status == FERMATA_OK && length > INT_MAX ? FERMATA_ERR_MEMORY : status;
  });
  if (planned != FERMATA_OK) return planned;
  int bytes = static_cast<int>(length);
  mpi.Bcast(&bytes, 1, MPI_INT, 0, comm);
  const int ready = agreed_after(comm, [&] {
    plans.resize(static_cast<std::size_t>(bytes));
    return FERMATA_OK;
  });
  if (ready != FERMATA_OK) return ready;
  return agreed(comm, mpi.Bcast(plans.data(), bytes, MPI_BYTE, 0, comm) == MPI_SUCCESS ? FERMATA_OK
                                                                                       : FERMATA_ERR_SYSTEM);
}

// One process of each host makes the host's segment, and the others attach to it.
int share_segment(MPI_Comm comm, const fermata_team_config& config, const Processes& processes,
                  const Ranks& ranks, const std::vector<char>& plans, int me, fermata_team** out) {
  const int host = processes.host_of[static_cast<std::size_t>(me)];
  const auto leader = std::find(processes.host_of.begin(), processes.host_of.end(), host);
  const bool leads = leader - processes.host_of.begin() == me;
  const auto others = static_cast<int>(std::count(leader, processes.host_of.end(), host)) - 1;
  int status = FERMATA_OK;
  if (leads && processes.hosts() == 1) {
    status = fermata_team_create(&config, out);
  } else if (leads) {
    status = fermata_team_create_planned(&config, ranks.host.data(), host, plans.data(), plans.size(), out);
  }
  status = agreed(comm, status);
  if (status != FERMATA_OK || others == 0) return status;
  const ProcessInfo& meets = processes.said[static_cast<std::size_t>(leader - processes.host_of.begin())];
  char name[96];
  std::snprintf(name, sizeof name, "mpi.%016llx%016llx", static_cast<unsigned long long>(meets.meeting[0]),
                static_cast<unsigned long long>(meets.meeting[1]));
  if (leads) return fermata_team_serve(*out, name, others, kSeconds);
  const int attached = fermata_team_attach(name, kSeconds, out);
  return attached == FERMATA_OK && fermata_team_size(*out) != config.members ? FERMATA_ERR_MISMATCH
                                                                             : attached;
}

int connect(MPI_Comm* comm, const Processes& processes, const Ranks& ranks, int members, fermata_team* team) {
  auto port = std::make_unique<MpiPort>(*comm, ranks.process, processes.host_of, members);
  const fermata_port table = port->table();
  const int status = fermata_team_connect(team, &table);
  if (status != FERMATA_OK) return status;
  (void)port.release();   // the team closes the port,
  *comm = MPI_COMM_NULL;  // and the port frees the communicator
  return status;
}

// What this process says about the team's configuration. judge() checks that all processes can go on with the
// same team.
ProcessInfo said_of(const fermata_team_config& config) {
  static std::atomic<std::uint64_t> teams{0};
  ProcessInfo mine;
  mine.members = config.size == sizeof config && config.members >= 1 ? config.members : FERMATA_ERR_ARGUMENT;
  mine.wait = config.wait;
  mine.tagged = config.tagged != 0 ? 1 : 0;
  mine.meeting[0] = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  // order: relaxed: only the number matters
  mine.meeting[1] = teams.fetch_add(1, std::memory_order_relaxed) ^ static_cast<std::uint64_t>(getpid())
                                                                        << 32;
  // A sandbox without getrandom keeps the values above.
  (void)getrandom(mine.meeting, sizeof mine.meeting, GRND_NONBLOCK);
  return mine;
}

int judge(const Processes& processes) {
  for (const ProcessInfo& place : processes.said)
    if (place.members < 0) return place.members;
  const ProcessInfo& first = processes.said[0];
  for (const ProcessInfo& place : processes.said)
    if (place.wait != first.wait || place.tagged != first.tagged) return FERMATA_ERR_MISMATCH;
  return FERMATA_OK;
}

// *comm is the team's own communicator. If the team keeps it, *comm is MPI_COMM_NULL afterwards.
int create(MPI_Comm* comm, const fermata_team_config& mine, fermata_team** out, int* first) {
  const int me = rank_in(*comm);
  const MPI_Comm all = *comm;
  Processes processes;
  if (const int bad = find_processes(all, said_of(mine), processes); bad != FERMATA_OK) return bad;
  if (const int bad = judge(processes); bad != FERMATA_OK) return bad;
  Ranks ranks;
  const int ranked = agreed_after(all, [&] {
    ranks = ranks_of(processes);
    return FERMATA_OK;
  });
  if (ranked != FERMATA_OK) return ranked;
  fermata_team_config config = mine;
  config.members = ranks.members();
  config.engine = FERMATA_PROCESSES;
  config.cpus = nullptr;
  fermata_team* team = nullptr;
  std::vector<char> plans;
  int status = processes.hosts() > 1 ? plan(all, config, processes, ranks, plans) : FERMATA_OK;
  if (status == FERMATA_OK)
    status = agreed(all, share_segment(all, config, processes, ranks, plans, me, &team));
  // After this agreement every port is open.
  if (status == FERMATA_OK && processes.hosts() > 1)
    status = agreed_after(all, [&] { return connect(comm, processes, ranks, mine.members, team); });
  if (status != FERMATA_OK) {
    fermata_team_destroy(team);
    return status;
  }
  *out = team;
  *first = ranks.first[static_cast<std::size_t>(me)];
  return FERMATA_OK;
}

}  // namespace
}  // namespace fermata::net

extern "C" int fermata_team_create_mpi(MPI_Comm comm, const fermata_team_config* config, fermata_team** out,
                                       int* first) {
  if (config == nullptr || out == nullptr || first == nullptr) return FERMATA_ERR_ARGUMENT;
  using fermata::net::mpi;
  MPI_Comm own = MPI_COMM_NULL;
  const bool copied = fermata::net::copy_bare(comm, &own) == MPI_SUCCESS;
  int status = fermata::net::agreed(comm, copied ? FERMATA_OK : FERMATA_ERR_SYSTEM);
  if (status == FERMATA_OK) status = fermata::net::create(&own, *config, out, first);
  if (own != MPI_COMM_NULL) mpi.Comm_free(&own);
  return status;
}
