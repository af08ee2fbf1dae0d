// fermata_team_create_mpi. Every step that can fail at one process is agreed on before the next, so that all return the same.
#include "fermata/mpi.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "fermata/hosts.h"
#include "port.hpp"

namespace fermata::net {
namespace {

constexpr double kSeconds = 30;  // for the processes of a host to take over its segment

// Where the processes are: numbers of hosts in the order of their first process.
struct Places {
  std::vector<int> host_of;  // of each process
  std::vector<int> first;    // rank of each process, and behind the last
  int hosts = 0;
  MPI_Comm here = MPI_COMM_NULL;  // those of this host

  int members() const { return first.back(); }
};

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

// The worst status of all: errors are negative.
int agreed(MPI_Comm comm, int status) {
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
  return worst;
}

void find_hosts(MPI_Comm comm, Places& places) {
  const int me = rank_in(comm), size = size_of(comm);
  MPI_Comm really = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &really);
  const char* fake = std::getenv("FERMATA_FAKE_HOSTS");
  int hosts = fake != nullptr ? std::atoi(fake) : 0;
  if (hosts > size) hosts = size;
  MPI_Comm_split(really, hosts > 1 ? static_cast<int>(static_cast<long long>(me) * hosts / size) : 0, me, &places.here);
  MPI_Comm_free(&really);
  int leader = me;
  MPI_Bcast(&leader, 1, MPI_INT, 0, places.here);
  std::vector<int> leaders(static_cast<std::size_t>(size));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm);
  std::vector<int> number(static_cast<std::size_t>(size), -1);
  for (const int l : leaders) {
    int& n = number[static_cast<std::size_t>(l)];
    if (n < 0) n = places.hosts++;
    places.host_of.push_back(n);
  }
}

// One process of each host makes its segment, the others take it over.
int share_segment(const fermata_team_config& config, const Places& places, int me, fermata_team** out) {
  static int teams = 0;
  char name[96];
  std::snprintf(name, sizeof name, "fermata.mpi.%ld.%d.%llx", static_cast<long>(getpid()), ++teams,
                static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
  const int others = size_of(places.here) - 1;
  const bool leads = rank_in(places.here) == 0;
  int status = FERMATA_OK;
  if (leads && places.hosts == 1) {
    status = fermata_team_create(&config, out);
  } else if (leads) {
    std::vector<int> host_of_rank;
    for (std::size_t p = 0; p < places.host_of.size(); ++p)
      host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(places.first[p + 1] - places.first[p]), places.host_of[p]);
    status = fermata_team_create_hosts(&config, host_of_rank.data(), places.host_of[static_cast<std::size_t>(me)], out);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, places.here);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, places.here);
  if (status != FERMATA_OK || others == 0) return status;
  return leads ? fermata_team_serve(*out, name, others, kSeconds) : fermata_team_attach(name, kSeconds, out);
}

// The hosts' plans are the same.
int compare(MPI_Comm comm, const fermata_team* team) {
  std::uint64_t hash = 0;
  if (const int status = fermata_team_hash(team, &hash); status != FERMATA_OK) return status;
  const std::uint64_t both[2] = {hash, ~hash};
  std::uint64_t least[2] = {};
  MPI_Allreduce(both, least, 2, MPI_UINT64_T, MPI_MIN, comm);
  return least[0] == ~least[1] ? FERMATA_OK : FERMATA_ERR_MISMATCH;
}

int connect(MPI_Comm* comm, const Places& places, fermata_team* team) {
  std::vector<int> process_of;
  for (std::size_t p = 0; p < places.host_of.size(); ++p)
    process_of.insert(process_of.end(), static_cast<std::size_t>(places.first[p + 1] - places.first[p]), static_cast<int>(p));
  auto port = std::make_unique<MpiPort>(*comm, std::move(process_of), places.host_of);
  const fermata_port table = port->table();
  const int status = fermata_team_connect(team, &table);
  if (status != FERMATA_OK) return status;
  (void)port.release();    // closed with the team,
  *comm = MPI_COMM_NULL;  // and the communicator with it
  return status;
}

// With a communicator of one's own, which is MPI_COMM_NULL behind if the team keeps it.
int create(MPI_Comm* comm, const fermata_team_config& mine, fermata_team** out, int* first) {
  const int me = rank_in(*comm);
  if (const int bad = agreed(*comm, mine.size == sizeof mine && mine.members >= 1 ? FERMATA_OK : FERMATA_ERR_ARGUMENT); bad != FERMATA_OK)
    return bad;
  Places places;
  find_hosts(*comm, places);
  std::vector<int> members(places.host_of.size());
  MPI_Allgather(&mine.members, 1, MPI_INT, members.data(), 1, MPI_INT, *comm);
  places.first.push_back(0);
  for (const int n : members) places.first.push_back(places.first.back() + n);
  fermata_team_config config = mine;
  config.members = places.members();
  config.engine = FERMATA_PROCESSES;
  config.cpus = nullptr;
  fermata_team* team = nullptr;
  const MPI_Comm all = *comm;
  int status = agreed(all, share_segment(config, places, me, &team));
  MPI_Comm_free(&places.here);
  if (status == FERMATA_OK && places.hosts > 1) {
    status = agreed(all, compare(all, team));
    // Behind the agreement every port is open.
    if (status == FERMATA_OK) status = agreed(all, connect(comm, places, team));
  }
  if (status != FERMATA_OK) {
    fermata_team_destroy(team);
    return status;
  }
  *out = team;
  *first = places.first[static_cast<std::size_t>(me)];
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
