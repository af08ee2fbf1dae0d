// This process's CPUs, and what identifies this machine to the run-time library.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/linux/uncancellable.hpp"
#include "os/os.hpp"

namespace fermata::os {
namespace {

constexpr std::size_t kMostCpus = 8192;  // of the kernel's own limit
constexpr int kMostThreads = 4096;       // looked at: a look is a system call

std::uint64_t fnv1a(std::uint64_t hash, const char* text, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  return hash;
}

// Only what stays the same from one look to the next: not a frequency.
bool names_a_model(const char* line) {
  static constexpr const char* kFields[] = {"vendor_id", "model name", "CPU implementer", "CPU part", "cpu\t", "machine"};
  for (const char* field : kFields)
    if (strncmp(line, field, strlen(field)) == 0) return true;
  return false;
}

// Over the model lines of the first CPU; one read, so that the kernel asks no other CPU for its frequency.
std::uint64_t machine_tag() {
  char text[1024];
  std::uint64_t hash = 14695981039346656037u;
  const int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    char* rest = nullptr;
    for (char* line = strtok_r(text, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest))
      if (names_a_model(line)) hash = fnv1a(hash, line, strlen(line));
  }
  const std::int32_t cpus = online_cpus();
  return fnv1a(hash, reinterpret_cast<const char*>(&cpus), sizeof cpus);
}

std::uint64_t with_file(std::uint64_t hash, const char* path) {
  char text[128];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hash;
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  return fnv1a(hash, text, n > 0 ? static_cast<std::size_t>(n) : 0);
}

}  // namespace

// The kernel's name for its boot, and by its host name a machine that was restored from another one's image.
std::uint64_t host_id() {
  const Uncancellable guard;
  std::uint64_t hash = with_file(14695981039346656037u, "/proc/sys/kernel/random/boot_id");
  hash = with_file(hash, "/proc/sys/kernel/hostname");
  char network[64];
  const ssize_t n = readlink("/proc/self/ns/net", network, sizeof network);
  return fnv1a(hash, network, n > 0 ? static_cast<std::size_t>(n) : 0);
}

std::int32_t process_cpus(std::int32_t enough) {
  const Uncancellable guard;
  const std::int32_t own = affinity_count();
  if (own >= enough) return own;
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return own;
  cpu_set_t* all = CPU_ALLOC(kMostCpus);
  cpu_set_t* one = CPU_ALLOC(kMostCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  std::int32_t count = own;
  if (all != nullptr && one != nullptr) {
    CPU_ZERO_S(bytes, all);
    int looked = 0;
    for (const dirent* entry = readdir(threads); entry != nullptr && count < enough; entry = readdir(threads)) {
      const int id = atoi(entry->d_name);
      if (id <= 0 || ++looked > kMostThreads) continue;
      CPU_ZERO_S(bytes, one);
      if (sched_getaffinity(id, bytes, one) != 0) continue;  // it has ended meanwhile
      CPU_OR_S(bytes, all, all, one);
      const int found = CPU_COUNT_S(bytes, all);
      if (found > count) count = found;
    }
  }
  if (all != nullptr) CPU_FREE(all);
  if (one != nullptr) CPU_FREE(one);
  closedir(threads);
  return count;
}

std::int64_t stall_ns() {
  const char* text = getenv("FERMATA_STALL_SECONDS");
  const double seconds = text != nullptr ? strtod(text, nullptr) : 0;
  return seconds > 0 && seconds < 9e9 ? static_cast<std::int64_t>(seconds * 1e9) : 0;
}

bool barrier_plan_path(std::uint32_t members, char* path, std::size_t capacity) {
  const char* directory = getenv("XDG_CACHE_HOME");
  const char* inner = "";
  if (directory == nullptr || directory[0] != '/') {
    directory = getenv("HOME");
    inner = "/.cache";
  }
  if (directory == nullptr || directory[0] != '/') return false;
  const int n = snprintf(path, capacity, "%s%s/fermata/rt-%016llx-barrier-%u.plan", directory, inner,
                         static_cast<unsigned long long>(machine_tag()), members);
  return n > 0 && static_cast<std::size_t>(n) < capacity;
}

}  // namespace fermata::os
