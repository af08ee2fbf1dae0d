#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>

#include "doctor_checks.hpp"

namespace fermata::tool {

namespace {

std::string reason(int code) { return std::strerror(code); }

// Runs body in a child and returns its exit status, or -1. meanwhile(pid) runs here while the child waits.
int in_child(const std::function<int()>& body, const std::function<void(pid_t)>& meanwhile = {}) {
  int pipe_ready[2], pipe_leave[2];
  if (pipe2(pipe_ready, O_CLOEXEC) != 0) return -1;
  if (pipe2(pipe_leave, O_CLOEXEC) != 0) {
    close(pipe_ready[0]), close(pipe_ready[1]);
    return -1;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_leave[1]);
    const int status = body();
    char byte = 0;
    if (write(pipe_ready[1], &byte, 1) != 1) _exit(255);
    if (read(pipe_leave[0], &byte, 1) < 0) _exit(255);  // ends when the parent closes its end
    _exit(status);
  }
  close(pipe_ready[1]);
  char byte = 0;
  const bool ready = child > 0 && read(pipe_ready[0], &byte, 1) == 1;
  if (ready && meanwhile) meanwhile(child);
  for (const int fd : {pipe_ready[0], pipe_leave[0], pipe_leave[1]}) close(fd);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Check membarrier_check(const char* name, int command, int registration, const char* among) {
  const long supported = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (supported < 0)
    return {name, "no", "membarrier: " + reason(errno),
            "both sides of a doorbell run a full fence: tens of ns per signal"};
  const bool works = (supported & command) != 0 && syscall(SYS_membarrier, registration, 0, 0) == 0 &&
                     syscall(SYS_membarrier, command, 0, 0) == 0;
  if (works)
    return {name, "yes", std::string("registered and run among ") + among,
            "the parking thread pays for the fence; a sender pays one load of a shared line"};
  return {name, "no", "not offered by this kernel, or refused",
          "both sides of a doorbell run a full fence: tens of ns per signal"};
}

bool reads_memory_of(pid_t process, const long* theirs, long expected) {
  long copy = 0;
  const iovec local{&copy, sizeof copy}, remote{const_cast<long*>(theirs), sizeof copy};
  return process_vm_readv(process, &local, 1, &remote, 1, 0) == sizeof copy && copy == expected;
}

Check cma() {
  static volatile long value = 4711;  // the same address in parent and child
  const long* address = const_cast<const long*>(&value);
  const pid_t parent = getpid();
  bool down = false;
  const int up = in_child(
      [&] {
        value = 815;
        return reads_memory_of(parent, address, 4711) ? 0 : 1;
      },
      [&](pid_t child) { down = reads_memory_of(child, address, 815); });
  const std::string scope = line_of("/proc/sys/kernel/yama/ptrace_scope");
  const std::string found = std::string("process_vm_readv of a child: ") + (down ? "works" : "refused") +
                            ", of the parent: " + (up == 0 ? "works" : "refused") +
                            (scope.empty() ? "" : "; yama ptrace_scope " + scope);
  if (down && up == 0)
    return {"CMA", "yes", found, "larger payloads can be read directly from the sender's memory: one copy"};
  return {"CMA", down ? "partly" : "no", found, "larger payloads go through the segment: two copies"};
}

Check memfd() {
  const int fd = memfd_create("fermata-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return {"memfd", "no", reason(errno), "teams of processes can't create their segment"};
  const bool sealed = ftruncate(fd, 4096) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  close(fd);
  return {"memfd", sealed ? "yes" : "partly", sealed ? "made and sealed" : "made, but seals are refused",
          "segments of process teams have no name and vanish with their last process"};
}

bool locked_by_another(int fd) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Check record_locks() {
  const int fd = memfd_create("fermata-doctor", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 4096) != 0) {
    if (fd >= 0) close(fd);
    return {"record locks", "unknown", "no memfd to try them on", "a dead process shows only as a time-out"};
  }
  bool held = false;
  const int status = in_child(
      [fd] {
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_len = 1;
        return fcntl(fd, F_SETLK, &lock) == 0 ? 0 : 1;
      },
      [&](pid_t) { held = locked_by_another(fd); });
  const bool released = !locked_by_another(fd);
  close(fd);
  if (status == 0 && held && released)
    return {"record locks", "yes", "held by a process, released at its end",
            "a dead member process is reported as lost, by rank"};
  return {"record locks", "no", "a lock on a memfd was not seen, or not released",
          "a dead process shows only as a time-out"};
}

Check abstract_socket() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return {"unix sockets", "no", reason(errno), "only forked processes can share a team"};
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = "fermata-doctor-" + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  const int code = errno;
  close(fd);
  if (bound)
    return {"unix sockets", "yes", "an abstract name can be bound",
            "unrelated processes can join a team by its name"};
  return {"unix sockets", "no", reason(code), "only processes that inherit the descriptor can join a team"};
}

Check futex2() {
#ifdef SYS_futex_waitv
  const long result = syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0);
  const bool there = result < 0 && errno == EINVAL;
#else
  const bool there = false;
#endif
  return {"futex2", there ? "yes" : "no",
          there ? "futex_waitv is offered" : "futex_waitv is not offered, or refused",
          "not needed: a member parks on one doorbell; a wait for several teams at once would use it"};
}

