// A call for progress waits for an answer as long as answers come, and learns not to wait where none come.
// One thread has both members, so no answer can come during the call.
#include <gtest/gtest.h>

#include <vector>

#include "../../operation.hpp"
#include "team/handles.hpp"

namespace fermata::test {
namespace {

constexpr int kOperations = 200;
constexpr std::size_t kCount = 4096;

TEST(PatienceOfProgress, IsLearned) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  fermata_member* m[2] = {};
  for (int r = 0; r < 2; ++r)
    ASSERT_EQ(fermata_team_join(team, r, &m[r]), FERMATA_OK) << fermata_error_detail();
  const std::vector<double> in(kCount, 1);
  std::vector<double> out[2] = {std::vector<double>(kCount), std::vector<double>(kCount)};
  fermata_request* requests[2] = {};
  for (int r = 0; r < 2; ++r) {
    const fermata_operation sum =
        operation(FERMATA_ALLREDUCE, in.data(), out[r].data(), kCount, FERMATA_DOUBLE);
    ASSERT_EQ(fermata_prepare(m[r], &sum, &requests[r]), FERMATA_OK) << fermata_error_detail();
  }
  exec::Patience expected;
  int waits = 0;
  for (int i = 0; i < kOperations; ++i) {
    for (fermata_request* r : requests)
      ASSERT_EQ(fermata_request_start(r), FERMATA_OK) << fermata_error_detail();
    // Folds member 1's data, and then expects its next piece.
    ASSERT_EQ(fermata_progress(m[0], 0), FERMATA_PENDING)
        << "nothing was left to wait for: this tests nothing";
    if (expected.next_ns() != 0) expected.gave_up(), ++waits;
    ASSERT_EQ(m[0]->member->patience().resting(), expected.resting()) << "operation " << i;
    ASSERT_EQ(fermata_request_wait_all(requests, 2), FERMATA_OK) << fermata_error_detail();
  }
  EXPECT_LT(waits, kOperations / 8) << "in vain";
  for (fermata_request* r : requests) fermata_request_free(r);
  for (int r = 0; r < 2; ++r) fermata_member_leave(m[r]);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
