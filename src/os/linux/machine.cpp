// Counts this process's CPUs, and makes numbers that identify this machine and this host.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/environment.hpp"
#include "os/linux/cpu_list.hpp"
#include "os/linux/raw_file.hpp"
#include "os/os.hpp"

namespace fermata::os {
namespace {

constexpr std::size_t kWord = 8 * sizeof(unsigned long);
constexpr int kMostThreads = 4096;  // threads to look at; each costs a system call

std::uint64_t fnv1a(std::uint64_t hash, const char* text, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  return hash;
}

// Returns true for fields that are the same at each read. A frequency, for example, is not.
bool names_a_model(const char* line) {
  static constexpr const char* kFields[] = {"vendor_id", "model name", "CPU implementer",
                                            "CPU part",  "cpu\t",      "machine"};
  for (const char* field : kFields)
    if (strncmp(line, field, strlen(field)) == 0) return true;
  return false;
}

// Returns a hash of the first CPU's model and of the number of online CPUs. Reads the file once only, since a
// second read makes the kernel ask other CPUs for their frequency.
std::uint64_t machine_tag() {
  char text[1024];
  std::uint64_t hash = 14695981039346656037u;
  const long n = RawFile("/proc/cpuinfo").read(text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest))
    if (names_a_model(line)) hash = fnv1a(hash, line, strlen(line));
  const std::int32_t cpus = online_cpus();
  return fnv1a(hash, reinterpret_cast<const char*>(&cpus), sizeof cpus);
}

std::uint64_t with_file(std::uint64_t hash, const char* path, bool* read_it) {
  char text[128];
  const long n = RawFile(path).read(text, sizeof text);
  *read_it = n > 0;
  return fnv1a(hash, text, n > 0 ? static_cast<std::size_t>(n) : 0);
}

// Used if nothing identifies the host. Each process then counts as a host of its own, together with the
// children that it forks later.
std::uint64_t lonely_id() {
  static std::atomic<std::uint64_t> id{0};
  std::uint64_t known = 0;
  const std::uint64_t mine = random_number() | 1;
  // order: relaxed: only the number matters; a thread that loses the race uses the winner's number.
  return id.compare_exchange_strong(known, mine, std::memory_order_relaxed) ? mine : known;
}

}  // namespace

// Returns a hash of the kernel's boot id, the host name and the network namespace. The host name
// distinguishes machines that were restored from one image.
std::uint64_t host_id() {
  bool has_boot = false, has_name = false;
  std::uint64_t hash = with_file(14695981039346656037u, "/proc/sys/kernel/random/boot_id", &has_boot);
  hash = with_file(hash, "/proc/sys/kernel/hostname", &has_name);
  char network[64];
  const ssize_t n = readlink("/proc/self/ns/net", network, sizeof network);
  // Without /proc, two processes may be on different hosts.
  if (!has_boot || !has_name || n <= 0) return lonely_id();
  return fnv1a(hash, network, static_cast<std::size_t>(n));
}

namespace {

// Reads directory entries as the kernel writes them. Calls use(thread id) until it returns false.
template <class Use>
void each_thread(Use&& use) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    std::uint8_t type;
    char name[1];
  };
  const RawFile threads("/proc/self/task", O_RDONLY | O_DIRECTORY);
  alignas(Entry) char entries[512];
  for (long length;
       threads.fd() >= 0 && (length = syscall(SYS_getdents64, threads.fd(), entries, sizeof entries)) > 0;) {
    for (long at = 0; at < length;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      const int id = atoi(entry->name);
      if (id > 0 && !use(id)) return;
      at += entry->bytes;
    }
  }
}

}  // namespace

std::int32_t process_cpus(std::int32_t enough) {
  const ErrnoGuard guard;
  std::int32_t count = affinity_count();
  if (count >= enough) return count;
  unsigned long all[kMostCpus / kWord] = {}, one[kMostCpus / kWord];
  int looked = 0;
  each_thread([&](int id) {
    memset(one, 0, sizeof one);
    // The call fails if the thread has ended in the meantime.
    if (sched_getaffinity(id, sizeof one, reinterpret_cast<cpu_set_t*>(one)) == 0) {
      std::int32_t found = 0;
      for (std::size_t i = 0; i < kMostCpus / kWord; ++i) found += __builtin_popcountl(all[i] |= one[i]);
      if (found > count) count = found;
    }
    return ++looked < kMostThreads && count < enough;
  });
  return count;
}

std::int64_t stall_ns() { return static_cast<std::int64_t>(seconds_of(Variable::kStallSeconds) * 1e9); }

bool wants_reproducible() { return is_on(Variable::kReproducible); }

bool barrier_plan_path(std::uint32_t members, char* path, std::size_t capacity) {
  const char* directory = secure_getenv("XDG_CACHE_HOME");
  const char* inner = "";
  if (directory == nullptr || directory[0] != '/') {
    directory = secure_getenv("HOME");
    inner = "/.cache";
  }
  if (directory == nullptr || directory[0] != '/') return false;
  const int n = snprintf(path, capacity, "%s%s/fermata/rt-%016llx-barrier-%u.plan", directory, inner,
                         static_cast<unsigned long long>(machine_tag()), members);
  return n > 0 && static_cast<std::size_t>(n) < capacity;
}

}  // namespace fermata::os
