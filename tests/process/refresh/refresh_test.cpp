// Refreshes of a team's profile over links whose delays change while it runs. The tests check to which plans
// the members change, and that nothing else changes for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "../../own_folder.hpp"
#include "house.hpp"
#include "plan/hosts.hpp"
#include "profile/store.hpp"

namespace fermata::test {
namespace {

constexpr int kLateMs = 20 * kNear / (1000 * kMicro);
constexpr int kBatch = 10, kBarriers = 4 * kBatch;

// The time of one barrier in a back-to-back series, by rank 0's clock: the least of a few batches.
double barrier_us(fermata_member* m) {
  double least = 1e9;
  for (int batch = 0; batch < kBarriers / kBatch; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < kBatch; ++i)
      if (fermata_barrier(m) != FERMATA_OK) return 1e9;
    least = std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kBatch);
  }
  return least;
}

TEST(Refresh, PlansGoRoundALinkThatHasBecomeSlowAndComeBack) {
  House house({0, 1, 2, 3}, 0.02);
  double before = 0, slow = 0, after = 0;
  std::uint64_t over_slow = 0;
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    int e = 0;
    if (const int status = run_until(m, rank, &e, [&] { return house.refreshes() >= 3; });
        status != FERMATA_OK)
      return status;
    const std::uint64_t first = house.changes();
    const double us = barrier_us(m);
    if (rank == 0) {
      before = us;
      house.loop.set_delay(1, 2, kFar);
    }
    if (const int status = run_until(m, rank, &e, [&] { return house.changes() > first; });
        status != FERMATA_OK)
      return status;
    const std::uint64_t carried = house.loop.packets_between(1, 2);
    const double us_slow = barrier_us(m);
    if (rank == 0) over_slow = house.loop.packets_between(1, 2) - carried;
    const std::uint64_t second = house.changes();
    if (rank == 0) {
      slow = us_slow;
      house.loop.set_delay(1, 2, kNear);
    }
    // Only probes still use that link.
    const auto back = [&] { return house.changes() > second; };
    if (const int status = run_until(m, rank, &e, back, false); status != FERMATA_OK) return status;
    const double us_after = barrier_us(m);
    if (rank == 0) after = us_after;
    return FERMATA_OK;
  });
  house.expect_right(ends);
  const std::string text = house.text();
  EXPECT_NE(text.find("b - c"), std::string::npos) << text;
  EXPECT_GE(house.changes(), 2u) << text;
  for (int host = 1; host < 4; ++host) EXPECT_EQ(house.changes(host), house.changes()) << "all at once";
  EXPECT_LT(over_slow, static_cast<std::uint64_t>(kBarriers))
      << "nothing but some probes goes over the slow link\n"
      << text;
  std::printf("barrier: %.0f us; with a link of %lld us round it %.0f us; again %.0f us\n%s", before,
              static_cast<long long>(kFar / kMicro), slow, after, text.c_str());
}

// Small or rare delays of a link, and late members, do not cause a change of plans.
TEST(Refresh, NoiseAndLateMembersChangeNothing) {
  House house({0, 0, 1, 1, 2, 3}, 0.02);
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    int e = 0;
    if (const int status = run_until(m, rank, &e, [&] { return house.refreshes() >= 4; });
        status != FERMATA_OK)
      return status;
    if (rank == 0) house.loop.set_delay(1, 2, kNear * 11 / 10);
    const auto late = [&] {
      if (rank == 5) std::this_thread::sleep_for(std::chrono::milliseconds(kLateMs));
      return rank == 0 && house.refreshes() >= 9;
    };
    const auto end = Clock::now() + kLimit;
    for (bool over = false; !over; ++e) {
      over = late() || (rank == 0 && Clock::now() > end);
      if (const int status = episode(m, rank, e, &over); status != FERMATA_OK) return status;
    }
    return FERMATA_OK;
  });
  house.expect_right(ends);
  EXPECT_GE(house.refreshes(), 9u);
  EXPECT_EQ(house.changes(), 0u) << house.text();
  // No link looks even half as slow as the member is late.
  const std::string text = house.text();
  for (std::size_t at = 0; (at = text.find(" - d: ", at)) != std::string::npos; ++at)
    EXPECT_LT(std::strtod(text.c_str() + at + 6, nullptr), kLateMs / 2.0) << text;
}

TEST(Refresh, OffItNeverComes) {
  House house({0, 1, 2, 3}, -1);
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    if (rank == 0) house.loop.set_delay(1, 2, kFar);
    bool over = false;
    int status = FERMATA_OK;
    for (int e = 0; e < 60 && status == FERMATA_OK; ++e) status = episode(m, rank, e, &over);
    return status;
  });
  house.expect_right(ends);
  EXPECT_EQ(house.refreshes(), 0u);
  EXPECT_EQ(house.text(), "");
}

