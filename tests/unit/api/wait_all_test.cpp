// The time limit of fermata_request_wait_all is one for the whole call. One thread has both members of a
// team: the idle hook of rank 0 begins the operations of rank 1.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "../../operation.hpp"

namespace fermata::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 3000;
constexpr double kLimit = 0.2;
constexpr double kEach = 0.15;  // from one operation's end to the next one's, within the limit

struct Late {
  fermata_member* member;
  Clock::time_point start = Clock::now();
  std::vector<std::vector<double>> data = {};
  std::vector<fermata_request*> requests = {};
};

// Begins the next operation of the other member each time that kEach has passed.
int begin_late(fermata_member*, void* user) {
  auto& late = *static_cast<Late*>(user);
  const std::chrono::duration<double> passed = Clock::now() - late.start;
  if (passed.count() >= kEach * static_cast<double>(late.requests.size() + 1)) {
    late.data.emplace_back(kCount, 1.0);
    const fermata_operation o = in_place_sum(late.data.back().data(), kCount);
    fermata_request* request = nullptr;
    EXPECT_EQ(fermata_begin(late.member, &o, &request), FERMATA_OK) << fermata_error_detail();
    late.requests.push_back(request);
  }
  EXPECT_GE(fermata_progress(late.member, 0), 0) << fermata_error_detail();
  return 0;
}

TEST(WaitAll, TheTimeLimitHoldsForTheWholeCall) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  fermata_member* m[2] = {};
  for (int r = 0; r < 2; ++r)
    ASSERT_EQ(fermata_team_join(team, r, &m[r]), FERMATA_OK) << fermata_error_detail();
  std::vector<double> data[2];
  fermata_request* requests[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i].assign(kCount, 1.0);
    const fermata_operation o = in_place_sum(data[i].data(), kCount);
    ASSERT_EQ(fermata_begin(m[0], &o, &requests[i]), FERMATA_OK) << fermata_error_detail();
  }
  Late late{m[1]};
  late.data.reserve(2);  // the operations use the buffers
  fermata_member_set_idle_hook(m[0], begin_late, &late);
  fermata_member_set_timeout(m[0], kLimit);
  EXPECT_EQ(fermata_request_wait_all(requests, 2), FERMATA_ERR_TIMEOUT);
  // The limit of a later call counts from that call.
  fermata_member_set_timeout(m[0], 20);
  EXPECT_EQ(fermata_request_wait(requests[1]), FERMATA_OK) << fermata_error_detail();
  for (fermata_request* r : requests) EXPECT_EQ(fermata_request_free(r), FERMATA_OK);
  EXPECT_EQ(fermata_request_wait_all(late.requests.data(), late.requests.size()), FERMATA_OK);
  for (fermata_request* r : late.requests) EXPECT_EQ(fermata_request_free(r), FERMATA_OK);
  for (fermata_member* member : m) fermata_member_leave(member);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
