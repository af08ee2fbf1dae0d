// What Fermata asks of an operating system. libc only; no function allocates on the C++ heap or throws.
#ifndef FERMATA_OS_OS_HPP
#define FERMATA_OS_OS_HPP

#include <errno.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace fermata::os {

// ---- Clock: monotonic, ns; the same in all processes of a host.
std::int64_t now_ns();

// ---- Scheduler
void yield();
std::uint32_t thread_id();
std::uint32_t process_id();
// CPUs that the calling thread may run on, at least 1.
std::int32_t affinity_count();
// CPUs of the machine that are switched on.
std::int32_t online_cpus();
// Copies at most `capacity` OS indices of them into cpus; returns how many there are.
std::int32_t affinity_list(std::int32_t* cpus, std::int32_t capacity);
Status pin_thread(std::int32_t cpu);
// CPUs that any thread of this process may run on (one pinned thread says nothing about the others); looking stops once there are
// `enough`. At least 1.
std::int32_t process_cpus(std::int32_t enough);
// The CPU that the calling thread runs on, or did a moment ago; at least 0.
std::int32_t current_cpu();
// Localities: CPUs that share a last-level cache. domain_of[cpu] for cpu < capacity becomes the number, from 0, of the locality of each
// CPU that the calling thread may run on (of each that is switched on, if that is one CPU alone), and 0 for others. Returns how many
// there are, at least 1; one where the machine does not say. Reads below ROOT/sys, which is empty but in tests.
std::int32_t locality_domains(std::uint8_t* domain_of, std::int32_t capacity, const char* root = "");
// The tightest CPU quota of this process's control group and all of its ancestors that are visible here (version 2 cpu.max,
// version 1 cpu.cfs_quota_us).
struct CgroupQuota {
  double cpus = 0;           // 0: none
  std::int32_t version = 0;  // of the hierarchy that holds the cpu controller; 0: none found
  char group[512] = {};      // directory of this process's group
};
// Reads ROOT/proc/self/cgroup, ROOT/proc/self/mountinfo and the mounts below ROOT, which is empty but in tests.
CgroupQuota cgroup_quota(const char* root = "");
// How many of `cpus` the quota lets run at a time: a part of a CPU does not count, at least 1.
std::uint32_t within_quota(std::uint32_t cpus, const char* root = "");

// ---- Where the planner leaves a compiled barrier for `members` unpinned threads of this machine, for libfermata-rt:
// $XDG_CACHE_HOME/fermata/rt-<machine>-barrier-<members>.plan, the machine being its CPU's model and the CPUs switched on.
// False: no cache directory (HOME, XDG_CACHE_HOME), or the name does not fit.
bool barrier_plan_path(std::uint32_t members, char* path, std::size_t capacity);

// The same in processes that can hand each other a segment (serve_fd): of one kernel, and of one network namespace there.
std::uint64_t host_id();

// ---- Futex: shared between processes if `shared`. sleep returns on a wake-up, a signal, a time-out or if *word != seen.
enum class Slept { kWoken, kTimeout, kInterrupted, kChanged };
Slept futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t ns, bool shared);
void futex_wake_all(std::atomic<std::uint32_t>& word, bool shared);

// ---- Asymmetric fence. register_fence: once per process before others rely on it; false: not permitted here.
bool register_fence(bool shared);
// A full fence on every running thread that is registered, and here. Falls back to a local full fence.
void heavy_fence(bool shared);

// ---- Memory: zeroed, page-aligned, grown lazily by first touch.
struct FileId {  // the same for all descriptors of one file
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileId&) const = default;
};
std::uint64_t length_of(std::int32_t fd);  // 0 for what is no file
FileId identify(std::int32_t fd);          // {} for what is no file; no file has that