// FERMATA_REFRESH of the planning host applies where the configuration does not ask for refreshes. A
// malformed value asks for none. "keep" writes the changes to the profile by which the team was planned.
TEST(Refresh, TheEnvironmentAsks) {
  const OwnCache cache;
  const auto ask = [](const char* text, double configured) {
    setenv("FERMATA_REFRESH", text, 1);
    House house({0, 0, 1}, configured);
    const auto ends = house.run([&](fermata_member* m, int rank) -> int {
      bool over = false;
      int status = FERMATA_OK;
      for (int e = 0; e < 20 && status == FERMATA_OK; ++e) status = episode(m, rank, e, &over);
      return status;
    });
    house.expect_right(ends);
    return std::pair(house.refreshes(), house.text());
  };
  for (const char* text : {"soon", "", "-1", "0", "1,kept", "1 s"}) EXPECT_EQ(ask(text, 0).first, 0u) << text;
  EXPECT_EQ(ask("0.01", -1).first, 0u);
  EXPECT_GE(ask("0.01", 0).first, 1u);
  EXPECT_NE(ask("0.01,keep", 0).second.find("not saved: no MPI job"), std::string::npos);
  Profile job = profile_of_hosts(topology_of_hosts({0, 1, 2}));
  job.hosts = {"b", "c", "a"};
  job.pinned = {-1, -1, -1};
  job.fingerprint = fingerprint(job.topology);
  const auto path = save_profile(job);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(ask("0.01", 0).second.find("saved in"), std::string::npos);
  EXPECT_NE(ask("0.01,keep", 0).second.find("saved in " + *path), std::string::npos);
  const auto kept = load_job_profile({"a", "b", "c"});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_GE(kept->o.at(0, 2), static_cast<double>(kNear));  // b and a
  EXPECT_EQ(kept->o.at(0, 1), job.o.at(0, 1)) << "there was no c";
}

// Blocks, started requests and split teams give correct results after a change of plans as before. An
// outstanding request delays a change; a persistent operation prevents every later one.
TEST(Refresh, EverythingElseIsRightBehindAChange) {
  House house({0, 0, 1, 1, 2, 2}, 0.02);
  constexpr std::size_t kCount = 3000;
  std::string outstanding;
  std::uint64_t last = 0;
  const auto ends = house.run([&](fermata_member* m, int rank) -> int {
    std::vector<double> in(kCount), out(kCount), again(kCount);
    const auto blocks = [&](int e) {
      for (std::size_t i = 0; i < kCount; ++i) in[i] = rank + e + static_cast<double>(i);
      const int status = fermata_allreduce(m, in.data(), out.data(), kCount, FERMATA_DOUBLE, FERMATA_SUM);
      if (status != FERMATA_OK) return status;
      for (std::size_t i = 0; i < kCount; ++i)
        if (out[i] != 6 * (e + static_cast<double>(i)) + 15) return static_cast<int>(FERMATA_ERR_VERIFY);
      return static_cast<int>(FERMATA_OK);
    };
    int e = 0, status = blocks(1);
    if (status == FERMATA_OK) status = run_until(m, rank, &e, [&] { return house.refreshes() >= 4; });
    if (status != FERMATA_OK) return status;
    // All but the last rank start it before a link becomes slow. It ends after the last rank has started it.
    const fermata_operation operation =
        test::operation(FERMATA_ALLREDUCE, in.data(), again.data(), kCount, FERMATA_DOUBLE);
    fermata_request* request = nullptr;
    if (rank == 0) house.loop.set_delay(0, 1, 2 * kFar);
    if ((status = fermata_begin(m, &operation, &request)) == FERMATA_OK)
      status = fermata_request_wait(request);
    for (std::size_t i = 0; i < kCount && status == FERMATA_OK; ++i)
      if (again[i] != out[i]) status = FERMATA_ERR_VERIFY;
    if (status != FERMATA_OK) return status;
    if ((status = run_until(m, rank, &e, [&] { return house.changes() >= 1; })) != FERMATA_OK) return status;
    // It has ended; it is freed after the change.
    if (fermata_request_test(request) != FERMATA_OK || fermata_request_free(request) != FERMATA_OK)
      return FERMATA_ERR_VERIFY;
    fermata_member* part = nullptr;
    if ((status = fermata_team_split(m, rank % 2, -rank, &part)) != FERMATA_OK) return status;
    for (int n = 0; n < 40 && status == FERMATA_OK; ++n) {
      double sum = rank;
      status = fermata_allreduce(part, &sum, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM);
      if (status == FERMATA_OK && sum != (rank % 2 == 0 ? 6 : 9)) status = FERMATA_ERR_VERIFY;
    }
    fermata_member_leave(part);
    if (status == FERMATA_OK) status = blocks(2);
    fermata_request* persistent = nullptr;
    if (status == FERMATA_OK) status = fermata_prepare(m, &operation, &persistent);
    if (rank == 0) last = house.refreshes();
    if (status == FERMATA_OK && rank == 0) house.loop.set_delay(0, 1, kNear);
    for (bool over = false; status == FERMATA_OK && e % 200 != 0; ++e) status = episode(m, rank, e, &over);
    if (status == FERMATA_OK) status = fermata_request_start(persistent);
    if (status == FERMATA_OK) status = fermata_request_wait(persistent);
    for (std::size_t i = 0; i < kCount && status == FERMATA_OK; ++i)
      if (again[i] != out[i]) status = FERMATA_ERR_VERIFY;
    fermata_request_free(persistent);
    return status;
  });
  house.expect_right(ends);
  EXPECT_GE(house.changes(), 1u) << house.text();
  EXPECT_EQ(house.refreshes(), last) << "a persistent operation's slots are in the team's memory";
}

}  // namespace
}  // namespace fermata::test
