// What the libraries need from an operating system while they work. The functions use the C library and
// system calls only. No function allocates on the C++ heap or throws.
#ifndef FERMATA_OS_OS_HPP
#define FERMATA_OS_OS_HPP

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace fermata::os {

// ---- Clock: monotonic, in ns, the same in all processes of a host (of a time namespace).
std::int64_t now_ns();

// ---- Scheduler
// Inlined, as a system call without a function: after a switch to this thread, the CPU predicts the targets
// of its returns wrongly, each for the time of some 50 instructions.
[[gnu::always_inline]] inline void yield() {
#ifdef __x86_64__
  long result = SYS_sched_yield;
  __asm__ __volatile__("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#else
  sched_yield();
#endif
}
std::uint32_t thread_id();
std::uint32_t process_id();
// How many CPUs the calling thread may run on, at least 1.
std::int32_t affinity_count();
// How many CPUs of the machine are online. If the kernel does not say it: affinity_count().
std::int32_t online_cpus();
// Finds the CPUs that the calling thread may run on. Writes the OS indices of at most `capacity` of them to
// `cpus`. Returns how many there are, even if more than `capacity`; 0: the kernel does not say it.
std::int32_t affinity_list(std::int32_t* cpus, std::int32_t capacity);
// Binds the calling thread to this CPU, which need not be in affinity_list(). kArgument: the CPU does not
// exist, is offline, or is outside the process's cpuset. kSystem: errno says why.
Status pin_thread(std::int32_t cpu);
// Moves the calling thread away from this CPU: to another core with the same level-3 cache that is not
// `taken`, as far as possible. Returns once it runs there, which takes as long as others run on that CPU.
// Afterwards it may run where it might before. A change of its affinity by others meanwhile stays, but for
// the time between two system calls. Returns false if it can't move: it may run on one CPU only, is a thread
// of real time, or the kernel or FERMATA_MOVE forbids it.
bool leave_cpu(std::int32_t cpu, const std::int32_t* taken, std::size_t count);
// Moves the calling thread to this CPU, in the same way. Returns false if it can't: see above, or it may not
// run there.
bool join_cpu(std::int32_t cpu);
// Likewise from one CPU to another that has the same level-3 cache, as far as the kernel says.
bool spread_to(std::int32_t from, std::int32_t to);
// Call it before the process's first wait: with FERMATA_MOVE=0, they do nothing.
void settle_moves();
// How many CPUs the threads of this process may run on, all together; at least 1. One pinned thread says
// nothing about the others. The search stops once it has found `enough` CPUs, or has looked at 4,096 threads.
std::int32_t process_cpus(std::int32_t enough);
// The CPU that the calling thread runs on, or ran on a moment ago; at least 0.
std::int32_t current_cpu();
// For code that takes the system's functions as a parameter.
struct ThisThread {
  static std::int32_t cpu() { return current_cpu(); }
  static std::int64_t now_ns() { return os::now_ns(); }
  static void yield() { os::yield(); }
  static bool spread(std::int32_t from, std::int32_t to) { return spread_to(from, to); }
};
// Localities: sets of CPUs that share a level-3 cache. Finds those with a CPU that the calling thread may run
// on; if the thread is bound to one CPU, those of all online CPUs. Sets domain_of[cpu] to the locality's
// number, from 0, for all CPUs of these localities, also those that the thread may not run on. All other
// entries become 0. Returns how many localities there are, at least 1. If the kernel does not say which CPUs
// share such a cache, or there are more than 64 localities, everything is one locality. Reads files below
// ROOT/sys; ROOT is empty except in tests.
std::int32_t locality_domains(std::uint8_t* domain_of, std::int32_t capacity, const char* root = "");
// The tightest CPU quota of this process's control group and of all its visible ancestors (version 2:
// cpu.max, version 1: cpu.cfs_quota_us).
struct CgroupQuota {
  double cpus = 0;  // 0: no quota
  // Of the hierarchy: 1 if a version 1 hierarchy with the cpu controller is mounted, else 2; 0: none.
  std::int32_t version = 0;
  char group[512] = {};  // directory of this process's group
};
// Reads ROOT/proc/self/cgroup, ROOT/proc/self/mountinfo and the mounts below ROOT; ROOT is empty except in
// tests.
CgroupQuota cgroup_quota(const char* root = "");
// How many of `cpus` may run at the same time: all, or the quota if it is less, rounded up; at least 1.
std::uint32_t within_quota(std::uint32_t cpus, const char* root = "");

// ---- The file with a compiled barrier for `members` unpinned threads of this machine. The planner writes it
// for libfermata-rt. Its name is rt-<machine>-barrier-<members>.plan, where <machine> is a hash of the CPU
// model and the number of online CPUs. It is in $XDG_CACHE_HOME/fermata; in $HOME/.cache/fermata if
// XDG_CACHE_HOME has no absolute path. Returns false if neither variable has one, or if the name does not
// fit.
bool barrier_plan_path(std::uint32_t members, char* path, std::size_t capacity);

// The same number in all processes that share a kernel, a host name and a network namespace. Those of one
// user can pass each other a segment (serve_fd). Without /proc, each process has a number of its own, which
// the children share that it forks after the first call.
std::uint64_t host_id();

// ---- Futex, shared between processes if `shared`. futex_sleep returns after a wake-up, after `ns` (at least
// 0) or after a signal, or if word != seen. A limit costs the kernel a timer, a tenth of a short sleep.
inline constexpr std::int64_t kNoLimit = INT64_MAX;
enum class Slept { kWoken, kTimeout, kInterrupted, kChanged };  // in this order
Slept futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t ns, bool shared);
void futex_wake_all(std::atomic<std::uint32_t>& word, bool shared);

// ---- Monitored wait: instructions with which the CPU waits for a write to a line (sync/monitor.hpp).
enum class Monitor : std::uint8_t { kNone, kUmwait, kMwaitx, kWfet, kWfe };
struct MonitorFeatures {
  bool waitpkg = false, monitorx = false;   // x86-64
  bool wfxt = false, event_stream = false;  // AArch64; the second also says that a WFE ends by itself
};
MonitorFeatures monitor_features();  // of this CPU
Monitor best_monitor(const MonitorFeatures& has);

// ---- Asymmetric fence. Each process calls register_fence before other threads rely on the fence, for each
// value of `shared` that it uses.
// Returns false if the kernel does not permit it.
bool register_fence(bool shared);
// A full fence in the calling thread and in every running thread of this process, or, if `shared`, of all
// registered processes. If the kernel refuses, a full fence in the calling thread only.
void heavy_fence(bool shared);

// ---- Memory: zeroed and page-aligned; the first touch allocates each page.
struct FileId {  // the same for all descriptors of one file
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileId&) const = default;
};
std::uint64_t length_of(std::int32_t fd);  // of a file; 0 if fd is not open
FileId identify(std::int32_t fd);          // {} if fd is not open; no file has that value

