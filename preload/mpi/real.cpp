#include "real.hpp"

#include <dlfcn.h>

namespace fermata::preload {

Real real = {};

namespace {

// Behind this library in the order of search: never our own.
__attribute__((constructor(101))) void find_all() {
#define FERMATA_FIND(name) real.name = reinterpret_cast<decltype(real.name)>(dlsym(RTLD_NEXT, "PMPI_" #name));
  FERMATA_MPI_ALL(FERMATA_FIND)
#undef FERMATA_FIND
}

}  // namespace
}  // namespace fermata::preload
