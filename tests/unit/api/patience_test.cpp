// A call for progress waits for an answer while answers come, and learns not to where none does. One thread has both members, so none
// can come before its call is over.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {
namespace {

constexpr int kTrials = 4;  // waits in vain before the first ones are left out
constexpr int kOperations = 2000;
constexpr std::size_t kCount = 4096;

std::int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

TEST(PatienceOfProgress, IsLearned) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  fermata_member* m[2] = {};
  for (int r = 0; r < 2; ++r) ASSERT_EQ(fermata_team_join(team, r, &m[r]), FERMATA_OK) << fermata_error_detail();
  const std::vector<double> in(kCount, 1);
  std::vector<double> out[2] = {std::vector<double>(kCount), std::vector<double>(kCount)};
  fermata_request* requests[2] = {};
  fermata_operation operation = FERMATA_OPERATION_INIT;
  operation.collective = FERMATA_DO_ALLREDUCE;
  operation.in = in.data();
  operation.count = kCount;
  operation.type = FERMATA_DOUBLE;
  operation.op = FERMATA_SUM;
  for (int r = 0; r < 2; ++r) {
    operation.out = out[r].data();
    ASSERT_EQ(fermata_prepare(m[r], &operation, &requests[r]), FERMATA_OK) << fermata_error_detail();
  }
  std::vector<std::int64_t> calls;
  for (int i = 0; i < kOperations; ++i) {
    for (fermata_request* r : requests) ASSERT_EQ(fermata_request_start(r), FERMATA_OK) << fermata_error_detail();
    // What member 1 has sent is folded, and its next piece awaited.
    const std::int64_t start = cpu_ns();
    const int status = fermata_progress(m[0], 0);
    calls.push_back(cpu_ns() - start);
    ASSERT_EQ(status, FERMATA_PENDING) << "nothing was left to wait for: this tests nothing";
    ASSERT_EQ(fermata_request_wait_all(requests, 2), FERMATA_OK) << fermata_error_detail();
  }
  for (fermata_request* r : requests) fermata_request_free(r);
  for (int r = 0; r < 2; ++r) fermata_member_leave(m[r]);
  fermata_team_destroy(team);
  // Whose wait the scheduler shortened is not among the upper half.
  std::sort(calls.begin(), calls.begin() + kTrials);
  const std::int64_t first = calls[kTrials / 2];
  std::nth_element(calls.begin() + kOperations / 2, calls.begin() + kOperations * 3 / 4, calls.end());
  const std::int64_t learned = calls[kOperations * 3 / 4];
  EXPECT_GT(first, learned + 1000) << "of 2000 ns that a wait in vain takes";
}

}  // namespace
}  // namespace fermata::test
