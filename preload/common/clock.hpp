// The clock of the preload libraries.
#ifndef FERMATA_PRELOAD_COMMON_CLOCK_HPP
#define FERMATA_PRELOAD_COMMON_CLOCK_HPP

#include <time.h>

#include <cstdint>

namespace fermata::preload {

inline std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace fermata::preload
#endif
