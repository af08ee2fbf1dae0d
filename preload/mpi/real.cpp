#include "real.hpp"

#include <dlfcn.h>
#include <fermata/mpi.h>

namespace fermata::preload {

Real real = {};
bool transport_is_ready = false;
bool library_is_newer = false;
bool (*set_library_yields)(bool) = nullptr;
int (*add_to_progress)(int (*)()) = nullptr;
int (*remove_from_progress)(int (*)()) = nullptr;
#ifdef FERMATA_MPI_ASYNC
decltype(&PMPIX_Async_start) start_async = nullptr;
#endif

namespace {

// Searches after this library, so it never finds this library's own functions.
fermata_mpi_function of_library(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  // else dlsym would be a tail call, and would take the transport for its caller
  asm volatile("" : "+r"(found));
  return reinterpret_cast<fermata_mpi_function>(found);
}

__attribute__((constructor(101))) void find_all() {
#define FERMATA_FIND(name, ...) \
  real.name = reinterpret_cast<decltype(real.name)>(dlsym(RTLD_NEXT, "PMPI_" #name));
  FERMATA_MPI_ALL(FERMATA_FIND)
#undef FERMATA_FIND
  transport_is_ready = fermata_mpi_resolve(of_library) == FERMATA_OK;
#ifdef OPEN_MPI
  set_library_yields =
      reinterpret_cast<bool (*)(bool)>(dlsym(RTLD_NEXT, "opal_progress_set_yield_when_idle"));
  add_to_progress = reinterpret_cast<int (*)(int (*)())>(dlsym(RTLD_NEXT, "opal_progress_register_lp"));
  remove_from_progress = reinterpret_cast<int (*)(int (*)())>(dlsym(RTLD_NEXT, "opal_progress_unregister"));
#endif
#ifdef FERMATA_MPI_ASYNC
  start_async = reinterpret_cast<decltype(start_async)>(dlsym(RTLD_NEXT, "PMPIX_Async_start"));
#endif
#ifndef FERMATA_MPI_41
  library_is_newer = dlsym(RTLD_NEXT, "PMPI_Request_get_status_any") != nullptr;
#endif
}

}  // namespace
}  // namespace fermata::preload
