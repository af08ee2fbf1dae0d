// A process dies with all its members. Every survivor names every one of them, and nothing is left behind.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>

#include "../failures/kill.hpp"
#include "house.hpp"

namespace fermata::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kKills = 6;
#else
constexpr int kKills = 60;
#endif

// Makes calls on lines and on blocks until one fails.
int until_it_fails(fermata_member* m, int rank, unsigned seed) {
  const auto n = static_cast<unsigned>(fermata_member_count(m));
  std::vector<double> in(6000, rank), out(6000);
  int status = FERMATA_OK;
  for (unsigned i = seed; status == FERMATA_OK; ++i) {
    switch (i % 5) {
      case 0: status = fermata_barrier(m); break;
      case 1: status = fermata_allreduce(m, in.data(), out.data(), 1, FERMATA_DOUBLE, FERMATA_MAX); break;
      case 2: status = fermata_allreduce(m, in.data(), out.data(), 6000, FERMATA_DOUBLE, FERMATA_SUM); break;
      case 3: status = fermata_broadcast(m, out.data(), 300 * sizeof(double), static_cast<int>(i % n)); break;
      default: status = fermata_alltoall(m, in.data(), out.data(), 1000, FERMATA_DOUBLE); break;
    }
  }
  return status;
}

bool names(const std::string& text, const std::vector<int>& ranks) {
  for (const int r : ranks)
    if (text.find("rank " + std::to_string(r)) == std::string::npos) return false;
  return true;
}

struct Board {
  std::atomic<int> joined{0};
  char wrong[300] = {};
};

TEST(Death, EverySurvivorNamesAllRanksOfTheProcess) {
  const Ranks ranks = {{1, 3}, {0, 2}, {4}};
  const int descriptors = open_descriptors();
  auto& board = *static_cast<Board*>(
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int trial = 0; trial < kKills && !HasFailure(); ++trial) {
    board.joined = 0;
    fermata_team* team =
        make_team(5, FERMATA_PROCESSES, trial % 2 == 0 ? FERMATA_WAIT_AUTO : FERMATA_WAIT_PARK);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    {
      ForkedMembers forked(3, [&](int p) {
        return live_in_house(team, ranks[static_cast<std::size_t>(p)], [&](fermata_member* m, int rank) {
          ++board.joined;
          const int status = until_it_fails(m, rank, static_cast<unsigned>(trial));
          const std::string detail = fermata_error_detail();
          if (status == FERMATA_ERR_MEMBER_LOST && names(detail, ranks[0]) && !names(detail, {rank}))
            return 0;
          std::snprintf(board.wrong, sizeof board.wrong, "rank %d: status %d: %s", rank, status,
                        detail.c_str());
          return 99;
        });
      });
      while (board.joined < 5) usleep(50);
      usleep(static_cast<useconds_t>(trial * 137 % 5000));
      ASSERT_EQ(kill(forked.pid(0), SIGKILL), 0);
      EXPECT_EQ(forked.wait_for(0), 1000 + SIGKILL);
      for (int p = 1; p < 3; ++p)
        EXPECT_EQ(forked.wait_for(p), 0) << "trial " << trial << ": " << board.wrong;
    }
    std::string report(4096, '\0');
    std::size_t length = report.size();
    EXPECT_EQ(fermata_team_report(team, report.data(), &length), FERMATA_OK);
    for (const char* line : {"rank 1 (", "rank 3 ("}) {
      const std::size_t at = report.find(line);
      EXPECT_EQ(report.substr(at, report.find('\n', at) - at).find("has died") != std::string::npos, true)
          << report.c_str();
    }
    fermata_team_destroy(team);
  }
  munmap(&board, sizeof board);
  EXPECT_EQ(open_descriptors(), descriptors);
}

// A member that has left before its process dies is not named as lost.
TEST(Death, WhoHadLeftBeforeIsNotNamed) {
  fermata_team* team = make_team(4, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const SharedCount dead;
  ForkedMembers forked(2, [&](int p) {
    if (p == 1)
      return live_in_house(team, {3}, [&](fermata_member* m, int) {
        if (fermata_barrier(m) != FERMATA_OK) return 90;
        // A survivor that looks earlier finds only that rank 1 has left.
        for (int n = 0; n < 30'000 && *dead == 0; ++n) usleep(1000);
        const int status = fermata_barrier(m);
        const std::string detail = fermata_error_detail();
        return status == FERMATA_ERR_MEMBER_LOST && names(detail, {0, 2}) && !names(detail, {1}) ? 0 : 91;
      });
    return live_in_house(team, {0, 1, 2}, [team](fermata_member* m, int rank) {
      if (fermata_barrier(m) != FERMATA_OK) return 90;
      if (rank == 1) return 0;
      if (!comes_to_say(team, 1, "has left")) return 93;
      kill(getpid(), SIGKILL);
      return 0;
    });
  });
  EXPECT_EQ(forked.wait_for(0), 1000 + SIGKILL);
  ++*dead;
  EXPECT_EQ(forked.wait_for(1), 0);
  fermata_team_destroy(team);
}

TEST(Fork, AChildOfAHouseJoinsWhatIsFree) {
  fermata_team* team = make_team(3, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  fermata_member* mine = nullptr;
  ASSERT_EQ(fermata_team_join(team, 0, &mine), FERMATA_OK);
  ForkedMembers forked(1, [&](int) {
    if (fermata_barrier(mine) != FERMATA_ERR_FORKED) return 90;
    return live_in_house(team, {FERMATA_ANY_RANK, FERMATA_ANY_RANK}, [](fermata_member* m, int) {
      return fermata_barrier(m) == FERMATA_OK && fermata_barrier(m) == FERMATA_OK ? 0 : 91;
    });
  });
  fermata_member_set_timeout(mine, 30);
  EXPECT_EQ(fermata_barrier(mine), FERMATA_OK) << fermata_error_detail();
  usleep(60'000);
  EXPECT_EQ(fermata_barrier(mine), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(forked.wait_for(0), 0);
  fermata_member_leave(mine);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
