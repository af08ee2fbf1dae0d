// Teams over several pretended hosts, whose ranks are threads. A host dies, a link stalls, a member leaves,
// aborts or makes another call. No member hangs, and the detail names the missing one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../../soon.hpp"
#include "fermata/fermata.h"
#include "fermata/hosts.h"
#include "house.hpp"
#include "team/handles.hpp"

namespace fermata::test {
namespace {

int barriers(fermata_member* m, int count) {
  for (int i = 0; i < count; ++i)
    if (const int status = fermata_barrier(m); status != FERMATA_OK) return status;
  return FERMATA_OK;
}

// Link delays are recorded only where a refresh is configured.
TEST(Hosts, AreObservedForARefreshAlone) {
  const House house(kLinks);
  for (const fermata_team* team : house.teams) EXPECT_EQ(team->team->port().delays(), nullptr);
}

TEST(Hosts, AnyRankIsAFreeOneOfThisHost) {
  const House house(kLinks);
  std::vector<fermata_member*> all;
  for (int host = 0; host < 3; ++host) {
    for (int nth = 0; nth < 2; ++nth) {
      ASSERT_EQ(fermata_team_join(house.teams[host], FERMATA_ANY_RANK, &all.emplace_back(nullptr)),
                FERMATA_OK)
          << fermata_error_detail();
      EXPECT_EQ(fermata_member_rank(all.back()), 2 * host + nth);
    }
    fermata_member* third = nullptr;
    EXPECT_EQ(fermata_team_join(house.teams[host], FERMATA_ANY_RANK, &third), FERMATA_ERR_BUSY);
  }
  for (fermata_member* m : all) fermata_member_leave(m);
}

std::string report_of(const fermata_team* team) {
  char text[1024] = "";
  std::size_t length = sizeof text;
  EXPECT_EQ(fermata_team_report(team, text, &length), FERMATA_OK);
  return text;
}

// A host does not see the other hosts' members.
TEST(Hosts, ReportsSayOfOtherHostsWhatTheseHaveTold) {
  House house({}, false, {0, 0, 1});
  std::atomic<bool> may_leave{false};
  const auto ends = house.run(20, [&](fermata_member* m, int rank) {
    const int status = barriers(m, 3);
    if (rank == 2) {
      EXPECT_TRUE(is_soon([&] { return may_leave.load(); }));
    } else if (rank == 0) {
      EXPECT_NE(report_of(house.teams[0]).find("rank 2 on host 1 has told nothing"), std::string::npos)
          << report_of(house.teams[0]);
      may_leave = true;
      EXPECT_TRUE(is_soon([&] {
        fermata_progress(m, 0.001);
        return report_of(house.teams[0]).find("rank 2 on host 1 has left") != std::string::npos;
      })) << report_of(house.teams[0]);
    }
    return status;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

TEST(Hosts, AStallReportDoesNotCallTheirMembersMissing) {
  setenv("FERMATA_STALL_SECONDS", "0.05", 1);
  testing::internal::CaptureStderr();
  {
    House house({}, false, {0, 0, 1});
    const auto ends = house.run(20, [&](fermata_member* m, int rank) {
      const int status = barriers(m, 1);
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return status == FERMATA_OK ? barriers(m, 1) : status;
    });
    for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  }
  unsetenv("FERMATA_STALL_SECONDS");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("rank 0 has waited"), std::string::npos) << text;
  EXPECT_NE(text.find("nobody: all members of this host are in this call\n  maybe also for 1 on other hosts"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("has not joined"), std::string::npos) << text;
}

// The team breaks after the signals of this call have come, but before the member looks at them. The call
// ends well, and the next one fails.
TEST(HostsDie, ACallWhoseSignalsHaveComeEndsWell) {
  for (const bool in_blocks : {false, true}) {
    House house({}, false, {0, 1});
    struct Meeting {
      fermata_team* team;
      std::atomic<bool> waits{false}, is_over{false}, has_broken{false};
    } meeting{house.teams[0]};
    const auto break_when_over = [](fermata_member*, void* user) {
      auto& m = *static_cast<Meeting*>(user);
      m.waits = true;
      EXPECT_TRUE(is_soon([&] { return m.is_over.load(); }));
      if (!m.has_broken.exchange(true)) fermata_team_abort(m.team);
      return 0;
    };
    const auto ends = house.run(20, [&](fermata_member* m, int rank) {
      std::vector<double> data(1000, rank);
      const auto call = [&] {
        return in_blocks ? fermata_broadcast(m, data.data(), data.size() * sizeof(double), 1)
                         : fermata_barrier(m);
      };
      if (rank == 0) {
        fermata_member_set_idle_hook(m, break_when_over, &meeting);
      } else {
        EXPECT_TRUE(is_soon([&] { return meeting.waits.load(); }));
      }
      const int first = call();
      EXPECT_EQ(first, FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(data.back(), in_blocks ? 1 : rank);
      if (rank == 0) return call();
      meeting.is_over = true;
      EXPECT_TRUE(is_soon([&] { return meeting.has_broken.load(); }));
      return first;
    });
    EXPECT_EQ(ends[0].status, FERMATA_ERR_BROKEN) << ends[0].detail;
  }
}

// Host 2 stops. Its own members time out, and the others learn that it is lost.
TEST(HostsDie, TheOthersAreTold) {
  House house(kLinks);
  std::atomic<int> ready{0};
  const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
    int status = barriers(m, 20);
    if (++ready; rank == 4) {
      while (ready < kMembers) std::this_thread::yield();
      house.loop.kill(2);
    }
    if (house.hosts[rank] == 2) fermata_member_set_timeout(m, 2);
    while (status == FERMATA_OK) status = fermata_barrier(m);
    return status;
  });
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(ends[r].status, FERMATA_ERR_MEMBER_LOST) << r << ": " << ends[r].detail;
    EXPECT_NE(ends[r].detail.find("host 2"), std::string::npos) << ends[r].detail;
  }
  for (int r = 4; r < 6; ++r)
    EXPECT_TRUE(ends[r].status == FERMATA_ERR_TIMEOUT || ends[r].status == FERMATA_ERR_MEMBER_LOST)
        << ends[r].detail;
}

// Hosts 0 and 1 cannot reach each other. They tell host 2.
TEST(HostsDie, ALinkThatStallsIsFound) {
  House house(kLinks);
  std::atomic<int> ready{0};
  const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
    int status = barriers(m, 20);
    ++ready;
    if (rank == 0) {
      while (ready < kMembers) std::this_thread::yield();
      house.loop.cut(0, 1);
    }
    for (int i = 0; i < 100000 && status == FERMATA_OK; ++i) status = fermata_barrier(m);
    return status;
  });
  for (const auto& end : ends) {
    EXPECT_EQ(end.status, FERMATA_ERR_MEMBER_LOST) << end.detail;
    EXPECT_NE(end.detail.find("rank "), std::string::npos) << end.detail;
  }
}

TEST(HostsDie, WhoLeavesIsMissedEverywhere) {
  House house(kLinks);
  const auto ends =
      house.run(10, [&](fermata_member* m, int rank) { return barriers(m, rank == 3 ? 10 : 11); });
  for (int r = 0; r < kMembers; ++r) {
    if (r == 3) continue;
    EXPECT_EQ(ends[r].status, FERMATA_ERR_MEMBER_LOST) << r << ": " << ends[r].detail;
    EXPECT_NE(ends[r].detail.find("rank 3"), std::string::npos) << ends[r].detail;
  }
  EXPECT_EQ(ends[3].status, FERMATA_OK) << ends[3].detail;
}

// Members may leave in order after different numbers of calls that don't synchronize: no other member counts
// them as lost.
TEST(HostsDie, WhoHasDoneItsPartMayLeave) {
  House house({.delay_ns = 100'000, .jitter_ns = 200'000, .held = 0.2, .lost = 0.1, .seed = 5});
  const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
    int status = FERMATA_OK;
    for (int i = 0; i < 10 && status == FERMATA_OK; ++i) {
      double data = rank == 0 ? i : -1;
      status = fermata_broadcast(m, &data, sizeof data, 0);
      if (status == FERMATA_OK && data != i) return FERMATA_ERR_VERIFY;
    }
    return status;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

// Host 2 stops in the middle of blocks that are longer than a ring buffer.
TEST(HostsDie, TheOthersAreToldInBlocks) {
  for (const bool begun : {false, true}) {
    House house(kLinks);
    std::atomic<int> ready{0};
    const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
      std::vector<double> in(80'000, 1.0), out(in.size());
      const auto sum = [&] {
        return fermata_allreduce(m, in.data(), out.data(), in.size(), FERMATA_DOUBLE, FERMATA_SUM);
      };
      int status = sum();
      if (status == FERMATA_OK && out[79'999] != kMembers) return FERMATA_ERR_VERIFY;
      ++ready;
      while (ready < kMembers) std::this_thread::yield();
      if (rank == 4) house.loop.kill(2);
      const int limit = house.hosts[rank] == 2 ? 2 : 20;  // s: host 2 receives nothing any more
      fermata_member_set_timeout(m, limit);
      fermata_operation operation = FERMATA_OPERATION_INIT;
      operation.collective = FERMATA_ALLREDUCE;
      operation.in = in.data();
      operation.out = out.data();
      operation.count = in.size();
      fermata_request* request = nullptr;
      if (begun && status == FERMATA_OK) status = fermata_begin(m, &operation, &request);
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(limit);
      if (request != nullptr)
        while ((status = fermata_request_test(request)) == FERMATA_PENDING &&
               std::chrono::steady_clock::now() < until)
          std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (status == FERMATA_PENDING) {
        fermata_team_abort(house.teams[house.hosts[rank]]);
        fermata_request_wait(request);
      }
      EXPECT_EQ(fermata_request_free(request), FERMATA_OK) << fermata_error_detail();
      while (status == FERMATA_OK) status = sum();
      return status;
    });
    for (int r = 0; r < 4; ++r) {
      EXPECT_EQ(ends[r].status, FERMATA_ERR_MEMBER_LOST) << r << ": " << ends[r].detail;
      EXPECT_NE(ends[r].detail.find("host 2"), std::string::npos) << ends[r].detail;
    }
  }
}

// Broadcast blocks that no member answers; the root leaves after it has sent them.
TEST(HostsDie, WhoHasSentItsBlocksMayLeave) {
  House house({.delay_ns = 100'000, .jitter_ns = 200'000, .held = 0.2, .lost = 0.1, .seed = 6});
  const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
    int status = FERMATA_OK;
    for (int i = 0; i < 20 && status == FERMATA_OK; ++i) {
      std::vector<int> data(static_cast<std::size_t>(100 * i + 20), rank == 0 ? i : -1);
      status = fermata_broadcast(m, data.data(), data.size() * sizeof(int), 0);
      for (const int value : data)
        if (status == FERMATA_OK && value != i) return FERMATA_ERR_VERIFY;
    }
    return status;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

TEST(HostsDie, AnotherBlockIsMetAcrossHosts) {
  House house(kLinks);
  const auto ends = house.run(10, [&](fermata_member* m, int rank) -> int {
    std::vector<double> in(1000, 1.0), out(1000);
    int status = barriers(m, 5);
    const std::size_t count = rank >= 4 ? 999 : 1000;
    if (status == FERMATA_OK)
      status = fermata_allreduce(m, in.data(), out.data(), count, FERMATA_DOUBLE, FERMATA_SUM);
    return status != FERMATA_OK ? status : fermata_barrier(m);
  });
  for (const auto& end : ends)
    EXPECT_EQ(end.status, FERMATA_ERR_MISMATCH) << end.status << ": " << end.detail;
}

// In a team that was split from the team with the port, the detail gives the lost member's rank in the
// sub-team.
TEST(HostsDie, TheOthersAreToldInATeamOfASplit) {
  House house(kLinks);
  std::atomic<int> ready{0};
  const auto ends = house.run(20, [&](fermata_member* m, int rank) -> int {
    fermata_member* part = nullptr;
    int status = fermata_team_split(m, rank % 2, -rank, &part);
    if (status == FERMATA_OK) status = barriers(part, 20);
    fermata_member_set_timeout(part, house.hosts[rank] == 2 ? 2 : 20);
    if (++ready; rank == 4) {
      while (ready < kMembers) std::this_thread::yield();
      house.loop.kill(2);
    }
    while (status == FERMATA_OK) status = fermata_barrier(part);
    const std::string detail = fermata_error_detail();
    fermata_member_leave(part);
    // Sub-teams are ranks 4, 2, 0 and 5, 3, 1. Their rank 0 is on the third host, which is the sub-team's
    // host 0.
    const bool named = detail.find("rank 0 on host 0") != std::string::npos;
    return status == FERMATA_ERR_MEMBER_LOST && rank < 4 && !named ? FERMATA_ERR_VERIFY : status;
  });
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(ends[r].status, FERMATA_ERR_MEMBER_LOST) << r << ": " << ends[r].detail;
}

TEST(HostsDie, AnAbortIsHeardEverywhere) {
  House house(kLinks);
  const auto ends = house.run(10, [&](fermata_member* m, int rank) -> int {
    const int status = barriers(m, 5);
    if (rank == 5) fermata_team_abort(house.teams[2]);
    return status != FERMATA_OK ? status : rank == 5 ? FERMATA_ERR_BROKEN : fermata_barrier(m);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_ERR_BROKEN) << end.status << ": " << end.detail;
}

TEST(HostsDie, AnotherCallIsMetAcrossHosts) {
  House house(kLinks);
  const auto ends = house.run(10, [&](fermata_member* m, int rank) -> int {
    std::int64_t value = rank;
    int status = barriers(m, 5);
    if (status == FERMATA_OK)
      status = fermata_allreduce(m, &value, &value, 1, FERMATA_INT64, rank >= 4 ? FERMATA_MIN : FERMATA_MAX);
    return status != FERMATA_OK ? status : fermata_barrier(m);
  });
  for (const auto& end : ends)
    EXPECT_EQ(end.status, FERMATA_ERR_MISMATCH) << end.status << ": " << end.detail;
}

TEST(HostsDie, TagsThatDifferAreFoundAndTheTeamGoesOn) {
  House house(kLinks, true);
  const auto ends = house.run(10, [&](fermata_member* m, int rank) -> int {
    if (fermata_barrier_tagged(m, rank == 2 ? 8 : 7) != FERMATA_ERR_MISMATCH) return FERMATA_ERR_VERIFY;
    return fermata_barrier_tagged(m, 9);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

TEST(HostsDie, BegunBarriers) {
  House house(kLinks);
  const auto ends = house.run(10, [&](fermata_member* m, int) -> int {
    for (int i = 0; i < 20; ++i) {
      if (const int status = fermata_arrive(m); status != FERMATA_OK) return status;
      int status = fermata_test(m);
      for (int n = 0; n < 10'000'000 && status == FERMATA_PENDING; ++n) status = fermata_test(m);
      if (status != FERMATA_OK) return status;
      if (const int left = fermata_depart(m); left != FERMATA_OK) return left;
    }
    return FERMATA_OK;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.status << ": " << end.detail;
}

TEST(HostsDie, BadArgumentsAreRefused) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  const int hosts[] = {0, 1}, far[] = {0, 7};
  fermata_team* team = nullptr;
  EXPECT_EQ(fermata_team_create_hosts(nullptr, hosts, 0, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_create_hosts(&config, nullptr, 0, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_create_hosts(&config, hosts, 0, nullptr), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_create_hosts(&config, far, 0, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_create_hosts(&config, hosts, 3, &team), FERMATA_ERR_ARGUMENT);
  ASSERT_EQ(fermata_team_create_hosts(&config, hosts, 0, &team), FERMATA_OK) << fermata_error_detail();
  fermata_member* member = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &member), FERMATA_ERR_ARGUMENT) << "there is no port yet";
  net::Loop loop({0, 1}, {});
  fermata_port port = *reinterpret_cast<const fermata_port*>(loop.port(0));
  port.flush = nullptr;
  EXPECT_EQ(fermata_team_connect(team, &port), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_connect(nullptr, &port), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_team_connect(team, nullptr), FERMATA_ERR_ARGUMENT);
  port = *reinterpret_cast<const fermata_port*>(loop.port(0));
  EXPECT_EQ(fermata_team_connect(team, &port), FERMATA_OK);
  EXPECT_EQ(fermata_team_connect(team, &port), FERMATA_ERR_BUSY);
  EXPECT_EQ(fermata_team_join(team, 1, &member), FERMATA_ERR_ARGUMENT) << "it is on another host";
  std::uint64_t hash = 0, other = 0;
  EXPECT_EQ(fermata_team_hash(team, &hash), FERMATA_OK);
  EXPECT_NE(hash, 0u);
  fermata_team* there = nullptr;
  ASSERT_EQ(fermata_team_create_hosts(&config, hosts, 1, &there), FERMATA_OK);
  EXPECT_EQ(fermata_team_hash(there, &other), FERMATA_OK);
  EXPECT_EQ(hash, other) << "hosts run the same plans";
  fermata_team_destroy(there);
  fermata_team_destroy(team);
  fermata_team* one = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &one), FERMATA_OK);
  EXPECT_EQ(fermata_team_connect(one, &port), FERMATA_ERR_ARGUMENT) << "one host needs no port";
  fermata_team_destroy(one);
}

}  // namespace
}  // namespace fermata::test
