// Processes with several members of one team attach, join, split and move to a new plan.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "house.hpp"
#include "os/os.hpp"
#include "team/handles.hpp"
#include "team/team.hpp"

namespace fermata::test {
namespace {

// A process loses its record locks on a file when it closes any descriptor of that file.
TEST(Attach, AgainIsTheSameTeamAndKeepsItsLocks) {
  const std::string name = "again." + std::to_string(getpid());
  ForkedMembers forked(2, [&](int rank) {
    fermata_team* team = nullptr;
    fermata_team* again = nullptr;
    if (rank == 0) {
      team = make_team(2, FERMATA_PROCESSES);
      if (team == nullptr || fermata_team_serve(team, name.c_str(), 2, 20) != FERMATA_OK) return 90;
    } else if (fermata_team_attach(name.c_str(), 20, &team) != FERMATA_OK ||
               fermata_team_attach(name.c_str(), 20, &again) != FERMATA_OK) {
      return 91;
    }
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 92;
    fermata_member_set_timeout(m, 20);
    fermata_team_destroy(again);
    if (fermata_barrier(m) != FERMATA_OK) return 93;
    if (rank == 1) usleep(150'000);  // long enough for the other process to check whether this one lives
    if (fermata_barrier(m) != FERMATA_OK) return 94;
    if (rank == 1) return 0;  // without leaving
    return code_of(fermata_barrier(m));
  });
  EXPECT_EQ(forked.wait_for(1), 0);
  EXPECT_EQ(forked.wait_for(0), code_of(FERMATA_ERR_MEMBER_LOST));
}

TEST(Attach, TheCreatorMayToo) {
  const std::string name = "own." + std::to_string(getpid());
  fermata_team* team = make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  fermata_team* again = nullptr;
  int attached = FERMATA_ERR_TIMEOUT;
  std::thread client([&] { attached = fermata_team_attach(name.c_str(), 20, &again); });
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 1, 20), FERMATA_OK) << fermata_error_detail();
  client.join();
  ASSERT_EQ(attached, FERMATA_OK);
  fermata_member* m = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  fermata_member* twice = nullptr;
  EXPECT_EQ(fermata_team_join(again, 0, &twice), FERMATA_ERR_BUSY);
  fermata_team_destroy(again);
  fermata_team_destroy(team);
  fermata_member_leave(m);
}

// An attaching process also learns the CPUs for which a team was made. Either all members look on which CPUs
// they run, or none does.
TEST(Attach, WhoIsPinnedFromTheStartStays) {
  const std::string name = "pinned." + std::to_string(getpid());
  ForkedMembers forked(2, [&](int rank) {
    std::int32_t cpus[1024];
    const std::int32_t n = os::affinity_list(cpus, 1024);
    const int of_ranks[2] = {cpus[0], cpus[1 % n]};
    if (fermata_pin(of_ranks[rank]) != FERMATA_OK) return 89;
    fermata_team* team = nullptr;
    if (rank == 0) {
      fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
      config.members = 2;
      config.engine = FERMATA_PROCESSES;
      config.cpus = of_ranks;
      if (fermata_team_create(&config, &team) != FERMATA_OK ||
          fermata_team_serve(team, name.c_str(), 1, 20) != FERMATA_OK)
        return 90;
    } else if (fermata_team_attach(name.c_str(), 20, &team) != FERMATA_OK) {
      return 91;
    }
    return live_in_house(team, {rank}, [](fermata_member* m, int r) {
      const exec::Team* before = &m->member->team();
      for (std::uint64_t i = 0; i < team::kFirstReview + 100; ++i) {
        std::int64_t number = r == 0 ? static_cast<std::int64_t>(i) : 0;
        if (fermata_broadcast(m, &number, sizeof number, 0) != FERMATA_OK ||
            number != static_cast<std::int64_t>(i))
          return 93;
        if (fermata_barrier(m) != FERMATA_OK) return 94;
      }
      return &m->member->team() == before ? 0 : 95;
    });
  });
  for (int r = 0; r < 2; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
}

// Unrelated processes with 3, 2 and 1 members take the ranks that are free.
TEST(Join, RanksAreAssigned) {
  const std::string name = "ranks." + std::to_string(getpid());
  ForkedMembers forked(3, [&](int process) {
    fermata_team* team = nullptr;
    if (process == 0) {
      team = make_team(6, FERMATA_PROCESSES);
      if (team == nullptr || fermata_team_serve(team, name.c_str(), 2, 20) != FERMATA_OK) return 90;
    } else if (fermata_team_attach(name.c_str(), 20, &team) != FERMATA_OK) {
      return 91;
    }
    const std::vector<int> ranks(static_cast<std::size_t>(3 - process), FERMATA_ANY_RANK);
    const int code = live_in_house(team, ranks, [](fermata_member* m, int rank) {
      std::int64_t seen[7] = {};
      seen[rank] = 1;
      if (fermata_allreduce(m, seen, seen, 7, FERMATA_INT64, FERMATA_SUM) != FERMATA_OK) return 93;
      for (int r = 0; r < 6; ++r)
        if (seen[r] != 1) return 94;
      return 0;
    });
    fermata_member* none = nullptr;
    if (fermata_team_join(team, -1, &none) != FERMATA_ERR_ARGUMENT) return 96;
    const int late = fermata_team_join(team, FERMATA_ANY_RANK, &none);
    fermata_team_destroy(team);
    return code != 0 ? code : late == FERMATA_ERR_BUSY ? 0 : 95;
  });
  for (int p = 0; p < 3; ++p) EXPECT_EQ(forked.wait_for(p), 0) << "process " << p;
}

int sum_of_ranks(fermata_member* m) {
  std::int32_t sum = fermata_member_rank(m);
  const int n = fermata_member_count(m);
  if (fermata_allreduce(m, &sum, &sum, 1, FERMATA_INT32, FERMATA_SUM) != FERMATA_OK) return 80;
  return sum == n * (n - 1) / 2 ? 0 : 81;
}

// Splits twice. The teams of the first split are split at the same time, by leaders that share one process.
int split_and_split(fermata_member* world, int rank) {
  fermata_member* half = nullptr;
  if (fermata_team_split(world, rank == 6 ? -1 : rank / 3, -rank, &half) != FERMATA_OK) return 70;
  if (rank == 6) return half != nullptr ? 71 : fermata_barrier(world) != FERMATA_OK ? 72 : 0;
  if (fermata_member_count(half) != 3 || fermata_member_rank(half) != 2 - rank % 3) return 73;
  int code = sum_of_ranks(half);
  if (code != 0) return code;
  for (int round = 0; round < 3; ++round) {
    fermata_member* part = nullptr;
    if (fermata_team_split(half, rank % 3 == round ? 1 : 0, rank, &part) != FERMATA_OK) return 74;
    if (fermata_member_count(part) != (rank % 3 == round ? 1 : 2)) return 75;
    if ((code = sum_of_ranks(part)) != 0) return code;
    fermata_member_leave(part);
  }
  fermata_member_leave(half);
  return fermata_barrier(world) == FERMATA_OK ? 0 : 76;
}

TEST(Split, AcrossThreadsAndProcesses) {
  const Ranks ranks = {{0, 3, 6}, {1, 4}, {2, 5}};
  fermata_team* team = make_team(7, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(
      3, [&](int p) { return live_in_house(team, ranks[static_cast<std::size_t>(p)], split_and_split); });
  for (int p = 0; p < 3; ++p) EXPECT_EQ(forked.wait_for(p), 0) << "process " << p;
  fermata_team_destroy(team);
}

// A process fetches a sub-team once for all its members. Some leave it, and those that stay can still use it.
TEST(Split, WhoLeavesFirstTakesNobodyAlong) {
  const Ranks ranks = {{0, 1}, {2, 3}};
  fermata_team* team = make_team(4, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int p) {
    return live_in_house(team, ranks[static_cast<std::size_t>(p)], [](fermata_member* world, int rank) {
      fermata_member* all = nullptr;
      fermata_member* some = nullptr;
      if (fermata_team_split(world, 0, 0, &all) != FERMATA_OK) return 70;
      if (fermata_team_split(all, rank == 3 ? 1 : 0, 0, &some) != FERMATA_OK) return 71;
      if (rank == 3) {
        fermata_member_leave(some);
        fermata_member_leave(all);
      }
      if (fermata_barrier(world) != FERMATA_OK) return 72;
      if (rank == 3) return fermata_barrier(world) == FERMATA_OK ? 0 : 73;
      if (rank == 2) usleep(100'000);
      if (fermata_barrier(some) != FERMATA_OK) return 74;
      fermata_member_leave(some);
      fermata_member_leave(all);
      return fermata_barrier(world) == FERMATA_OK ? 0 : 75;
    });
  });
  for (int p = 0; p < 2; ++p) EXPECT_EQ(forked.wait_for(p), 0) << "process " << p;
  fermata_team_destroy(team);
}

// Ranks 0 and 1 share a process, rank 2 has its own. An operator sees where its operands lie.
// Longer than what goes by address within a process, shorter than what is read from another process.
constexpr std::size_t kDoubles = 1024;
double inputs[3][kDoubles];
std::atomic<int> folds_of_an_input{0}, folds{0};

void add(void* out, const void* left, const void* right, size_t count, void* user) {
  const auto* others = static_cast<const double*>(user);
  const auto is_others = [&](const void* p) { return p >= others && p < others + kDoubles; };
  ++folds;
  if (is_others(left) || is_others(right)) ++folds_of_an_input;
  for (std::size_t i = 0; i < count; ++i)
    static_cast<double*>(out)[i] = static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
}

int reduce_pair(fermata_member* world, int rank, int first, int second) {
  fermata_member* pair = nullptr;
  if (fermata_team_split(world, rank == first || rank == second ? 0 : -1, 0, &pair) != FERMATA_OK) return 70;
  if (pair == nullptr) return 0;
  for (double& x : inputs[rank]) x = rank + 1;
  double out[kDoubles];
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = FERMATA_REDUCE;
  o.in = inputs[rank];
  o.out = out;
  o.count = kDoubles;
  o.type = FERMATA_DOUBLE;
  o.fold = add;
  o.user = inputs[rank == first ? second : first];
  if (fermata_execute(pair, &o) != FERMATA_OK) return 71;
  for (std::size_t i = 0; rank == first && i < kDoubles; ++i)
    if (out[i] != first + second + 2) return 72;
  fermata_member_leave(pair);
  return 0;
}

// Another member may overwrite an address, so the kernel reads even the own process's memory. No fold sees
// the other member's input.
TEST(Blocks, DoNotGoByAddressWithinAProcess) {
  const Ranks ranks = {{0, 1}, {2}};
  fermata_team* team = make_team(3, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int p) {
    return live_in_house(team, ranks[static_cast<std::size_t>(p)], [](fermata_member* world, int rank) {
      int code = reduce_pair(world, rank, 0, 1);
      if (code != 0 || fermata_barrier(world) != FERMATA_OK) return code != 0 ? code : 73;
      if (rank == 0 && (folds == 0 || folds_of_an_input != 0)) return 74;
      if (fermata_barrier(world) != FERMATA_OK) return 75;
      if (rank == 0) folds = folds_of_an_input = 0;
      code = reduce_pair(world, rank, 0, 2);
      if (rank == 0 && (folds == 0 || folds_of_an_input != 0)) return 76;
      return code != 0 ? code : fermata_barrier(world) == FERMATA_OK ? 0 : 77;
    });
  });
  for (int p = 0; p < 2; ++p) EXPECT_EQ(forked.wait_for(p), 0) << "process " << p;
  fermata_team_destroy(team);
}

// The team segments that this process has mapped.
std::size_t segments() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string field[5];
    for (std::string& f : field) fields >> f;
    if (line.find("memfd:fermata") != std::string::npos) inodes.insert(field[4]);
  }
  return inodes.size();
}

// A team whose threads are pinned after it was planned moves to a team that is planned for their CPUs.
TEST(Review, MovesTheTeamOfAllProcesses) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  const Ranks ranks = {{0, 2}, {1, 3}};
  fermata_team* team = make_team(4, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int p) {
    return live_in_house(team, ranks[static_cast<std::size_t>(p)], [&](fermata_member* m, int rank) {
      if (fermata_pin(cpus[static_cast<std::size_t>(rank) % cpus.size()]) != FERMATA_OK) return 70;
      for (int call = 0; call < 4200; ++call)
        if (fermata_barrier(m) != FERMATA_OK) return 71;
      return segments() != 2 ? 72 : sum_of_ranks(m);
    });
  });
  for (int p = 0; p < 2; ++p) EXPECT_EQ(forked.wait_for(p), 0) << "process " << p;
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
