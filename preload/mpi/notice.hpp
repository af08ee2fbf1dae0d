// What this library writes to stderr, mostly only with FERMATA_VERBOSE, and the settings of the environment.
#ifndef FERMATA_PRELOAD_MPI_NOTICE_HPP
#define FERMATA_PRELOAD_MPI_NOTICE_HPP

#include <cstdint>

namespace fermata::preload {

// The numbers are those of enum fermata_collective, in the order of FERMATA_MPI_COLLECTIVES. A v function is
// of the same kind as its plain function.
enum Kind : std::uint32_t {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kGather,
  kScatter,
  kAllgather,
  kReduceScatter,
  kAlltoall,
  kScan,
  kExscan,
  kKinds
};

const char* name_of(Kind kind);  // as FERMATA_MPI_COLLECTIVES has it

struct Settings {
  bool disabled = false;
  bool verbose = false;
  std::uint32_t kinds = 0;  // a bit for each kind that may be Fermata's
};
extern Settings settings;  // written at load; MPI_Init may set `disabled` later

// Writes one line. say() does so only if FERMATA_VERBOSE is on, say_always() in any case.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
void say_always(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Names the environment variables that are not known or have a bad value, if FERMATA_VERBOSE is on.
void say_wrong_variables();

}  // namespace fermata::preload
#endif
