// Ring buffers of persistent operations: long while few operations are prepared, yet with room for many. One
// thread has both members.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fermata/fermata.h"
#include "team/handles.hpp"

namespace fermata::test {
namespace {

struct PersistentRings : ::testing::Test {
  fermata_team* team = nullptr;
  fermata_member* m[2] = {};
  std::vector<fermata_request*> made;

  void SetUp() override {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    for (int r = 0; r < 2; ++r)
      ASSERT_EQ(fermata_team_join(team, r, &m[r]), FERMATA_OK) << fermata_error_detail();
  }
  void TearDown() override {
    for (fermata_request* r : made) fermata_request_free(r);
    for (fermata_member* member : m) fermata_member_leave(member);
    fermata_team_destroy(team);
  }
  // Prepares a broadcast by member 0; member r's request is made[made.size() - 2 + r].
  int prepare(std::uint64_t* const (&data)[2], std::size_t count) {
    fermata_operation operation = FERMATA_OPERATION_INIT;
    operation.collective = FERMATA_BROADCAST;
    operation.count = count;
    operation.type = FERMATA_UINT64;
    for (int r = 0; r < 2; ++r) {
      operation.out = data[r];
      fermata_request* request = nullptr;
      const int status = fermata_prepare(m[r], &operation, &request);
      if (status != FERMATA_OK) return status;
      made.push_back(request);
    }
    return FERMATA_OK;
  }
};

// Operations of more than the minimal line, whose sender stops at every fourth use.
TEST_F(PersistentRings, ShortOnesStream) {
  constexpr int kAhead = 64;
  for (const std::size_t count : {std::size_t{1}, std::size_t{8}, std::size_t{32}}) {
    std::vector<std::uint64_t> sent(count), received(count);
    ASSERT_EQ(prepare({sent.data(), received.data()}, count), FERMATA_OK) << fermata_error_detail();
    fermata_request* const* const pair = &made[made.size() - 2];
    for (int lap = 0; lap < 5; ++lap) {
      for (int i = 0; i < kAhead; ++i) {
        for (std::uint64_t& word : sent) word = static_cast<std::uint64_t>(lap * kAhead + i);
        ASSERT_EQ(fermata_request_start(pair[0]), FERMATA_OK) << fermata_error_detail();
        ASSERT_EQ(fermata_request_test(pair[0]), FERMATA_OK) << count << " elements, " << i << " before";
      }
      for (int i = 0; i < kAhead; ++i) {
        ASSERT_EQ(fermata_request_start(pair[1]), FERMATA_OK) << fermata_error_detail();
        ASSERT_EQ(fermata_request_test(pair[1]), FERMATA_OK) << fermata_error_detail();
        for (const std::uint64_t word : received)
          ASSERT_EQ(word, static_cast<std::uint64_t>(lap * kAhead + i));
      }
    }
  }
}

TEST_F(PersistentRings, ManyShortOnesLeaveRoomForDozensOfLongOnes) {
  std::vector<std::uint64_t> sent(1 << 17), received(1 << 17);
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(prepare({sent.data(), received.data()}, 1), FERMATA_OK) << i << ": " << fermata_error_detail();
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(prepare({sent.data(), received.data()}, sent.size()), FERMATA_OK)
        << i << ": " << fermata_error_detail();
}

// Members that share CPUs park for a number of calls. For a member that only starts requests, the starts
// count as calls.
TEST_F(PersistentRings, StartsAreCallsForWhoParks) {
  std::uint64_t sent = 0, received = 0;
  ASSERT_EQ(prepare({&sent, &received}, 1), FERMATA_OK) << fermata_error_detail();
  for (int r = 0; r < 2; ++r) {
    const std::uint64_t before = m[r]->member->log().paced_calls();
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(fermata_request_start(made[made.size() - 2 + static_cast<std::size_t>(r)]), FERMATA_OK)
          << fermata_error_detail();
      ASSERT_EQ(fermata_request_test(made[made.size() - 2 + static_cast<std::size_t>(r)]), FERMATA_OK)
          << fermata_error_detail();
    }
    EXPECT_EQ(m[r]->member->log().paced_calls() - before, 10U) << "rank " << r;
  }
}

}  // namespace
}  // namespace fermata::test
