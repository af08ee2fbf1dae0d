#include "processes.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "calls.hpp"
#include "fermata/hosts.h"
#include "os/environment.hpp"

namespace fermata::net {
namespace {

std::string siblings_of(int cpu) {
  char path[96], text[256] = {};
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return {};
  const bool read = std::fgets(text, sizeof text, file) != nullptr;
  std::fclose(file);
  return read ? text : std::string();
}

// Returns the first CPU of the core to which this process is pinned; -1: it may use several cores. Launchers
// pin a process to a core, which may be several CPUs.
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
  mpi.Comm_size(comm, &size);
  return size;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi.Comm_rank(comm, &rank);
  return rank;
}

int agreed(MPI_Comm comm, int status) {
  int worst = status;
  return mpi.Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS ? worst
                                                                                  : FERMATA_ERR_SYSTEM;
}

int find_processes(MPI_Comm comm, ProcessInfo mine, Processes& out) {
  const int me = rank_in(comm), size = size_of(comm);
  const int ready = agreed_after(comm, [&] {
    const auto fake = static_cast<int>(os::fake_host_of(me, size));
    mine.host = fermata_host_id() + static_cast<std::uint64_t>(fake > 0 ? fake : 0);
    mine.pinned = pinned_to();
    char name[65] = {};
    if (gethostname(name, sizeof name - 1) != 0) std::strcpy(name, "host");
    if (fake >= 0) std::snprintf(mine.name, sizeof mine.name, "%s.%d", name, fake);
    else std::snprintf(mine.name, sizeof mine.name, "%s", name);
    out.said.resize(static_cast<std::size_t>(size));
    return FERMATA_OK;
  });
  if (ready != FERMATA_OK) return ready;
  const int said = mpi.Allgather(&mine, sizeof mine, MPI_BYTE, out.said.data(), sizeof mine, MPI_BYTE, comm);
  return agreed_after(comm, [&] {
    if (said != MPI_SUCCESS) return FERMATA_ERR_SYSTEM;
    std::unordered_map<std::uint64_t, int> number;
    for (const ProcessInfo& place : out.said) {
      const auto [at, is_new] = number.try_emplace(place.host, out.hosts());
      if (is_new) out.names.emplace_back(place.name);
      out.host_of.push_back(at->second);
      out.pinned.push_back(place.pinned);
    }
    return FERMATA_OK;
  });
}

}  // namespace fermata::net
