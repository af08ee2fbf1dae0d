// Clock, scheduler and affinity on Linux.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "os/environment.hpp"
#include "os/file_limit.hpp"
#include "os/linux/cpu_list.hpp"
#include "os/linux/raw_file.hpp"
#include "os/os.hpp"

namespace fermata::os {

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::uint32_t thread_id() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }
std::uint32_t process_id() { return static_cast<std::uint32_t>(getpid()); }

namespace {

template <int kCpus>
struct SetOf {
  alignas(cpu_set_t) std::byte bits[kCpus / 8] = {};
  cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(bits); }
};
using CpuSet = SetOf<kMostCpus>;  // takes 1 KiB of stack

template <class Set>
bool read_affinity(Set* out) {
  return sched_getaffinity(0, sizeof out->bits, out->set()) == 0;
}

}  // namespace

std::int32_t affinity_count() {
  CpuSet cpus;
  if (!read_affinity(&cpus)) return 1;
  const int n = CPU_COUNT_S(sizeof cpus.bits, cpus.set());
  return n > 0 ? n : 1;
}

std::int32_t online_cpus() {
  const ErrnoGuard guard;
  RawFile file("/sys/devices/system/cpu/online");
  char text[1024];
  std::int32_t n = 0;
  if (file.line(text, sizeof text)) each_cpu(text, [&n](std::int32_t) { ++n; });
  return n > 0 ? n : affinity_count();
}

std::int32_t affinity_list(std::int32_t* cpus, std::int32_t capacity) {
  CpuSet set;
  if (!read_affinity(&set)) return 0;
  std::int32_t n = 0;
  for (int i = 0; i < kMostCpus; ++i) {
    if (!CPU_ISSET_S(i, sizeof set.bits, set.set())) continue;
    if (n < capacity) cpus[n] = static_cast<std::int32_t>(i);
    ++n;
  }
  return n;
}

Status pin_thread(std::int32_t cpu) {
  if (cpu < 0 || cpu >= kMostCpus) return Status::kArgument;
  CpuSet one;
  CPU_SET_S(static_cast<std::size_t>(cpu), sizeof one.bits, one.set());
  if (sched_setaffinity(0, sizeof one.bits, one.set()) == 0) return Status::kOk;
  return errno == EINVAL ? Status::kArgument : Status::kSystem;
}

