#include "real.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include "notice.hpp"
#include "watch.hpp"

namespace fermata::preload {
namespace {

constexpr const char* kRunTimes[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

bool off = false;  // written before the program's main

__attribute__((constructor)) void read_environment() {
  off = environment_says("FERMATA_DISABLE");
  if (environment_says("FERMATA_VERBOSE")) be_verbose();
  say_loaded(off);
  if (!off) watched = stats::start("fermata-openmp", "ranked barriers, a plan for each team size");
}

}  // namespace

void* find_next(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  for (const char* library : kRunTimes) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);  // it was loaded before, and stays: nobody unloads a library with threads
    if (found != nullptr) return found;
  }
  return nullptr;
}

void* find_beside(const void* function, const char* name) {
  Dl_info where;
  if (function == nullptr || dladdr(function, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  void* handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, name);
  dlclose(handle);
  return found;
}

void no_such_function(const char* name) {
  say_always("this function was called, and no OpenMP run-time library has it", name);
  abort();
}

bool disabled() { return off; }

}  // namespace fermata::preload