struct Segment {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::int32_t fd = -1;  // memfd of a shared segment; -1: private
};
Status create_private(std::size_t bytes, Segment* out);
Status create_shared(const char* name, std::size_t bytes, Segment* out);  // sealed against shrinking; it may grow
Status map_shared(std::int32_t fd, Segment* out);                         // takes the descriptor over; size from it
void shorten(Segment* segment, std::size_t bytes);                        // unmaps what is behind
void unmap(Segment* segment);                                             // also closes the descriptor
// A part of the file of a shared segment, which keeps the descriptor. `offset`: of a page.
Status map_part(std::int32_t fd, std::uint64_t offset, std::size_t bytes, Segment* out);
Status extend(std::int32_t fd, std::uint64_t bytes);  // it is at least so long from now on; kMemory: it may not be
// Memory for a part of the file, as far as there is none yet: without it a write where memory has run out is a SIGBUS.
Status take_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes);
void give_memory(std::int32_t fd, std::uint64_t offset, std::uint64_t bytes);  // it is zeroed then
bool read_at(std::int32_t fd, std::uint64_t offset, void* out, std::size_t bytes);
bool write_at(std::int32_t fd, std::uint64_t offset, const void* bytes, std::size_t length);

// ---- Passing a descriptor to unrelated processes of the same user through an abstract unix socket. Both sides check that the other one
// is of this user, and neither waits beyond its time, whatever other users do with such sockets. kBusy: the name is taken.
Status serve_fd(const char* name, std::int32_t fd, std::int32_t count, std::int64_t timeout_ns);
Status receive_fd(const char* name, std::int64_t timeout_ns, std::int32_t* fd, const char** why);  // why: static text on error
// From the kernel's generator, for names that nobody else can guess.
std::uint64_t random_number();

// ---- Liveness: a POSIX record lock on one byte of the segment's descriptor, dropped by the kernel when the process
// ends, however it ends, or closes any descriptor of that file. lock_byte: kBusy if another process has it.
Status lock_byte(std::int32_t fd, std::uint64_t byte);
void unlock_byte(std::int32_t fd, std::uint64_t byte);
// Is it held by another process? (A process never sees its own locks.)
bool byte_is_locked(std::int32_t fd, std::uint64_t byte);

// ---- For a scope: what the kernel says in it is not for the program that called us.
class ErrnoKept {
 public:
  ErrnoKept() : saved_(errno) {}
  ~ErrnoKept() { errno = saved_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int saved_;
};

// ---- Fork: a number that differs between a process and its forked children.
// One lock per process, for short and rare work on tables of the whole process: a forked child finds it free, and them whole.
class ProcessLock {
 public:
  ProcessLock();
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
};
extern std::atomic<std::uint32_t> fork_count;
inline std::uint32_t fork_generation() {
  return fork_count.load(std::memory_order_relaxed);  // order: written only while the process has one thread
}

// ---- Memory lent to another process of the same user, which copies out of it by one call of the kernel.
struct Lender {
  std::uint64_t word = 0;       // what lies at `proof`: numbers of processes are not the same everywhere, nor for ever
  const void* proof = nullptr;  // in the lender's memory
  std::uint32_t process = 0;
  bool operator==(const Lender&) const = default;
};
bool may_lend();   // false: the environment's FERMATA_CMA=0
bool must_lend();  // true: FERMATA_CMA=1: wherever it is permitted, faster or not
Lender lend();     // this process
// False: not permitted, or it is gone, or another one; then `mine` holds anything.
bool read_lent(const Lender& from, const void* theirs, void* mine, std::size_t bytes);

// FERMATA_REPRODUCIBLE=1: the same arguments and ranks are to give the same bits in every run.
bool wants_reproducible();

// ---- Stall reports: after how long a wait FERMATA_STALL_SECONDS wants one (0: none), and their way out: no cancellation point. False:
// standard error takes nothing now, as a pipe that nobody empties, and the caller goes on waiting.
std::int64_t stall_ns();
bool write_stderr(const char* text, std::size_t length);

}  // namespace fermata::os
#endif