namespace {

// Threads with small stacks move, too, so this is smaller. On larger machines the kernel refuses it.
constexpr int kMovesWithin = 2048;
using MoveSet = SetOf<kMovesWithin>;

// By the system call: a program may have a sched_setaffinity() of its own.
bool bind_to(const MoveSet& cpus) {
  return syscall(SYS_sched_setaffinity, 0, sizeof cpus.bits, cpus.bits) == 0;
}
bool is_same(const MoveSet& a, const MoveSet& b) { return memcmp(a.bits, b.bits, sizeof a.bits) == 0; }

// Keeps only these CPUs, or all but these. Keeps all if that would leave none.
void keep(bool these, const MoveSet& listed, MoveSet* cpus) {
  std::byte any{0};
  const auto kept = [&](std::size_t i) { return cpus->bits[i] & (these ? listed.bits[i] : ~listed.bits[i]); };
  for (std::size_t i = 0; i < sizeof listed.bits; ++i) any |= kept(i);
  for (std::size_t i = 0; i < sizeof listed.bits && any != std::byte{0}; ++i) cpus->bits[i] = kept(i);
}
// The CPUs that the kernel lists for this one, as far as a short text goes: threads with small stacks move,
// too.
bool read_list(std::int32_t cpu, const char* name, MoveSet* listed) {
  char path[96] = "/sys/devices/system/cpu/cpu", digits[8], text[256];
  std::size_t n = 0, length = strlen(path);
  do digits[n++] = static_cast<char>('0' + cpu % 10);
  while ((cpu /= 10) > 0);
  while (n > 0) path[length++] = digits[--n];
  memcpy(path + length, name, strlen(name) + 1);
  if (!RawFile(path).line(text, sizeof text)) return false;
  *listed = {};
  each_cpu(text, [&](std::int32_t other) {
    if (other < kMovesWithin) CPU_SET_S(static_cast<std::size_t>(other), sizeof listed->bits, listed->set());
  });
  return true;
}

// A signal handler must not see the narrow affinity, or leave by a jump.
class NoSignals {
 public:
  NoSignals() { set(~std::uint64_t{0}, &before_); }
  ~NoSignals() { set(before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  static void set(std::uint64_t mask, std::uint64_t* before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof mask);
  }
  std::uint64_t before_ = 0;
};

// After a move to `others`. seen: the affinity then, which another thread may have changed, or the kernel, if
// the cpuset has changed or a CPU has gone offline.
//
// The kernel remembers which CPUs a thread has asked for, also those that its cpuset has not, and does not
// tell them. A thread that has never asked may run on all of its cpuset, also once that has grown. So whoever
// might run on all of it asks for all CPUs there are.
void restore(const MoveSet& before, MoveSet& others, const MoveSet& seen) {
  MoveSet all;
  memset(all.bits, 0xff, sizeof all.bits);
  if (!bind_to(all) || !read_affinity(&all)) {
    bind_to(before);
    return;
  }
  const bool was_moved = is_same(seen, others);
  keep(true, all, &others);
  if (was_moved || is_same(seen, others)) {
    if (!is_same(all, before)) bind_to(before);
  } else if (!is_same(all, seen)) {
    bind_to(seen);
  }
}

constinit std::atomic<bool> moves_allowed{true};

}  // namespace

// order: relaxed, here and below: every thread finds the same value
void settle_moves() { moves_allowed.store(choice_of(Variable::kMove) != 0, std::memory_order_relaxed); }

namespace {

// A thread of real time could wait for ever on the other CPU, and an idle one for very long.
bool may_move(std::int32_t cpu) {
  // order: see above
  if (!moves_allowed.load(std::memory_order_relaxed) || cpu < 0 || cpu >= kMovesWithin) return false;
  const long policy = syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_OTHER || policy == SCHED_BATCH;
}
// before: the affinity that others was chosen from.
bool move_to(MoveSet& others, const MoveSet& before) {
  MoveSet seen;
  const NoSignals no_signals;
  if (!read_affinity(&seen) || !is_same(seen, before)) return true;  // somebody has changed it just now
  if (!bind_to(others)) return false;
  if (!read_affinity(&seen)) seen = others;
  restore(before, others, seen);
  return true;
}

}  // namespace

bool leave_cpu(std::int32_t cpu, const std::int32_t* taken, std::size_t count) {
  const ErrnoGuard guard;
  if (!may_move(cpu)) return false;
  const auto at = static_cast<std::size_t>(cpu);
  MoveSet before, others, listed;
  if (!read_affinity(&before)) return false;
  others = before;
  CPU_CLR_S(at, sizeof others.bits, others.set());
  if (is_same(others, before)) return true;  // it no longer may run there
  if (CPU_COUNT_S(sizeof others.bits, others.set()) == 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (taken[i] >= 0 && taken[i] < kMovesWithin)
      CPU_SET_S(static_cast<std::size_t>(taken[i]), sizeof listed.bits, listed.set());
  keep(false, listed, &others);
  if (read_list(cpu, "/cache/index3/shared_cpu_list", &listed)) keep(true, listed, &others);
  if (read_list(cpu, "/topology/thread_siblings_list", &listed)) keep(false, listed, &others);
  return move_to(others, before);
}

bool join_cpu(std::int32_t cpu) {
  const ErrnoGuard guard;
  if (!may_move(cpu)) return false;
  const auto at = static_cast<std::size_t>(cpu);
  MoveSet before, one;
  if (!read_affinity(&before) || !CPU_ISSET_S(at, sizeof before.bits, before.set())) return false;
  CPU_SET_S(at, sizeof one.bits, one.set());
  return move_to(one, before);
}

bool spread_to(std::int32_t from, std::int32_t to) {
  const ErrnoGuard guard;
  MoveSet near;
  if (!may_move(from) || !may_move(to)) return false;
  if (read_list(from, "/cache/index3/shared_cpu_list", &near) &&
      !CPU_ISSET_S(static_cast<std::size_t>(to), sizeof near.bits, near.set()))
    return false;
  return join_cpu(to);
}

std::atomic<std::uint32_t> fork_count{1};

namespace {
pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
void before_fork() { pthread_mutex_lock(&process_lock); }
void in_parent() { pthread_mutex_unlock(&process_lock); }
void in_child() {
  fork_count.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: a forked child has one thread
  pthread_mutex_unlock(&process_lock);
}
// Runs before Fermata's first use: a later registration could be incomplete when another thread forks.
__attribute__((constructor(101))) void watch_forks() { pthread_atfork(before_fork, in_parent, in_child); }
}  // namespace

ProcessLock::ProcessLock() { pthread_mutex_lock(&process_lock); }
ProcessLock::~ProcessLock() { pthread_mutex_unlock(&process_lock); }

namespace {

// Returns true if standard error takes some bytes now and its reader still exists.
bool takes_bytes() {
  pollfd wanted{STDERR_FILENO, POLLOUT, 0};
  const timespec now{};
  return syscall(SYS_ppoll, &wanted, 1, &now, nullptr, 0) == 1 && wanted.revents == POLLOUT;
}

// With RWF_NOWAIT, a write to a full pipe fails and does not block (Linux 6.4). Older kernels get a plain
// write, which blocks if another writer fills the pipe after the caller's check. Other files that do not
// support RWF_NOWAIT get a plain write, too.
long write_now(const char* text, std::size_t length) {
  const iovec part{const_cast<char*>(text), length};
  const long n = syscall(SYS_pwritev2, STDERR_FILENO, &part, 1, -1L, -1L, RWF_NOWAIT);
  if (n >= 0 || (errno == EAGAIN && !takes_bytes())) return n;
  return syscall(SYS_write, STDERR_FILENO, text, length);
}

}  // namespace

bool write_stderr(const char* text, std::size_t length) {
  const ErrnoGuard guard;
  while (length > 0) {
    if (!takes_bytes() || is_full_file(STDERR_FILENO, length)) return false;
    const long n = write_now(text, length);
    if (n <= 0) return false;
    text += n;
    length -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace fermata::os