Check seccomp() {
  std::ifstream file("/proc/self/status");
  std::string mode = "?";
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 8, "Seccomp:") == 0) mode = line.substr(line.find_first_not_of(" \t", 8));
  if (mode == "0") return {"seccomp", "no", "no filter", "system calls are refused by permission only"};
  if (mode == "?")
    return {"seccomp", "unknown", "the kernel doesn't say", "each call is tried before it is relied on"};
  return {"seccomp", "yes", "a filter is active (mode " + mode + ")",
          "calls that it refuses show in this table; each is tried before it is relied on"};
}

// "always [madvise] never" -> "madvise"
std::string chosen(const std::string& line) {
  const auto open = line.find('['), close = line.find(']');
  return open == std::string::npos || close < open ? line : line.substr(open + 1, close - open - 1);
}

Check huge_pages() {
  const std::string heap = chosen(line_of("/sys/kernel/mm/transparent_hugepage/enabled"));
  const std::string shared = chosen(line_of("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  if (heap.empty())
    return {"huge pages", "unknown", "no transparent huge pages here", "segments use ordinary pages"};
  const bool some = heap != "never" || (shared != "never" && shared != "deny" && !shared.empty());
  return {"huge pages", some ? "partly" : "no", "transparent: heap " + heap + ", shared memory " + shared,
          "a team's lines fit a few ordinary pages; only payloads of megabytes would gain"};
}

Check counters() {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL));
  const int code = errno;
  if (fd >= 0) close(fd);
  const std::string level = line_of("/proc/sys/kernel/perf_event_paranoid");
  const std::string paranoid = level.empty() ? "" : "; perf_event_paranoid " + level;
  if (fd >= 0)
    return {"perf counters", "yes", "cycles can be counted" + paranoid,
            "`fermata bench --counters` counts cycles and misses of caches"};
  return {"perf counters", "no", "cycles: " + reason(code) + paranoid,
          "`fermata bench --counters` counts neither cycles nor misses of caches"};
}

}  // namespace

std::vector<Check> check_kernel() {
  return {membarrier_check("membarrier private", MEMBARRIER_CMD_PRIVATE_EXPEDITED,
                           MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, "threads"),
          membarrier_check("membarrier global", MEMBARRIER_CMD_GLOBAL_EXPEDITED,
                           MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, "processes"),
          memfd(),
          record_locks(),
          abstract_socket(),
          cma(),
          futex2(),
          seccomp(),
          huge_pages(),
          counters()};
}

}  // namespace fermata::tool
