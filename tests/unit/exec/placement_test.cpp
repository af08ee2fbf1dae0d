// Where members may run is what the system says of the threads that join, whoever placed them (OMP_PROC_BIND, taskset, the program): that
// decides how they wait.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "exec/team.hpp"
#include "os/os.hpp"

namespace fermata::exec {
namespace {

TEST(Placement, IsTheUnionOfTheCpusOfThoseWhoJoined) {
  std::vector<std::int32_t> cpus(1024);
  const std::int32_t count = os::affinity_list(cpus.data(), 1024);
  const std::unique_ptr<ProgramHeader, decltype(&std::free)> barrier(make_builtin(builtin_barrier(4, 4)), &std::free);
  TeamOptions options;
  options.members = 4;
  options.programs[static_cast<int>(PlanSlot::kBarrier)] = barrier.get();
  Team* team = nullptr;
  const char* detail = "";
  ASSERT_EQ(Team::create(options, &team, &detail), Status::kOk) << detail;
  const auto join_on = [&](std::uint32_t rank, std::int32_t cpu) {  // -1: where this process may
    std::thread([&] {
      EXPECT_TRUE(cpu < 0 || os::pin_thread(cpu) == Status::kOk);
      Member* member = nullptr;
      EXPECT_EQ(Member::join(team, rank, &member, &detail), Status::kOk) << detail;
      member->leave();
    }).join();
  };
  join_on(0, cpus[0]);
  EXPECT_EQ(team->usable_cpus(), 1U);
  join_on(1, cpus[0]);
  EXPECT_EQ(team->usable_cpus(), 1U);  // two members of one CPU, however many the machine has
  join_on(2, cpus[static_cast<std::size_t>(count > 1 ? 1 : 0)]);
  EXPECT_EQ(team->usable_cpus(), os::within_quota(count > 1 ? 2 : 1));
  join_on(3, -1);
  EXPECT_EQ(team->usable_cpus(), os::within_quota(static_cast<std::uint32_t>(count)));
  team->release();
}

}  // namespace
}  // namespace fermata::exec
