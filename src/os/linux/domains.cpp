// Finds out which CPUs share a level-3 cache, and on which CPU the calling thread runs.
#include <sched.h>
#include <stdio.h>
#include <string.h>

// Compilers have __builtin_thread_pointer() on some architectures only.
#if __has_include(<sys/rseq.h>) && (defined(__x86_64__) || defined(__aarch64__))
#include <sys/rseq.h>
#define FERMATA_RSEQ 1
#endif

#include "os/linux/cpu_list.hpp"
#include "os/linux/raw_file.hpp"
#include "os/os.hpp"

namespace fermata::os {
namespace {

constexpr std::uint8_t kUnknown = 255;
constexpr std::int32_t kMostDomains = 64;
constexpr std::size_t kPath = 512;

// Reads one file for each domain, because the file lists all CPUs of the domain. Returns false if this
// machine has no such file.
bool place(const char* root, std::int32_t cpu, std::uint8_t domain, std::uint8_t* domain_of,
           std::int32_t capacity) {
  char path[kPath];
  char text[2048];
  snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", root,
           static_cast<int>(cpu));
  if (!RawFile(path).line(text, sizeof text)) return false;
  each_cpu(text, [&](std::int32_t other) {
    if (other < capacity) domain_of[other] = domain;
  });
  domain_of[cpu] = domain;
  return true;
}

}  // namespace

std::int32_t locality_domains(std::uint8_t* domain_of, std::int32_t capacity, const char* root) {
  memset(domain_of, kUnknown, static_cast<std::size_t>(capacity));
  std::int32_t domains = 0;
  bool told = true;
  const auto note = [&](std::int32_t cpu) {
    if (!told || cpu >= capacity || domain_of[cpu] != kUnknown) return;
    if (domains < kMostDomains && place(root, cpu, static_cast<std::uint8_t>(domains), domain_of, capacity)) {
      ++domains;
    } else {
      told = false;
    }
  };
  constexpr std::int32_t kMost = 1024;
  std::int32_t cpus[kMost];
  const std::int32_t found = affinity_list(cpus, kMost);
  if (found > 1) {
    for (std::int32_t i = 0; i < found && i < kMost; ++i) note(cpus[i]);
  } else {
    char path[kPath], text[2048];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", root);
    if (RawFile(path).line(text, sizeof text)) each_cpu(text, note);
  }
  if (!told || domains == 0) domains = 1;
  for (std::int32_t cpu = 0; cpu < capacity; ++cpu)
    if (domain_of[cpu] >= domains) domain_of[cpu] = 0;
  return domains;
}

std::int32_t current_cpu() {
#ifdef FERMATA_RSEQ
  // Since version 2.35, glibc registers the rseq area for every thread. The kernel updates its CPU number at
  // each move.
  if (__rseq_size >= 8) {
    const auto* area = reinterpret_cast<const struct rseq*>(
        static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset);
    const auto cpu = static_cast<std::int32_t>(*const_cast<const volatile std::uint32_t*>(&area->cpu_id));
    if (cpu >= 0) return cpu;
  }
#endif
  const int cpu = sched_getcpu();
  return cpu >= 0 ? cpu : 0;
}

}  // namespace fermata::os
