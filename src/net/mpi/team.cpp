// fermata_team_create_mpi. Every step that can fail at one process is agreed on before the next, so that all return the same.
#include "fermata/mpi.h"

#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "fermata/hosts.h"
#include "places.hpp"
#include "port.hpp"

namespace fermata::net {
namespace {

constexpr double kSeconds = 30;  // for the processes of a host to take over its segment
constexpr std::size_t kUsualPlans = 1 << 20;  // bytes of a team's; more is asked for twice

// The worst status of all: errors are negative.
int agreed(MPI_Comm comm, int status) {
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
  return worst;
}

// A team's ranks, and where they are.
struct Ranks {
  std::vector<int> first;    // of each process, and behind the last
  std::vector<int> process;  // of each rank
  std::vector<int> host;     // of each rank
  std::vector<int> pinned;   // of each rank: the CPU that is its own, or -1

  int members() const { return first.back(); }
};

Ranks ranks_of(const Places& places, const std::vector<int>& members) {
  Ranks ranks;
  ranks.first.push_back(0);
  for (std::size_t p = 0; p < members.size(); ++p) {
    const auto n = static_cast<std::size_t>(members[p]);
    ranks.first.push_back(ranks.first.back() + members[p]);
    ranks.process.insert(ranks.process.end(), n, static_cast<int>(p));
    ranks.host.insert(ranks.host.end(), n, places.host_of[p]);
    ranks.pinned.insert(ranks.pinned.end(), n, n == 1 ? places.pinned[p] : -1);
  }
  return ranks;
}

// The first process plans, and all get its plans.
int plan(MPI_Comm comm, const fermata_team_config& config, const Places& places, const Ranks& ranks, std::vector<char>& plans) {
  int status = FERMATA_OK;
  unsigned long long bytes = 0;
  if (rank_in(comm) == 0) {
    std::vector<const char*> names;
    for (const std::string& name : places.names) names.push_back(name.c_str());
    std::size_t length = plans.size();
    const auto ask = [&] {
      status = fermata_hosts_plan(&config, ranks.host.data(), names.data(), ranks.pinned.data(), plans.data(), &length);
    };
    ask();
    if (status == FERMATA_OK && length > plans.size()) {
      plans.resize(length);
      ask();
    }
    bytes = length;
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, comm);
  if (status != FERMATA_OK) return status;
  MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, comm);
  if (bytes > INT_MAX) return FERMATA_ERR_MEMORY;
  plans.resize(bytes);
  MPI_Bcast(plans.data(), static_cast<int>(bytes), MPI_BYTE, 0, comm);
  return FERMATA_OK;
}

// One process of each host makes its segment, the others take it over.
int share_segment(const fermata_team_config& config, const Places& places, const Ranks& ranks, const std::vector<char>& plans, int me,
                  fermata_team** out) {
  static int teams = 0;
  char name[96];
  std::snprintf(name, sizeof name, "fermata.mpi.%ld.%d.%llx", static_cast<long>(getpid()), ++teams,
                static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
  const int others = size_of(places.here) - 1;
  const bool leads = rank_in(places.here) == 0;
  int status = FERMATA_OK;
  if (leads && places.hosts() == 1) {
    status = fermata_team_create(&config, out);
  } else if (leads) {
    const int host = places.host_of[static_cast<std::size_t>(me)];
    status = fermata_team_create_planned(&config, ranks.host.data(), host, plans.data(), plans.size(), out);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, places.here);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, places.here);
  if (status != FERMATA_OK || others == 0) return status;
  return leads ? fermata_team_serve(*out, name, others, kSeconds) : fermata_team_attach(name, kSeconds, out);
}

int connect(MPI_Comm* comm, const Places& places, const Ranks& ranks, fermata_team* team) {
  auto port = std::make_unique<MpiPort>(*comm, ranks.process, places.host_of);
  const fermata_port table = port->table();
  const int status = fermata_team_connect(team, &table);
  if (status != FERMATA_OK) return status;
  (void)port.release();    // closed with the team,
  *comm = MPI_COMM_NULL;  // and the communicator with it
  return status;
}

// What must be the same at all processes.
bool is_agreed(MPI_Comm comm, const fermata_team_config& config) {
  const int tagged = config.tagged != 0 ? 1 : 0;
  const int mine[4] = {config.wait, -config.wait, tagged, -tagged};
  int least[4] = {};
  MPI_Allreduce(mine, least, 4, MPI_INT, MPI_MIN, comm);
  return least[0] == -least[1] && least[2] == -least[3];
}

// With a communicator of one's own, which is MPI_COMM_NULL behind if the team keeps it.
int create(MPI_Comm* comm, const fermata_team_config& mine, fermata_team** out, int* first) {
  const int me = rank_in(*comm);
  if (const int bad = agreed(*comm, mine.size == sizeof mine && mine.members >= 1 ? FERMATA_OK : FERMATA_ERR_ARGUMENT); bad != FERMATA_OK)
    return bad;
  if (!is_agreed(*comm, mine)) return FERMATA_ERR_MISMATCH;
  Places places = find_places(*comm);
  std::vector<int> members(places.host_of.size());
  MPI_Allgather(&mine.members, 1, MPI_INT, members.data(), 1, MPI_INT, *comm);
  const Ranks ranks = ranks_of(places, members);
  fermata_team_config config = mine;
  config.members = ranks.members();
  config.engine = FERMATA_PROCESSES;
  config.cpus = nullptr;
  fermata_team* team = nullptr;
  const MPI_Comm all = *comm;
  std::vector<char> plans(kUsualPlans);
  int status = places.hosts() > 1 ? plan(all, config, places, ranks, plans) : FERMATA_OK;
  if (status == FERMATA_OK) status = agreed(all, share_segment(config, places, ranks, plans, me, &team));
  MPI_Comm_free(&places.here);
  // Behind the agreement every port is open.
  if (status == FERMATA_OK && places.hosts() > 1) status = agreed(all, connect(comm, places, ranks, team));
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

extern "C" int fermata_team_create_mpi(MPI_Comm comm, const fermata_team_config* config, fermata_team** out, int* first) {
  if (config == nullptr || out == nullptr || first == nullptr) return FERMATA_ERR_ARGUMENT;
  try {
    MPI_Comm own = MPI_COMM_NULL;
    if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS) return FERMATA_ERR_SYSTEM;
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    const int status = fermata::net::create(&own, *config, out, first);
    if (own != MPI_COMM_NULL) MPI_Comm_free(&own);
    return status;
  } catch (const std::bad_alloc&) {
    return FERMATA_ERR_MEMORY;
  }
}
