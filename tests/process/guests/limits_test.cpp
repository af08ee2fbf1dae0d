// Under limits of every kind a team works as usual or returns an error that gives the reason. It never hangs,
// and no signal ends its process.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../../own_folder.hpp"
#include "../failures/forked_members.hpp"
#include "algo/algorithm.hpp"
#include "child.hpp"
#include "fermata/fermata.h"
#include "profile/store.hpp"
#include "team/machine.hpp"
#include "team/measure.hpp"

namespace fermata {
namespace {

constexpr std::int64_t kHangNs = 100'000'000'000;
// kLittlePatience: where one member may find out alone that it cannot go on
constexpr double kPatience = 30, kLittlePatience = 1;
constexpr int kWorks = 0, kSaysWhy = 10, kSilent = 11, kNotHere = 77;
constexpr std::size_t kLong = 50'000;

int said(int rc) { return rc == FERMATA_OK ? kWorks : *fermata_error_detail() != '\0' ? kSaysWhy : kSilent; }

// Makes a call of each kind, as one of two members in separate processes.
int meet(fermata_team* team, int rank, double patience) {
  fermata_member* member = nullptr;
  if (const int rc = fermata_team_join(team, rank, &member); rc != FERMATA_OK) return said(rc);
  fermata_member_set_timeout(member, patience);
  static int in[kLong], out[kLong];  // not from what the limit leaves
  std::fill_n(in, kLong, rank + 1);
  int rc = FERMATA_OK;
  for (int i = 0; i < 50 && rc == FERMATA_OK; ++i) rc = fermata_barrier(member);
  if (rc == FERMATA_OK) rc = fermata_allreduce(member, in, out, 1, FERMATA_INT32, FERMATA_SUM);
  if (rc == FERMATA_OK && out[0] != 3) rc = FERMATA_ERR_MISMATCH;
  if (rc == FERMATA_OK) rc = fermata_allreduce(member, in, out, kLong, FERMATA_INT32, FERMATA_SUM);
  for (std::size_t i = 0; rc == FERMATA_OK && i < kLong; ++i)
    if (out[i] != 3) rc = FERMATA_ERR_MISMATCH;
  fermata_member* part = nullptr;
  if (rc == FERMATA_OK) rc = fermata_team_split(member, 0, rank, &part);
  if (rc == FERMATA_OK) rc = fermata_barrier(part);
  const int result = said(rc);
  fermata_member_leave(part);
  fermata_member_leave(member);
  return result;
}

// The whole life of a team of two processes under `limit`, which returns false where the machine does not
// permit it.
template <class Limit>
int live(Limit&& limit, double patience = kPatience) {
  return in_child(kHangNs, [&] {
    if (!limit()) return kNotHere;
    fermata_team* const team = test::make_team(2, FERMATA_PROCESSES);
    if (team == nullptr) return said(FERMATA_ERR_SYSTEM);
    const pid_t other = fork();
    if (other < 0) return kSaysWhy;  // the system has given the reason
    if (other == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(meet(team, 1, patience));
    }
    const int mine = meet(team, 0, patience);
    const int theirs = result_of(other, kHangNs);
    return theirs != kWorks ? theirs > 255 ? kSilent : theirs : mine;
  });
}

bool set_limit(__rlimit_resource_t what, rlim_t most) {
  const rlimit limit{most, most};
  return setrlimit(what, &limit) == 0;
}

// Makes the system calls with these numbers fail, in this process and its children.
bool deny(const std::vector<long>& calls, int error) {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Mounts an empty file system of 4 KiB on the folder, in this process's own view.
bool cover(const char* folder) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder, "tmpfs", 0, "size=4k") == 0;
}

#define EXPECT_LIFE(expected, limit)                                  \
  do {                                                                \
    const int lived = live([&] { return limit; });                    \
    if (lived == kNotHere) GTEST_SKIP() << "not permitted here";      \
    EXPECT_EQ(lived, expected) << (lived == kHung ? "it hangs" : ""); \
  } while (false)

TEST(Limits, NoneIsTheRule) { EXPECT_LIFE(kWorks, true); }

TEST(Limits, FewDescriptorsDo) { EXPECT_LIFE(kWorks, set_limit(RLIMIT_NOFILE, 32)); }
#if !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)  // sanitizers use descriptors and address space themselves
TEST(Limits, NoDescriptorsAreSaid) { EXPECT_LIFE(kSaysWhy, set_limit(RLIMIT_NOFILE, 3)); }
TEST(Limits, AnyNumberOfDescriptorsWorksOrIsSaid) {
  for (rlim_t most = 0; most < 20; ++most) {
    const int lived = live([&] { return set_limit(RLIMIT_NOFILE, most); }, kLittlePatience);
    EXPECT_TRUE(lived == kWorks || lived == kSaysWhy) << most << ": " << lived;
  }
}
TEST(Limits, AnyAddressSpaceWorksOrIsSaid) {
  int works = 0, says = 0;
  for (rlim_t mib = 12; mib < 400; mib += mib / 4) {
    const int lived = live([&] { return set_limit(RLIMIT_AS, mib << 20); }, kLittlePatience);
    EXPECT_TRUE(lived == kWorks || lived == kSaysWhy) << mib << " MiB: " << lived;
    ++(lived == kWorks ? works : says);
  }
  EXPECT_GT(works, 0);
  EXPECT_GT(says, 0);
}
TEST(Limits, LittleAddressSpaceIsSaid) { EXPECT_LIFE(kSaysWhy, set_limit(RLIMIT_AS, std::size_t{24} << 20)); }
#endif
TEST(Limits, LockedMemoryIsNotNeeded) { EXPECT_LIFE(kWorks, set_limit(RLIMIT_MEMLOCK, 0)); }
TEST(Limits, ShortFilesAreSaid) { EXPECT_LIFE(kSaysWhy, set_limit(RLIMIT_FSIZE, 4096)); }
TEST(Limits, AFullFileGetsNoReport) {
  const int status = in_child(kHangNs, [] {
    const int file = memfd_create("full", 0);
    if (file < 0 || ftruncate(file, 4096) != 0 || lseek(file, 0, SEEK_END) != 4096 ||
        dup2(file, STDERR_FILENO) < 0)
      return kNotHere;
    if (!os::write_stderr("a line\n", 7) || !set_limit(RLIMIT_FSIZE, 4096 + 8)) return kSilent;
    return os::write_stderr("a line\n", 7) ? kSilent : kWorks;
  });
  EXPECT_EQ(status, kWorks);
}
TEST(Limits, AFileBeyondTheLimitIsNotWritten) {
  const test::OwnFolder own;
  const int status = in_child(kHangNs, [&] {
    if (!set_limit(RLIMIT_FSIZE, 4096)) return kNotHere;
    const auto refused = write_file_atomically(own.path() / "long", std::string(4097, 'x'));
    if (refused.ok() || refused.error().message.find("File too large") == std::string::npos) return kSilent;
    return write_file_atomically(own.path() / "short", std::string(4096, 'x')).ok() ? kWorks : kSilent;
  });
  EXPECT_EQ(status, kWorks) << "above " << kKilled << ": a signal ended it";
  EXPECT_FALSE(std::filesystem::exists(own.path() / "long"));
}
TEST(Limits, APinThatTheSystemRefusesIsSaid) {
  const int status = in_child(kHangNs, [] {
    if (!deny({__NR_sched_setaffinity}, EPERM)) return kNotHere;
    if (fermata_pin(0) != FERMATA_ERR_SYSTEM) return kWorks;
    return strstr(fermata_error_detail(), strerror(EPERM)) != nullptr ? kSaysWhy : kSilent;
  });
  if (status == kNotHere) GTEST_SKIP() << "not permitted here";
  EXPECT_EQ(status, kSaysWhy);
}
TEST(Limits, NoFurtherProcessesAreSaid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
  const int status = in_child(kHangNs, [&] {
    if (setuid(65533) != 0 || !set_limit(RLIMIT_NPROC, 0)) return kNotHere;
    return said(fermata_progress_thread(1));
  });
  EXPECT_EQ(status, kSaysWhy);
}

TEST(Limits, AFullShmIsNotNeeded) { EXPECT_LIFE(kWorks, cover("/dev/shm")); }
TEST(Limits, NoProcFallsBack) { EXPECT_LIFE(kWorks, cover("/proc")); }

TEST(Limits, WithoutMembarrierFallsBack) {
  EXPECT_LIFE(kWorks, deny({SYS_membarrier}, EPERM));
  EXPECT_LIFE(kWorks, deny({SYS_membarrier}, ENOSYS));
}
#ifdef SYS_futex_waitv
TEST(Limits, WithoutFutexWaitvFallsBack) { EXPECT_LIFE(kWorks, deny({SYS_futex_waitv}, ENOSYS)); }
#endif
TEST(Limits, WithoutReadingOthersMemoryFallsBack) {
  setenv("FERMATA_CMA", "1", 1);
  EXPECT_LIFE(kWorks, deny({SYS_process_vm_readv}, EPERM));
  EXPECT_LIFE(kWorks, deny({SYS_process_vm_readv}, ENOSYS));
  unsetenv("FERMATA_CMA");
}
// A split takes no longer than the member's timeout. Here its second process may not connect to any other.
TEST(Limits, ASplitWaitsNoLongerThanItsMembers) {
  constexpr std::int64_t kSoonNs = 20'000'000'000;
  const int ended = in_child(kSoonNs, [&] {
    fermata_team* const team = test::make_team(2, FERMATA_PROCESSES);
    if (team == nullptr) return kSilent;
    const auto split = [&](int rank) {
      fermata_member *member = nullptr, *part = nullptr;
      if (fermata_team_join(team, rank, &member) != FERMATA_OK) return kSilent;
      fermata_member_set_timeout(member, 0.5);
      const int rc = fermata_team_split(member, 0, rank, &part);
      return rc == FERMATA_OK ? kWorks : said(rc);
    };
    const pid_t other = fork();
    if (other == 0) _exit(deny({SYS_connect}, EAGAIN) ? split(1) : kNotHere);
    const int mine = split(0);
    const int theirs = result_of(other, kSoonNs);
    return theirs == kNotHere ? theirs : mine == theirs ? mine : kSilent;
  });
  if (ended == kNotHere) GTEST_SKIP() << "not permitted here";
  EXPECT_EQ(ended, kSaysWhy);
}

// The last process may open nothing more, so it cannot fetch the new team. The second one can, but does not
// keep a team in which a member is missing.
TEST(Limits, ASplitIsMadeForAllOrForNone) {
  fermata_team* const team = test::make_team(3, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr);
  test::ForkedMembers members(3, [&](int rank) {
    fermata_member *member = nullptr, *part = nullptr;
    if (fermata_team_join(team, rank, &member) != FERMATA_OK) return kSilent;
    fermata_member_set_timeout(member, rank == 0 ? 0.3 : kPatience);  // rank 0 makes the team, and offers it
    if (rank == 2 && !set_limit(RLIMIT_NOFILE, 3)) return kNotHere;
    return said(fermata_team_split(member, 0, rank, &part));
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(members.wait_for(rank), kSaysWhy) << rank;
  fermata_team_destroy(team);
}

// A cost that was not measured is an error.
void measures_without_members(Engine engine, const char* error) {
  const int ended = in_child(kHangNs, [&] {
    Plan plan;
    plan.schedule = find_algorithm("dissemination")->build({.members = 2});
    plan.key.members = 2;
    plan.key.engine = engine;
    const auto program = compile_lines(plan);
    if (!program || !deny({SYS_clone, SYS_clone3}, EAGAIN)) return kNotHere;
    const auto ns = measure_on_this_machine()(*program, plan.key, 0);
    return ns ? kSilent : ns.error().message == error ? kSaysWhy : kWorks;
  });
  if (ended == kNotHere) GTEST_SKIP() << "not permitted here";
  EXPECT_EQ(ended, kSaysWhy);
}
TEST(Limits, AMeasurementSaysThatAProcessCouldNotBeMade) {
  measures_without_members(Engine::kProcesses, "measuring: fork failed");
}
TEST(Limits, AMeasurementSaysThatAThreadCouldNotBeMade) {
  measures_without_members(Engine::kThreads, "measuring: no thread can be made");
}

TEST(Limits, WithoutRandomNumbersFallsBack) { EXPECT_LIFE(kWorks, deny({SYS_getrandom}, ENOSYS)); }
TEST(Limits, WithoutMemfdIsSaid) { EXPECT_LIFE(kSaysWhy, deny({SYS_memfd_create}, EPERM)); }
TEST(Limits, WithoutSocketsASplitIsSaid) { EXPECT_LIFE(kSaysWhy, deny({SYS_socket}, EPERM)); }
// hwloc would ask for ever. All works where this process has read its machine before.
TEST(Limits, WithoutAffinityItEnds) {
  const int lived = live([&] { return deny({SYS_sched_getaffinity, SYS_sched_setaffinity}, EPERM); });
  if (lived == kNotHere) GTEST_SKIP() << "not permitted here";
  EXPECT_TRUE(lived == kSaysWhy || lived == kWorks) << lived;
}

}  // namespace
}  // namespace fermata
