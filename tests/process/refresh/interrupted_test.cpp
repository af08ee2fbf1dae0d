// Refreshes while a request is outstanding, a host dies, or a member aborts the team.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "house.hpp"

namespace fermata::test {
namespace {

#ifdef __SANITIZE_THREAD__                           // folds take ten times as long, links do not
constexpr std::size_t kOutlastsAnEpisode = 100'000;  // doubles
#else
constexpr std::size_t kOutlastsAnEpisode = 600'000;
#endif

// A request that has not ended is outstanding: the plans do not change meanwhile, and change afterwards.
TEST(Refresh, WhatIsOutstandingHoldsAChangeUp) {
  House house({0, 1, 2, 3}, 0.02);
  std::atomic<std::uint64_t> meanwhile{99};
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    std::vector<double> data(kOutlastsAnEpisode, 1.0);
    const fermata_operation operation =
        test::operation(FERMATA_ALLREDUCE, data.data(), data.data(), data.size(), FERMATA_DOUBLE);
    int e = 0;
    // One request after the other is started before each episode, and so before each refresh. That holds from
    // the start, because the time of the next refresh depends on how long earlier calls took.
    const auto begun_until = [&](const std::function<bool()>& enough) -> int {
      const auto end = Clock::now() + kLimit;
      for (bool over = false; !over; ++e) {
        fermata_request* request = nullptr;
        if (const int status = fermata_begin(m, &operation, &request); status != FERMATA_OK) return status;
        over = rank == 0 && (enough() || Clock::now() > end);
        int status = episode(m, rank, e, &over);
        if (rank == 0) meanwhile = house.changes();
        if (status == FERMATA_OK) status = fermata_request_wait(request);
        fermata_request_free(request);
        if (status != FERMATA_OK) return status;
      }
      return FERMATA_OK;
    };
    int status = begun_until([&] { return house.refreshes() >= 4; });
    if (rank == 0) house.loop.set_delay(1, 2, kFar);
    if (status == FERMATA_OK)
      status = begun_until([&] { return house.text().find("outstanding") != std::string::npos; });
    if (status == FERMATA_OK) status = run_until(m, rank, &e, [&] { return house.changes() >= 1; });
    return status;
  });
  house.expect_right(ends);
  EXPECT_NE(house.text().find("outstanding"), std::string::npos) << house.text();
  EXPECT_EQ(meanwhile.load(), 0u) << house.text();
  EXPECT_EQ(house.changes(), 1u) << house.text();
}

// A host dies anywhere in a refresh or a change of plans. The others name it, and none hangs.
TEST(Refresh, WhoDiesInItIsNamed) {
  for (int when = 0; when < 4; ++when) {
    House house({0, 0, 1, 2, 2, 3}, 0.001, 10);
    std::atomic<bool> go{false};
    std::atomic<int> told{0};
    std::thread killer([&] {
      while (!go) std::this_thread::yield();
      const std::uint64_t seen = house.refreshes();
      const auto end = Clock::now() + std::chrono::seconds(3);
      while (house.refreshes() == seen && Clock::now() < end) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(700 * when));
      house.loop.kill(2);
    });
    const auto ends = house.run([&](fermata_member* m, int rank) -> int {
      int e = 0;
      if (rank == 0) house.loop.set_delay(1, 3, kFar);
      if (rank == 0 && when % 2 == 0) go = true;
      const auto late = Clock::now() + std::chrono::seconds(2);  // slow refreshes are rare
      const int status = run_until(m, rank, &e, [&] {
        if (house.refreshes() >= 5 || Clock::now() > late) go = true;
        return false;
      });
      // host 2 receives nothing any more
      if (house.hosts[rank] != 2 && ++told == 4) fermata_team_abort(house.teams[2]);
      return status;
    });
    go = true;
    killer.join();
    int named = 0;
    for (const std::size_t r : {0, 1, 2, 5}) {
      EXPECT_TRUE(ends[r].status == FERMATA_ERR_MEMBER_LOST || ends[r].status == FERMATA_ERR_BROKEN)
          << r << ": " << ends[r].detail;
      named += ends[r].detail.find("host 2") != std::string::npos;
    }
    EXPECT_GE(named, 1) << ends[0].detail;
    for (const std::size_t r : {3, 4}) EXPECT_NE(ends[r].status, FERMATA_OK);
  }
}

// An abort through the handle from which the members joined reaches them, to whatever team they have moved.
TEST(Refresh, AnAbortFollowsTheMembers) {
  House house({0, 1, 2, 3}, 0.02);
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    int e = 0;
    if (const int status = run_until(m, rank, &e, [&] { return house.refreshes() >= 4; });
        status != FERMATA_OK)
      return status;
    if (rank == 0) house.loop.set_delay(1, 2, kFar);
    if (const int status = run_until(m, rank, &e, [&] { return house.changes() >= 1; }); status != FERMATA_OK)
      return status;
    if (rank == 3) {
      char text[4000];
      size_t length = sizeof text;
      if (fermata_team_report(house.teams[3], text, &length) != FERMATA_OK ||
          std::string(text).find("rank 3") == std::string::npos)
        return FERMATA_ERR_VERIFY;
      fermata_team_abort(house.teams[3]);
    }
    // The first barriers may complete before the abort reaches all members.
    int status = FERMATA_OK;
    for (int n = 0; n < 1000 && status == FERMATA_OK; ++n) status = fermata_barrier(m);
    return status;
  });
  for (const House::End& end : ends)
    EXPECT_EQ(end.status, FERMATA_ERR_BROKEN) << end.status << ": " << end.detail;
}

}  // namespace
}  // namespace fermata::test
