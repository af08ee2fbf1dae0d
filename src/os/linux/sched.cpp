// Clock, scheduler and affinity on Linux.
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "os/os.hpp"

namespace fermata::os {

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void yield() { sched_yield(); }
std::uint32_t thread_id() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }
std::uint32_t process_id() { return static_cast<std::uint32_t>(getpid()); }

namespace {

// The kernel refuses sets smaller than its own: grow until it is content.
struct CpuSet {
  cpu_set_t* set = nullptr;
  std::size_t bytes = 0;
  ~CpuSet() {
    if (set != nullptr) CPU_FREE(set);
  }
};

bool read_affinity(CpuSet* out) {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    out->set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (out->set == nullptr) return false;
    out->bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    CPU_ZERO_S(out->bytes, out->set);
    if (sched_getaffinity(0, out->bytes, out->set) == 0) return true;
    CPU_FREE(out->set);
    out->set = nullptr;
    if (errno != EINVAL) return false;
  }
  return false;
}

}  // namespace

std::int32_t affinity_count() {
  CpuSet cpus;
  if (!read_affinity(&cpus)) return 1;
  const int n = CPU_COUNT_S(cpus.bytes, cpus.set);
  return n > 0 ? n : 1;
}

std::int32_t online_cpus() {
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? static_cast<std::int32_t>(n) : 1;
}

std::int32_t affinity_list(std::int32_t* cpus, std::int32_t capacity) {
  CpuSet set;
  if (!read_affinity(&set)) return 0;
  std::int32_t n = 0;
  for (std::size_t i = 0; i < set.bytes * 8; ++i) {
    if (!CPU_ISSET_S(i, set.bytes, set.set)) continue;
    if (n < capacity) cpus[n] = static_cast<std::int32_t>(i);
    ++n;
  }
  return n;
}

Status pin_thread(std::int32_t cpu) {
  if (cpu < 0 || cpu >= (1 << 20)) return Status::kArgument;
  CpuSet one;
  one.set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  if (one.set == nullptr) return Status::kMemory;
  one.bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(one.bytes, one.set);
  CPU_SET_S(static_cast<std::size_t>(cpu), one.bytes, one.set);
  if (sched_setaffinity(0, one.bytes, one.set) == 0) return Status::kOk;
  return errno == EINVAL ? Status::kArgument : Status::kSystem;
}

std::atomic<std::uint32_t> fork_count{1};

namespace {
std::atomic<std::uint32_t> hook_installed{0};
pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
void before_fork() { pthread_mutex_lock(&process_lock); }
void in_parent() { pthread_mutex_unlock(&process_lock); }
void in_child() {
  fork_count.fetch_add(1, std::memory_order_relaxed);  // order: a forked child has one thread
  pthread_mutex_unlock(&process_lock);
}
}  // namespace

ProcessLock::ProcessLock() { pthread_mutex_lock(&process_lock); }
ProcessLock::~ProcessLock() { pthread_mutex_unlock(&process_lock); }

void install_fork_hook() {
  // order: relaxed; who comes second needs nothing from who came first
  if (hook_installed.exchange(1, std::memory_order_relaxed) == 0) pthread_atfork(before_fork, in_parent, in_child);
}

void write_stderr(const char* text, std::size_t length) {
  while (length > 0) {
    const ssize_t n = write(STDERR_FILENO, text, length);
    if (n <= 0) return;
    text += n;
    length -= static_cast<std::size_t>(n);
  }
}

}  // namespace fermata::os
