// Members wait according to the CPUs that the kernel allows the joining threads. It does not matter how they
// were placed: by OMP_PROC_BIND, taskset or the program.
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "builtin_team.hpp"
#include "exec/member.hpp"
#include "os/os.hpp"

namespace fermata::exec {
namespace {

TEST(Placement, IsTheUnionOfTheCpusOfThoseWhoJoined) {
  std::vector<std::int32_t> cpus(1024);
  const std::int32_t count = os::affinity_list(cpus.data(), 1024);
  const BuiltinTeam team(4, 4);
  ASSERT_NE(team.get(), nullptr);
  const auto join_on = [&](std::uint32_t rank, std::int32_t cpu) {  // -1: all of this process's CPUs
    std::thread([&] {
      EXPECT_TRUE(cpu < 0 || os::pin_thread(cpu) == Status::kOk);
      Member* member = nullptr;
      const char* detail = "";
      EXPECT_EQ(Member::join(team.get(), rank, &member, &detail), Status::kOk) << detail;
      member->leave();
    }).join();
  };
  join_on(0, cpus[0]);
  EXPECT_EQ(team->segment().usable_cpus(), (Cpus{1, 1}));
  join_on(1, cpus[0]);
  EXPECT_EQ(team->segment().usable_cpus(),
            (Cpus{1, 1}));  // two members on one CPU, however many the machine has
  join_on(2, cpus[static_cast<std::size_t>(count > 1 ? 1 : 0)]);
  EXPECT_EQ(team->segment().usable_cpus(), (count > 1 ? Cpus{2, os::within_quota(2)} : Cpus{1, 1}));
  join_on(3, -1);
  const auto all = static_cast<std::uint32_t>(count);
  EXPECT_EQ(team->segment().usable_cpus(), (Cpus{all, os::within_quota(all)}));
}

// The heavy half of a light fence is a system call that interrupts all CPUs. Members that share CPUs park
// often, so they don't use it.
TEST(Placement, DecidesWhoFences) {
  const auto fences = [](std::uint32_t members, double* cpus) {
    const BuiltinTeam team(members, members);
    if (team.get() == nullptr) return false;
    *cpus = team->header().layout.usable_cpus;
    return RealAtomics::load_relaxed(team->header().fences.mode) == Fences<RealAtomics>::kAlwaysFull;
  };
  double cpus = 0;
  fences(1, &cpus);
  const auto whole = static_cast<std::uint32_t>(cpus);
  EXPECT_TRUE(fences(whole + 1, &cpus));
  if (whole == cpus && whole <= 256) {
    EXPECT_EQ(fences(whole, &cpus), !os::register_fence(false));
  }
}

}  // namespace
}  // namespace fermata::exec