struct Segment {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::int32_t fd = -1;  // memfd of a shared segment; -1: private
};
Status create_private(std::size_t bytes, Segment* out);
// The segment is sealed against shrinking, but may grow.
Status create_shared(const char* name, std::size_t bytes, Segment* out);
// Maps the whole file. Takes over the descriptor, and closes it on error. kSystem: the file is empty, or not
// sealed against shrinking.
Status map_shared(std::int32_t fd, Segment* out);
// Unmaps what follows the first `bytes`, rounded up to kMaxPage (base/line.hpp).
void shorten(Segment* segment, std::size_t bytes);
void unmap(Segment* segment);  // also closes the descriptor
// Maps a part of a shared segment's file. That segment keeps the descriptor, and `out` has none. `offset` is
// a multiple of the page size.
Status map_part(std::int32_t fd, std::uint64_t offset, std::size_t bytes, Segment* out);
// Makes the file at least this long. Returns kMemory if that is not possible.
Status extend(std::int32_t fd, std::uint64_t bytes);
// Allocates the memory that a part of the file still lacks. Without it, a write after memory has run out
// raises SIGBUS.
Status take_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes);
// Frees the memory of a part of the file. That part then reads as zeros.
void give_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes);
// Both return false unless all bytes were read or written.
bool read_at(std::int32_t fd, std::uint64_t offset, void* out, std::size_t bytes);
bool write_at(std::int32_t fd, std::uint64_t offset, const void* bytes, std::size_t length);

