// Chains through several teams. One thread has all members.
#include <gtest/gtest.h>

#include <vector>

#include "../../operation.hpp"
#include "fermata/fermata.h"

namespace fermata {
namespace {

constexpr int kTurns = 100'000;  // most calls for progress until a request is over

struct Pair {  // a team of two members, and a prepared sum of each
  Pair() {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(fermata_team_join(team, r, &members[r]), FERMATA_OK) << fermata_error_detail();
      const fermata_operation sum = test::in_place_sum(data[r].data(), data[r].size());
      EXPECT_EQ(fermata_prepare(members[r], &sum, &requests[r]), FERMATA_OK) << fermata_error_detail();
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (int r = 0; r < 2; ++r) {
      fermata_request_free(requests[r]);
      fermata_member_leave(members[r]);
    }
    fermata_team_destroy(team);
  }
  // The other member's part, until that is over.
  void contribute() {
    ASSERT_EQ(fermata_request_start(requests[1]), FERMATA_OK) << fermata_error_detail();
    int status = FERMATA_PENDING;
    for (int i = 0; i < kTurns && status == FERMATA_PENDING; ++i) {
      fermata_progress(members[0], 0);
      status = fermata_request_test(requests[1]);
    }
    EXPECT_EQ(status, FERMATA_OK) << fermata_error_detail();
  }

  fermata_team* team = nullptr;
  fermata_member* members[2] = {};
  std::vector<double> data[2] = {std::vector<double>(3000, 1), std::vector<double>(3000, 1)};
  fermata_request* requests[2] = {};
};

TEST(Chain, IsNotOverIfOnlyTheTeamOfAnEarlierLinkIsBroken) {
  Pair first, second;
  fermata_request* links[] = {first.requests[0], second.requests[0]};
  fermata_request* chain = nullptr;
  ASSERT_EQ(fermata_chain(links, 2, &chain), FERMATA_OK) << fermata_error_detail();
  ASSERT_EQ(fermata_request_start(chain), FERMATA_OK) << fermata_error_detail();
  first.contribute();
  for (int i = 0; i < 100; ++i) fermata_progress(first.members[0], 0);
  EXPECT_EQ(first.data[0].front(), 2);
  fermata_team_abort(first.team);
  EXPECT_EQ(fermata_request_test(chain), FERMATA_PENDING);
  second.contribute();
  int status = FERMATA_PENDING;
  for (int i = 0; i < kTurns && status == FERMATA_PENDING; ++i) status = fermata_request_test(chain);
  EXPECT_EQ(status, FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(second.data[0].front(), 2);
  EXPECT_EQ(fermata_request_free(chain), FERMATA_OK);
}

}  // namespace
}  // namespace fermata
