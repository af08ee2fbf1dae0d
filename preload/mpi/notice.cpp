#include "notice.hpp"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "preload/common/line.hpp"

namespace fermata::preload {

Settings settings;

namespace {

constexpr const char* kNames[kKinds] = {"barrier",   "bcast",    "reduce",         "allreduce", "gather", "scatter",
                                        "allgather", "alltoall", "reduce_scatter", "scan",      "exscan"};

constexpr const char* kLibrary = "fermata-mpi";

std::uint32_t kinds_in(const char* list) {
  std::uint32_t kinds = 0;
  while (*list != '\0') {
    const std::size_t length = strcspn(list, ",");
    std::uint32_t found = strncmp(list, "all", length) == 0 && length == 3 ? (1u << kKinds) - 1 : 0;
    for (std::uint32_t k = 0; k < kKinds; ++k)
      if (strlen(kNames[k]) == length && strncmp(list, kNames[k], length) == 0) found = 1u << k;
    if (found == 0 && length != 0 && !(length == 4 && strncmp(list, "none", 4) == 0))
      say_always(
          "FERMATA_MPI_COLLECTIVES: '%.*s' is none of barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall, "
          "reduce_scatter, scan, exscan, all, none",
          static_cast<int>(length), list);
    kinds |= found;
    list += length + (list[length] == ',' ? 1 : 0);
  }
  return kinds;
}

__attribute__((constructor(102))) void read_environment() {
  settings.disabled = environment_says("FERMATA_DISABLE");
  settings.verbose = environment_says("FERMATA_VERBOSE");
  if (const char* list = secure_getenv("FERMATA_MPI_COLLECTIVES"); list != nullptr && !settings.disabled) settings.kinds = kinds_in(list);
  if (const char* hosts = secure_getenv("FERMATA_FAKE_HOSTS")) settings.fake_hosts = atoi(hosts);
}

}  // namespace

const char* name_of(Kind kind) { return kNames[kind]; }

void say(const char* format, ...) {
  if (!settings.verbose) return;
  va_list arguments;
  va_start(arguments, format);
  write_line_of(kLibrary, format, arguments);
  va_end(arguments);
}

void say_always(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line_of(kLibrary, format, arguments);
  va_end(arguments);
}

}  // namespace fermata::preload
