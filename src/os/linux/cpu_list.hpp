// CPU lists as the kernel writes them, in ascending order: "0-3,8,10-11".
#ifndef FERMATA_OS_LINUX_CPU_LIST_HPP
#define FERMATA_OS_LINUX_CPU_LIST_HPP

#include <stdlib.h>

#include <cstdint>

namespace fermata::os {

inline constexpr long kMostListed = 1 << 16;
inline constexpr int kMostCpus = 8192;  // of a kernel, which refuses sets that are smaller than its own

// Calls use(cpu) for each CPU of the list, up to the first malformed entry.
template <class Use>
void each_cpu(const char* text, Use&& use) {
  long next = 0;  // ranges must ascend, so a list of any length names at most kMostListed CPUs
  while (*text >= '0' && *text <= '9') {
    char* rest = nullptr;
    const long first = strtol(text, &rest, 10);
    long last = first;
    if (*rest == '-') last = strtol(rest + 1, &rest, 10);
    if (first < next || last < first || last >= kMostListed) return;
    for (long cpu = first; cpu <= last; ++cpu) use(static_cast<std::int32_t>(cpu));
    next = last + 1;
    text = *rest == ',' ? rest + 1 : rest;
  }
}

}  // namespace fermata::os
#endif
