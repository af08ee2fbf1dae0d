// fermata_prepare: what a call that did not make a request leaves behind.
#include <gtest/gtest.h>

#include <vector>

#include "../../operation.hpp"

namespace fermata::test {
namespace {

// One thread uses both members. Rank 1 prepares first, and times out, since rank 0 has not told it the slots.
// It gets no request, but resumes the call, so that the slots are free again once rank 0 has freed its own.
TEST(Prepare, ACallThatWasResumedHoldsNoSlots) {
  constexpr int kCalls = 1000;  // more than the team has slots for
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  fermata_member* member[2] = {};
  for (int r = 0; r < 2; ++r)
    ASSERT_EQ(fermata_team_join(team, r, &member[r]), FERMATA_OK) << fermata_error_detail();
  fermata_member_set_timeout(member[1], 1e-6);
  std::vector<double> data[2] = {std::vector<double>(30'000), std::vector<double>(30'000)};
  for (int i = 0; i < kCalls; ++i) {
    fermata_request* request[2] = {};
    const auto prepare = [&](int r) {
      const fermata_operation o = in_place_sum(data[r].data(), data[r].size());
      return fermata_prepare(member[r], &o, &request[r]);
    };
    ASSERT_EQ(prepare(1), FERMATA_ERR_TIMEOUT) << i << ": " << fermata_error_detail();
    EXPECT_EQ(request[1], nullptr);
    ASSERT_EQ(prepare(0), FERMATA_OK) << i << ": " << fermata_error_detail();
    ASSERT_EQ(fermata_resume(member[1]), FERMATA_OK) << i << ": " << fermata_error_detail();
    fermata_request_free(request[0]);
  }
  for (fermata_member* m : member) fermata_member_leave(m);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
