// Jobs in PID namespaces of their own use the same process numbers. Containers may share a network namespace:
// then the names of the jobs' sockets must still differ.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <vector>

#include "../failures/forked_members.hpp"
#include "child.hpp"
#include "fermata/fermata.h"

namespace fermata {
namespace {

constexpr std::int64_t kLongNs = 100'000'000'000;
constexpr int kRounds = 40, kNotPermitted = 77;

// Runs one of two members. Each round makes a team of its own, whose segment one process hands to the other.
// The job's number shows which job the segment belongs to.
int split_often(fermata_team* team, int rank, int job) {
  fermata_member* member = nullptr;
  if (fermata_team_join(team, rank, &member) != FERMATA_OK) return 2;
  fermata_member_set_timeout(member, 30);
  for (int round = 0; round < kRounds; ++round) {
    fermata_member* part = nullptr;
    if (fermata_team_split(member, 0, rank, &part) != FERMATA_OK) return 3;
    std::int32_t mine = job * 1000 + round, sum = 0;
    if (fermata_allreduce(part, &mine, &sum, 1, FERMATA_INT32, FERMATA_SUM) != FERMATA_OK) return 4;
    if (sum != 2 * mine) return 5;
    fermata_member_leave(part);
  }
  fermata_member_leave(member);
  return 0;
}

int live(int job) {
  fermata_team* const team = getpid() == 1 ? test::make_team(2, FERMATA_PROCESSES) : nullptr;
  if (team == nullptr) return 1;
  test::ForkedMembers forked(2, [&](int rank) { return split_often(team, rank, job); });
  const int first = forked.wait_for(0), second = forked.wait_for(1);
  return first != 0 ? first : second;
}

TEST(PidNamespaces, OfTwoJobsKeepNamesApart) {
  std::vector<pid_t> jobs;
  for (int job = 1; job <= 2; ++job) {
    jobs.push_back(fork());
    if (jobs.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWPID) != 0) _exit(kNotPermitted);
    _exit(in_child(kLongNs, [job] { return live(job); }));
  }
  for (const pid_t job : jobs) {
    const int ended = result_of(job, kLongNs);
    if (ended == kNotPermitted) GTEST_SKIP() << "PID namespaces are not permitted here";
    EXPECT_EQ(ended, 0);
  }
}

}  // namespace
}  // namespace fermata