// ---- Passing a descriptor to unrelated processes of the same user, through an abstract unix socket. Each
// side checks that the other side belongs to this user. Neither side waits longer than its time limit,
// whatever other users do with such sockets. kBusy: the name is taken. serve_fd() returns after `count`
// receivers have acknowledged the descriptor.
Status serve_fd(const char* name, std::int32_t fd, std::int32_t count, std::int64_t timeout_ns);
// On error, *why is a static text that says why.
Status receive_fd(const char* name, std::int64_t timeout_ns, std::int32_t* fd, const char** why);
// A random number from the kernel, for names that no other process can guess. If a sandbox forbids getrandom,
// another process could guess the number with effort.
std::uint64_t random_number();

// ---- Liveness: a POSIX record lock on one byte of the segment's file. The kernel drops the lock when the
// process ends in any way, or closes any descriptor of that file. lock_byte returns kBusy if another process
// holds the lock.
Status lock_byte(std::int32_t fd, std::uint64_t byte);
void unlock_byte(std::int32_t fd, std::uint64_t byte);
// Returns true if another process holds the lock. A process never sees its own locks.
bool byte_is_locked(std::int32_t fd, std::uint64_t byte);

// ---- Restores errno at the end of a scope, so that the calling program does not see the errors of Fermata's
// system calls.
class ErrnoGuard {
 public:
  ErrnoGuard() : saved_(errno) {}
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

// ---- Fork. One lock for each library that has these functions, for short and rare work on its tables. In a
// forked child the lock is free and the tables are consistent.
class ProcessLock {
 public:
  ProcessLock();
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
};
// Differs between a process and its forked children.
extern std::atomic<std::uint32_t> fork_count;
inline std::uint32_t fork_generation() {
  // order: relaxed: written only while the process has one thread
  return fork_count.load(std::memory_order_relaxed);
}

// ---- Single copy between processes: another process of the same user reads this process's memory directly,
// mostly by one system call.
struct ProcessMemory {
  // The value at `proof`. Process ids alone do not suffice: they differ between namespaces and are reused.
  std::uint64_t word = 0;
  const void* proof = nullptr;  // an address in the described process's memory
  std::uint32_t process = 0;
  bool operator==(const ProcessMemory&) const = default;
};
bool may_single_copy();   // false if FERMATA_CMA=0
bool must_single_copy();  // true if FERMATA_CMA=1: use single copy wherever permitted, even if it is slower
ProcessMemory own_memory();  // describes this process
// Returns false if the kernel forbids the read, the process has ended, or another process has its id. Then
// `mine` holds arbitrary bytes.
bool read_memory(const ProcessMemory& from, const void* theirs, void* mine, std::size_t bytes);

// FERMATA_REPRODUCIBLE=1: the same arguments and ranks must give the same bits in every run.
bool wants_reproducible();

// ---- Stall reports. stall_ns() is the wait in ns after which FERMATA_STALL_SECONDS asks for a report; 0:
// never. write_stderr() is not a cancellation point. It returns false if standard error does not take all of
// the text at the moment, for example a full pipe; it may have taken a part. A waiting caller then tries
// again later, with a new text.
std::int64_t stall_ns();
bool write_stderr(const char* text, std::size_t length);

}  // namespace fermata::os
#endif
