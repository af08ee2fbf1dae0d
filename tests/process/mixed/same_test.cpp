// Sums of floating-point numbers are bitwise the same at every member and in every run of a plan. They do not
// depend on which member is late, nor on threads or processes.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {
namespace {

constexpr int kMembers = 5;
constexpr int kRounds = 40;
constexpr int kWidth = 7;
constexpr std::size_t kBytes = sizeof(double) * kRounds * kWidth;

// Magnitudes are far apart, so that another order of additions rounds to another sum.
double contribution(int rank, int round, int k) {
  return std::sin(1.0 + 13.0 * rank + 7.0 * round + k) * std::pow(10.0, (rank * 5 + round + k) % 17);
}

// Writes every rank's sums to its part of `all`. Another rank is late in each round and each run.
int sum(fermata_team* team, int rank, int run, double* all) {
  fermata_member* m = nullptr;
  if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 1;
  fermata_member_set_timeout(m, 60);
  double* mine = all + rank * kRounds * kWidth;
  int status = FERMATA_OK;
  for (int round = 0; round < kRounds && status == FERMATA_OK; ++round) {
    double x[kWidth];
    for (int k = 0; k < kWidth; ++k) x[k] = contribution(rank, round, k);
    for (int late = (rank + round * (run + 1)) % kMembers; late > 0; --late) sched_yield();
    status = fermata_allreduce(m, x, mine + round * kWidth, kWidth, FERMATA_DOUBLE, FERMATA_SUM);
  }
  fermata_member_leave(m);
  return status == FERMATA_OK ? 0 : 2;
}

class Plan {
 public:
  explicit Plan(const char* algorithm) {
    fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
    request.members = kMembers;
    request.collective = FERMATA_ALLREDUCE;
    request.payload = FERMATA_MAX_PAYLOAD;
    request.algorithm = algorithm;
    EXPECT_EQ(fermata_plan_make(&request, &plan_), FERMATA_OK) << fermata_error_detail();
  }
  ~Plan() { fermata_plan_destroy(plan_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Makes a new team each time. Returns the sums of rank 0, which all other ranks must have, too.
  std::vector<double> run(int engine, int number) const {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = kMembers;
    config.engine = engine;
    config.plans = &plan_;
    config.plan_count = 1;
    fermata_team* team = nullptr;
    EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    void* shared =
        mmap(nullptr, kMembers * kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(shared, MAP_FAILED);
    auto* all = static_cast<double*>(shared);
    engine == FERMATA_THREADS ? by_threads(team, number, all) : by_processes(team, number, all);
    fermata_team_destroy(team);
    const std::vector<double> sums(all, all + kRounds * kWidth);
    for (int r = 1; r < kMembers; ++r)
      EXPECT_EQ(std::memcmp(all + r * kRounds * kWidth, all, kBytes), 0) << "rank " << r;
    munmap(shared, kMembers * kBytes);
    return sums;
  }

 private:
  static void by_threads(fermata_team* team, int number, double* all) {
    std::vector<std::thread> forked;
    for (int r = 0; r < kMembers; ++r) forked.emplace_back([=] { EXPECT_EQ(sum(team, r, number, all), 0); });
    for (std::thread& t : forked) t.join();
  }
  static void by_processes(fermata_team* team, int number, double* all) {
    std::vector<pid_t> forked;
    for (int r = 0; r < kMembers; ++r) {
      const pid_t pid = fork();
      if (pid == 0) _exit(sum(team, r, number, all));
      forked.push_back(pid);
    }
    for (const pid_t pid : forked) {
      int how = -1;
      waitpid(pid, &how, 0);
      EXPECT_EQ(how, 0);
    }
  }

  fermata_plan* plan_ = nullptr;
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), kBytes) == 0;
}

TEST(SameBits, InEveryRunOfAPlan) {
  std::vector<std::vector<double>> first;
  for (const char* algorithm : {"linear", "kary(2)", "binomial_high", "extended_butterfly"}) {
    SCOPED_TRACE(algorithm);
    const Plan plan(algorithm);
    first.push_back(plan.run(FERMATA_THREADS, 0));
    EXPECT_TRUE(same_bits(plan.run(FERMATA_THREADS, 1), first.back()));
    EXPECT_TRUE(same_bits(plan.run(FERMATA_PROCESSES, 2), first.back()));
    EXPECT_TRUE(same_bits(plan.run(FERMATA_PROCESSES, 3), first.back()));
  }
  EXPECT_FALSE(same_bits(first[0], first[1]))
      << "these contributions don't show in which order they were added";
}

}  // namespace
}  // namespace fermata::test
