#include "mpi_job.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>

#include "commands.hpp"

namespace fermata::tool {
namespace {

std::string transport_of(const std::string& mpi) {
  const std::string file = fmt::format("libfermata-net-{}.so." FERMATA_ABI_VERSION, mpi);
  const std::string library = library_beside("src/net/mpi", file);
  if (library.empty()) throw CommandError(file + " is not installed beside this tool");
  return library;
}

}  // namespace

std::string launched_by() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "openmpi";
  if (std::getenv("PMI_RANK") != nullptr && std::getenv("PMI_FD") != nullptr) return "mpich";
  return "";
}

MpiJob::MpiJob() {
  const std::string mpi = launched_by();
  if (mpi.empty())
    throw CommandError("--mpi: no MPI launcher has started this; use mpirun ... fermata profile --mpi");
  void* const library = dlopen(transport_of(mpi).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw CommandError(dlerror());
  const auto open = reinterpret_cast<decltype(&fermata_mpi_job)>(dlsym(library, "fermata_mpi_job"));
  if (open == nullptr) throw CommandError(dlerror());
  if (const int status = open(&table_); status != FERMATA_OK)
    throw CommandError(fmt::format("cannot join the MPI job: {}", fermata_status_string(status)));
  job_.rank = table_.rank;
  job_.hosts.assign(table_.hosts, table_.hosts + table_.processes);
  job_.pinned.assign(table_.pinned, table_.pinned + table_.processes);
  for (const int host : job_.hosts)
    if (static_cast<std::size_t>(host) == job_.names.size()) job_.names.emplace_back(table_.names[host]);
  job_.gather = [table = &table_](const void* mine, std::size_t bytes, void* all) {
    return table->gather(mine, bytes, all) == FERMATA_OK;
  };
  job_.time = table_.time;
  job_.rest = table_.rest;
}

MpiJob::~MpiJob() { table_.end(); }

}  // namespace fermata::tool
