// A call whose members are on time allocates nothing and makes no system call. The test counts all
// allocations, and all system calls of a member's thread, during its calls.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "../failures/forked_members.hpp"
#include "os/os.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
thread_local std::uint64_t t_allocations = 0;
thread_local std::uint64_t t_asked = 0;  // system calls
// number of the last system call that neither reads the clock nor checks which members live
thread_local long t_strange = 0;
}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) { return ++t_allocations, __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t bytes) { return ++t_allocations, __libc_calloc(n, bytes); }
void* realloc(void* p, std::size_t n) { return ++t_allocations, __libc_realloc(p, n); }
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return ++t_allocations, __libc_memalign(alignment, n);
}

// The only code from which system calls pass the filter.
long let_through(long number, long a, long b, long c, long d, long e, long f);
extern const char let_through_passed[];
}

asm(R"(
  .text
  .globl let_through, let_through_passed
let_through:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
let_through_passed:
  ret
)");

namespace fermata::test {
namespace {

// Counts a system call that the filter has stopped, and makes it.
void count(int, siginfo_t*, void* context) {
  ++t_asked;
  greg_t* const r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = r[REG_RAX];
  if (number != SYS_clock_gettime && number != SYS_fcntl && number != SYS_getpid) t_strange = number;
  r[REG_RAX] = let_through(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
}

// From here on every system call of this thread raises SIGSYS, unless the handler makes it or returns.
bool count_calls() {
  struct sigaction action = {};
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  const auto passed = reinterpret_cast<std::uintptr_t>(let_through_passed);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed >> 32), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

struct Op {
  const char* name;
  int (*call)(fermata_member* m);
};

const Op kOps[] = {
    {"barrier", fermata_barrier},
    {"arrive and depart",
     [](fermata_member* m) {
       const int status = fermata_arrive(m);
       return status == FERMATA_OK ? fermata_depart(m) : status;
     }},
    {"allreduce of one double",
     [](fermata_member* m) {
       double x = 1;
       return fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM);
     }},
    {"allreduce of seven doubles",
     [](fermata_member* m) {
       double x[7] = {1, 2, 3, 4, 5, 6, 7};
       return fermata_allreduce(m, x, x, 7, FERMATA_DOUBLE, FERMATA_MAX);
     }},
    {"reduce",
     [](fermata_member* m) {
       double x = 1;
       return fermata_reduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM, 1);
     }},
    {"broadcast",
     [](fermata_member* m) {
       char x[56] = {};
       return fermata_broadcast(m, x, sizeof x, 0);
     }},
};

constexpr int kBlocks = 400;
constexpr int kCalls = 50;  // some tens of microseconds in which nothing else runs on either CPU

// The team is planned for the CPUs to which its members will be pinned, so that it is not replanned.
fermata_team* make_pinned(int engine, int wait) {
  std::int32_t cpus[2];
  os::affinity_list(cpus, 2);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  config.engine = engine;
  config.wait = wait;
  config.cpus = cpus;
  fermata_team* team = nullptr;
  return fermata_team_create(&config, &team) == FERMATA_OK ? team : nullptr;
}

// 0: nothing was allocated, and some blocks of calls made no system call. A spinning member makes none but
// the looks that follow a long wait.
int live(fermata_team* team, int rank, int wait) {
  std::int32_t cpus[2];
  os::affinity_list(cpus, 2);
  if (fermata_pin(cpus[rank]) != FERMATA_OK) return 10;
  fermata_member* m = nullptr;
  if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 11;
  fermata_member_set_timeout(m, 60);
  for (const Op& op : kOps)
    if (op.call(m) != FERMATA_OK || fermata_barrier(m) != FERMATA_OK) return 12;
  // The first long wait reads the control group's CPU limit.
  for (int late = 0; late < 2; ++late) {
    if (rank == late) usleep(2000);
    if (fermata_barrier(m) != FERMATA_OK) return 12;
  }
  if (!count_calls()) return 13;
  const std::uint64_t before = t_asked;
  syscall(SYS_getppid);
  if (t_asked != before + 1 || t_strange != SYS_getppid) return 14;
  // A look at the other members, after a while, makes no other system call either.
  for (int late = 0; late < 2; ++late) {
    if (rank == late) usleep(100'000);
    t_strange = 0;
    if (fermata_barrier(m) != FERMATA_OK) return 12;
    if (wait == FERMATA_WAIT_SPIN && t_strange != 0)
      return std::fprintf(stderr, "a look: rank %d makes system call %ld\n", rank, t_strange), 17;
  }
  for (const Op& op : kOps) {
    int quiet = 0;
    for (int block = 0; block < kBlocks; ++block) {
      t_allocations = t_asked = 0;
      t_strange = 0;
      for (int call = 0; call < kCalls; ++call)
        if (op.call(m) != FERMATA_OK) return 15;
      if (t_allocations != 0) return std::fprintf(stderr, "%s: %d allocates\n", op.name, rank), 16;
      if (wait == FERMATA_WAIT_SPIN && t_strange != 0)
        return std::fprintf(stderr, "%s: rank %d makes system call %ld\n", op.name, rank, t_strange), 17;
      quiet += t_asked == 0;
    }
    if (quiet == 0) return std::fprintf(stderr, "%s: rank %d always calls the kernel\n", op.name, rank), 18;
    if (fermata_barrier(m) != FERMATA_OK) return 19;
  }
  fermata_member_leave(m);
  return 0;
}

int as_threads(int wait) {
  fermata_team* team = make_pinned(FERMATA_THREADS, wait);
  if (team == nullptr) return 20;
  int codes[2] = {-1, -1};
  std::vector<std::thread> forked;
  for (int r = 0; r < 2; ++r) forked.emplace_back([&, r] { codes[r] = live(team, r, wait); });
  for (std::thread& t : forked) t.join();
  return codes[0] != 0 ? codes[0] : codes[1];
}

class Quiet : public ::testing::TestWithParam<int> {
  void SetUp() override {
    if (os::affinity_count() < 2) GTEST_SKIP() << "one CPU: members are never on time";
  }
};

TEST_P(Quiet, ThreadsOnTime) {
  ForkedMembers forked(1, [](int) { return as_threads(GetParam()); });
  EXPECT_EQ(forked.wait_for(0), 0);
}

TEST_P(Quiet, ProcessesOnTime) {
  fermata_team* team = make_pinned(FERMATA_PROCESSES, GetParam());
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int rank) { return live(team, rank, GetParam()); });
  for (int r = 0; r < 2; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
  fermata_team_destroy(team);
}

INSTANTIATE_TEST_SUITE_P(Policies, Quiet, ::testing::Values(FERMATA_WAIT_SPIN, FERMATA_WAIT_AUTO),
                         [](const auto& param) {
                           return std::string(param.param == FERMATA_WAIT_SPIN ? "spin" : "auto");
                         });

}  // namespace
}  // namespace fermata::test

#endif
