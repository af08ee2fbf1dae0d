// Teams within another team's segment. Their processes need no descriptor, get an error where the segment has
// no room, and leave nothing behind.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kill.hpp"

namespace fermata::test {
namespace {

// Shared between the processes of a test: the place of a team, and how many have come how far.
struct Board {
  std::atomic<std::uint64_t> place{0};
  std::atomic<int> joined{0}, step{0};
};

class Within : public ::testing::Test {
 protected:
  void SetUp() override {
    board_ =
        new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board;
    segment_owner_ = make_team(1, FERMATA_PROCESSES);
    ASSERT_NE(segment_owner_, nullptr) << fermata_error_detail();
  }
  void TearDown() override {
    fermata_team_destroy(segment_owner_);
    munmap(board_, sizeof(Board));
  }

  fermata_team* create(int members, std::uint64_t* place, fermata_team* beside = nullptr) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = members;
    config.engine = FERMATA_PROCESSES;
    fermata_team* team = nullptr;
    status_ = fermata_team_create_within(beside != nullptr ? beside : segment_owner_, &config, place, &team);
    return status_ == FERMATA_OK ? team : nullptr;
  }

  template <class T>
  static bool comes(const std::atomic<T>& word, T wanted) {
    for (int i = 0; i < 200'000 && word.load() < wanted; ++i) usleep(100);
    return word.load() >= wanted;
  }

  // Rank 0 of `members` makes the team, and the others attach to it.
  int meet(int rank, int members, fermata_team** team, fermata_member** member) {
    std::uint64_t place = 0;
    if (rank == 0) {
      *team = create(members, &place);
      if (*team == nullptr) return 60;
      board_->place = place;
    } else {
      if (!comes(board_->place, std::uint64_t{1})) return 61;
      if (fermata_team_attach_within(segment_owner_, board_->place, team) != FERMATA_OK) return 62;
    }
    const int status = fermata_team_join(*team, rank, member);
    if (status == FERMATA_OK) fermata_member_set_timeout(*member, 20);
    return code_of(status);
  }

  // The memory that the outer team's segment file occupies.
  static blkcnt_t memory() {
    struct stat info{};
    DIR* dir = opendir("/proc/self/fd");
    blkcnt_t blocks = 0;
    while (const dirent* entry = readdir(dir)) {
      char target[64] = "";
      const std::string path = std::string("/proc/self/fd/") + entry->d_name;
      if (readlink(path.c_str(), target, sizeof target - 1) < 0 ||
          std::strstr(target, "memfd:fermata") == nullptr)
        continue;
      if (stat(path.c_str(), &info) == 0) blocks += info.st_blocks;
    }
    closedir(dir);
    return blocks;
  }

  Board* board_ = nullptr;
  fermata_team* segment_owner_ = nullptr;
  int status_ = FERMATA_OK;
};

TEST_F(Within, ProcessesMeetByAPlaceAlone) {
  const int descriptors = open_descriptors();
  constexpr int kMembers = 3;
  ForkedMembers forked(kMembers, [&](int rank) {
    fermata_team* team = nullptr;
    fermata_member* member = nullptr;
    if (const int code = meet(rank, kMembers, &team, &member); code != 0) return code;
    if (open_descriptors() != descriptors) return 90;
    std::vector<int> all(5000, rank + 1), sum(5000);
    for (int i = 0; i < 200; ++i) {
      if (fermata_barrier(member) != FERMATA_OK) return 91;
      if (fermata_allreduce(member, all.data(), sum.data(), 5000, FERMATA_INT32, FERMATA_SUM) != FERMATA_OK)
        return 92;
      if (sum[0] != 6 || sum[4999] != 6) return 93;
    }
    fermata_member_leave(member);
    fermata_team_destroy(team);
    return 0;
  });
  for (int r = 0; r < kMembers; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
}

// After a team is destroyed, the next team in its place sees nothing of it, and no team has its place number.
TEST_F(Within, PlacesAreUsedAgain) {
  std::uint64_t before = 0, now = 0;
  const blkcnt_t at_first = [&] {
    fermata_team_destroy(create(1, &before));  // the cached plans stay
    return memory();
  }();
  for (int i = 0; i < 50; ++i) {
    fermata_team* team = create(1, &now);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    EXPECT_NE(now, before);
    fermata_member* member = nullptr;
    ASSERT_EQ(fermata_team_join(team, 0, &member), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(fermata_barrier(member), FERMATA_OK);
    EXPECT_GT(memory(), at_first);
    fermata_team* late = nullptr;
    EXPECT_EQ(fermata_team_attach_within(segment_owner_, before, &late), FERMATA_ERR_ARGUMENT);
    fermata_member_leave(member);
    fermata_team_destroy(team);
    EXPECT_EQ(fermata_team_attach_within(segment_owner_, now, &late), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(memory(), at_first);
    before = now;
  }
}

TEST_F(Within, ManyAtOnceAndOneTooMany) {
  const int descriptors = open_descriptors();
  std::vector<fermata_team*> teams;
  std::uint64_t place = 0;
  for (int i = 0; i < 2048; ++i) {
    teams.push_back(create(1 + i % 2, &place));
    ASSERT_NE(teams.back(), nullptr) << i << ": " << fermata_error_detail();
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(create(1, &place), nullptr);
  EXPECT_EQ(status_, FERMATA_ERR_MEMORY);
  for (fermata_team* team : teams) fermata_team_destroy(team);
  // A size that no team had before.
  teams.assign(100, nullptr);
  for (fermata_team*& team : teams) {
    team = create(3, &place);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
  }
  for (fermata_team* team : teams) fermata_team_destroy(team);
}

TEST_F(Within, TheGroundsMemoryStaysAsLongAsTheyDo) {
  std::uint64_t place = 0, other = 0;
  fermata_team* team = create(1, &place);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  fermata_team_destroy(segment_owner_);
  segment_owner_ = nullptr;
  fermata_team* beside = create(1, &other, team);
  ASSERT_NE(beside, nullptr) << fermata_error_detail();
  fermata_team* again = nullptr;
  ASSERT_EQ(fermata_team_attach_within(beside, place, &again), FERMATA_OK) << fermata_error_detail();
  fermata_member* member = nullptr;
  ASSERT_EQ(fermata_team_join(again, 0, &member), FERMATA_OK) << fermata_error_detail();
  fermata_team_destroy(team);
  fermata_team_destroy(again);
  EXPECT_EQ(fermata_barrier(member), FERMATA_OK);
  fermata_member_leave(member);
  fermata_team_destroy(beside);
  EXPECT_EQ(memory(), 0);
}

// A handle that a child inherits by fork counts only after the child has joined. From then on its parent may
// destroy the team.
TEST_F(Within, AForkedChildCountsOnceItHasJoined) {
  std::uint64_t place = 0;
  fermata_team* team = create(2, &place);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int rank) {
    fermata_member* member = nullptr;
    if (fermata_team_join(team, rank, &member) != FERMATA_OK) return 90;
    ++board_->joined;
    if (!comes(board_->step, 1)) return 91;
    fermata_member_set_timeout(member, 20);
    for (int i = 0; i < 100; ++i)
      if (fermata_barrier(member) != FERMATA_OK) return 92;
    fermata_member_leave(member);
    fermata_team_destroy(team);
    return 0;
  });
  ASSERT_TRUE(comes(board_->joined, 2));
  fermata_team_destroy(team);
  std::uint64_t next = 0;
  fermata_team* other = create(2, &next);  // has another place
  ASSERT_NE(other, nullptr) << fermata_error_detail();
  board_->step = 1;
  for (int r = 0; r < 2; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
  fermata_team* late = nullptr;
  EXPECT_EQ(fermata_team_attach_within(segment_owner_, place, &late), FERMATA_ERR_ARGUMENT);
  fermata_team_destroy(other);
}

// Each team's members have locks of their own in the one file.
TEST_F(Within, WhoWasKilledIsNamed) {
  for (int trial = 0; trial < 20; ++trial) {
    board_->place = 0;
    board_->joined = 0;
    std::uint64_t place = 0;
    fermata_team* other = create(3, &place);
    ASSERT_NE(other, nullptr) << fermata_error_detail();
    ForkedMembers forked(3, [&](int rank) {
      fermata_team* team = nullptr;
      fermata_member* member = nullptr;
      fermata_member* of_other = nullptr;
      if (fermata_team_join(other, rank, &of_other) != FERMATA_OK) return 80;
      if (const int code = meet(rank, 3, &team, &member); code != 0) return code;
      ++board_->joined;
      int status = FERMATA_OK;
      while (status == FERMATA_OK) status = fermata_barrier(member);
      if (std::strstr(fermata_error_detail(), "rank 1") == nullptr) return 99;
      fermata_member_leave(of_other);
      return code_of(status);
    });
    ASSERT_TRUE(comes(board_->joined, 3));
    usleep(static_cast<useconds_t>(trial * 37));
    ASSERT_EQ(kill(forked.pid(1), SIGKILL), 0);
    EXPECT_EQ(forked.wait_for(1), 1000 + SIGKILL);
    EXPECT_EQ(forked.wait_for(0), code_of(FERMATA_ERR_MEMBER_LOST));
    EXPECT_EQ(forked.wait_for(2), code_of(FERMATA_ERR_MEMBER_LOST));
    fermata_team_destroy(other);
  }
}

// A member that leaves one team does not count as dead in the next one, however late it joins there.
TEST_F(Within, LeavingOneTeamLeavesTheOthersAlone) {
  std::uint64_t place = 0;
  fermata_team* other = create(2, &place);
  ASSERT_NE(other, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int rank) {
    fermata_team* team = nullptr;
    fermata_member* member = nullptr;
    fermata_member* of_other = nullptr;
    if (fermata_team_join(other, rank, &of_other) != FERMATA_OK) return 80;
    if (const int code = meet(rank, 2, &team, &member); code != 0) return code;
    if (fermata_barrier(member) != FERMATA_OK) return 90;
    fermata_member_leave(of_other);
    if (rank == 0) usleep(300'000);
    const int status = fermata_barrier(member);
    fermata_member_leave(member);
    fermata_team_destroy(team);
    return code_of(status);
  });
  for (int r = 0; r < 2; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
  fermata_team_destroy(other);
}

// The file may not grow. The caller gets an error, and not the signal that a write past the limit raises.
TEST_F(Within, AFileThatMayNotGrowIsAnError) {
  ForkedMembers forked(1, [&](int) {
    const rlimit short_files{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &short_files) != 0) return 90;
    std::uint64_t place = 7;
    fermata_team* team = create(2, &place);
    return team == nullptr && status_ == FERMATA_ERR_MEMORY && place == 7 ? 0 : 91;
  });
  EXPECT_EQ(forked.wait_for(0), 0);
}

// This process has no address space for another team. Other processes may still use its place.
TEST_F(Within, WithoutAddressesItIsAnError) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers need all addresses";
#endif
  ForkedMembers forked(1, [&](int) {
    std::uint64_t place = 0;
    fermata_team_destroy(create(2, &place));
    const blkcnt_t before = memory();
    const rlimit few{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_AS, &few) != 0) return 90;
    if (create(2, &place) != nullptr || status_ != FERMATA_ERR_MEMORY) return 91;
    return memory() == before ? 0 : 92;
  });
  EXPECT_EQ(forked.wait_for(0), 0);
}

}  // namespace
}  // namespace fermata::test
