#include "places.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fermata::net {
namespace {

struct Place {
  int leader = 0;  // the first process of this host
  int pinned = -1;
  char name[80] = {};
};

std::string siblings_of(int cpu) {
  char path[96], text[256] = {};
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return {};
  const bool read = std::fgets(text, sizeof text, file) != nullptr;
  std::fclose(file);
  return read ? text : std::string();
}

// Launchers pin to a core, which may be several CPUs.
int pinned_to() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return -1;
  int first = -1;
  std::string core;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<unsigned>(cpu), &mask)) continue;
    if (first < 0) {
      first = cpu;
      continue;
    }
    if (core.empty()) core = siblings_of(first);
    if (core.empty() || siblings_of(cpu) != core) return -1;
  }
  return first;
}

}  // namespace

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

Places find_places(MPI_Comm comm) {
  Places places;
  const int me = rank_in(comm), size = size_of(comm);
  MPI_Comm really = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &really);
  const char* fake = std::getenv("FERMATA_FAKE_HOSTS");
  int hosts = fake != nullptr ? std::atoi(fake) : 0;
  if (hosts > size) hosts = size;
  const int pretended = hosts > 1 ? static_cast<int>(static_cast<long long>(me) * hosts / size) : 0;
  MPI_Comm_split(really, pretended, me, &places.here);
  MPI_Comm_free(&really);
  Place mine;
  mine.leader = me;
  MPI_Bcast(&mine.leader, 1, MPI_INT, 0, places.here);
  mine.pinned = pinned_to();
  char name[65] = {};
  if (gethostname(name, sizeof name - 1) != 0) std::strcpy(name, "host");
  if (hosts > 1) std::snprintf(mine.name, sizeof mine.name, "%s.%d", name, pretended);
  else std::snprintf(mine.name, sizeof mine.name, "%s", name);
  std::vector<Place> all(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  std::vector<int> number(static_cast<std::size_t>(size), -1);
  for (const Place& place : all) {
    int& n = number[static_cast<std::size_t>(place.leader)];
    if (n < 0) {
      n = places.hosts();
      places.names.emplace_back(place.name);
    }
    places.host_of.push_back(n);
    places.pinned.push_back(place.pinned);
  }
  return places;
}

}  // namespace fermata::net
