#include "calls.hpp"

#include "fermata/mpi.h"

namespace fermata::net {

constinit Calls mpi;

}  // namespace fermata::net

extern "C" int fermata_mpi_resolve(fermata_mpi_function (*find)(const char* name)) {
  if (find == nullptr) return FERMATA_ERR_ARGUMENT;
  fermata::net::Calls found;
  bool all = true;
#define FERMATA_FIND(name)                                                  \
  found.name = reinterpret_cast<decltype(found.name)>(find("PMPI_" #name)); \
  all = all && found.name != nullptr;
  FERMATA_NET_MPI_CALLS(FERMATA_FIND)
#undef FERMATA_FIND
  if (!all) return FERMATA_ERR_SYSTEM;
  fermata::net::mpi = found;
  return FERMATA_OK;
}
