// fermata_forkjoin_*: rank 0 gives work to threads that stay, and gets their notes.
#include <fermata/fermata.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t kAwakeUs = 6000;

struct Work {
  std::uint64_t number;  // 0: the thread ends
  std::uint64_t more[5];
};
static_assert(sizeof(Work) == FERMATA_FORKJOIN_BYTES);

// The threads of ranks 1 and up, each of which calls work(rank, given) -> notes for each fork.
template <class F>
class Others {
 public:
  Others(fermata_forkjoin* team, std::uint32_t members, F work) : team_(team), work_(work) {
    for (std::uint32_t rank = 1; rank < members; ++rank) threads_.emplace_back([this, rank] { stay(rank); });
  }
  ~Others() {
    for (std::thread& thread : threads_) thread.join();
  }
  int wrong() const { return wrong_; }

 private:
  void stay(std::uint32_t rank) {
    for (std::uint64_t notes = 0;;) {
      Work given{};
      errno = 77;
      const int status = fermata_forkjoin_await(team_, rank, notes, &given);
      wrong_ += status != FERMATA_OK || errno != 77;
      if (status != FERMATA_OK || given.number == 0) return;
      notes = work_(rank, given);
    }
  }

  fermata_forkjoin* const team_;
  F work_;
  std::atomic<int> wrong_{0};
  std::vector<std::thread> threads_;
};

void end(fermata_forkjoin* team) {
  std::uint64_t notes = 0;
  EXPECT_EQ(fermata_forkjoin_join(team, &notes), FERMATA_OK);
  EXPECT_EQ(fermata_forkjoin_fork(team, nullptr, 0), FERMATA_OK);
}

// Plain data that rank 0 writes before a fork is seen by all, and theirs is seen after the join.
void expect_forks_and_joins(std::uint32_t members, std::uint32_t awake_us, std::uint64_t rounds) {
  fermata_forkjoin* team = nullptr;
  ASSERT_EQ(fermata_forkjoin_create(members, 0, awake_us, &team), FERMATA_OK);
  std::uint64_t alone = 0;
  std::vector<std::uint64_t> theirs(members * 16, 0);
  std::atomic<int> wrong{0};
  {
    Others others(team, members, [&](std::uint32_t rank, const Work& given) {
      wrong += alone != given.number || given.more[0] != 2 * given.number || given.more[4] != 0;
      theirs[rank * 16] = given.number;
      return std::uint64_t{1} << (rank + given.number) % 64;
    });
    std::uint64_t expected = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      std::uint64_t notes = 1;
      wrong += fermata_forkjoin_join(team, &notes) != FERMATA_OK || notes != expected;
      for (std::uint32_t rank = 1; rank < members; ++rank) wrong += theirs[rank * 16] != round - 1;
      alone = round;
      const std::uint64_t work[] = {round, 2 * round};
      wrong += fermata_forkjoin_fork(team, work, sizeof work) != FERMATA_OK;
      expected = 0;
      for (std::uint32_t rank = 1; rank < members; ++rank)
        expected |= std::uint64_t{1} << (rank + round) % 64;
    }
    end(team);
    wrong += others.wrong();
  }
  EXPECT_EQ(wrong, 0);
  fermata_forkjoin_destroy(team);
}

TEST(ForkJoin, HandsOutWorkAndCollectsNotes) {
  for (const std::uint32_t members : {1u, 2u, 3u, 4u, 7u, 16u, 33u}) {
    for (const std::uint32_t awake_us : {0u, kAwakeUs}) {
      SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(awake_us) + " us");
      expect_forks_and_joins(members, awake_us, members > 4 ? 200 : 2500 / FERMATA_TEST_SCALE);
    }
  }
}

TEST(ForkJoin, RefusesCallsOutOfTurn) {
  fermata_forkjoin* team = nullptr;
  EXPECT_EQ(fermata_forkjoin_create(0, 0, 10, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_create(4097, 0, 10, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_create(2, 0, 10, nullptr), FERMATA_ERR_ARGUMENT);
  ASSERT_EQ(fermata_forkjoin_create(2, 0, kAwakeUs, &team), FERMATA_OK);
  {
    const Others others(team, 2, [](std::uint32_t, const Work&) { return std::uint64_t{0}; });
    std::uint64_t notes = 0;
    Work work{7, {}};
    EXPECT_EQ(fermata_forkjoin_fork(team, &work, sizeof work), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_await(team, 0, 0, &work), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_await(team, 2, 0, &work), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_await(team, 1, 0, nullptr), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_join(team, nullptr), FERMATA_ERR_ARGUMENT);
    ASSERT_EQ(fermata_forkjoin_join(team, &notes), FERMATA_OK);
    EXPECT_EQ(fermata_forkjoin_join(team, &notes), FERMATA_ERR_BUSY);
    EXPECT_EQ(fermata_forkjoin_fork(team, &work, FERMATA_FORKJOIN_BYTES + 1), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_fork(team, nullptr, 8), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_forkjoin_fork(team, &work, sizeof work), FERMATA_OK);
    EXPECT_EQ(fermata_forkjoin_fork(team, &work, sizeof work), FERMATA_ERR_ARGUMENT);
    end(team);
  }
  fermata_forkjoin_destroy(team);
  fermata_forkjoin_destroy(nullptr);
}

// Which folds have made a rank's data, in which order.
void note_fold(void* acc, const void* other, void* context) {
  auto& text = *static_cast<std::string*>(acc);
  text = static_cast<const char*>(context) + text + " " + *static_cast<const std::string*>(other) + ")";
}
std::string tree_of(std::uint32_t from, std::uint32_t ranks, std::uint32_t members) {
  if (ranks == 1) return std::to_string(from);
  const std::string left = tree_of(from, ranks / 2, members);
  if (from + ranks / 2 >= members) return left;
  return "(" + left + " " + tree_of(from + ranks / 2, ranks / 2, members) + ")";
}

void fold_texts(fermata_forkjoin* team, std::uint32_t rank, std::uint32_t members, int rounds,
                std::atomic<int>& wrong) {
  const std::string whole = tree_of(0, std::bit_ceil(members), members);
  for (int round = 0; round < rounds; ++round) {
    std::string text = std::to_string(rank);
    char open[] = "(";
    wrong += fermata_forkjoin_fold(team, rank, &text, note_fold, open) != FERMATA_OK;
    if (rank == 0) wrong += text != whole || fermata_forkjoin_fork(team, nullptr, 0) != FERMATA_OK;
    wrong += fermata_forkjoin_calls(team, rank) != static_cast<std::uint64_t>(round) + 1;
  }
}

TEST(ForkJoin, FoldsNeighboursFirst) {
  for (std::uint32_t members = 1; members <= 17; ++members) {
    SCOPED_TRACE(members);
    fermata_forkjoin* team = nullptr;
    ASSERT_EQ(fermata_forkjoin_create_folding(members, 0, &team), FERMATA_OK);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < members; ++rank)
      threads.emplace_back([&, rank] { fold_texts(team, rank, members, members > 4 ? 50 : 500, wrong); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    fermata_forkjoin_destroy(team);
  }
}

TEST(ForkJoin, FoldsAreCallsOfTheirOwn) {
  fermata_forkjoin* team = nullptr;
  EXPECT_EQ(fermata_forkjoin_create_folding(0, 0, &team), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_create_folding(2, 0, nullptr), FERMATA_ERR_ARGUMENT);
  ASSERT_EQ(fermata_forkjoin_create_folding(1, 0, &team), FERMATA_OK);
  std::string text = "0";
  char open[] = "(";
  EXPECT_EQ(fermata_forkjoin_fold(team, 0, nullptr, note_fold, open), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_fold(team, 0, &text, nullptr, open), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_fold(team, 1, &text, note_fold, open), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_fold(nullptr, 0, &text, note_fold, open), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_calls(team, 1), 0u);
  ASSERT_EQ(fermata_forkjoin_fold(team, 0, &text, note_fold, open), FERMATA_OK);
  EXPECT_EQ(fermata_forkjoin_fold(team, 0, &text, note_fold, open), FERMATA_ERR_BUSY);
  const std::uint64_t work = 7;  // a fold has room for no work
  EXPECT_EQ(fermata_forkjoin_fork(team, &work, sizeof work), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_forkjoin_fork(team, nullptr, 0), FERMATA_OK);
  fermata_forkjoin_destroy(team);
}

// All ranks learn of it, and the team is broken.
TEST(ForkJoin, AFoldDoesNotMeetAnAwait) {
  fermata_forkjoin* team = nullptr;
  ASSERT_EQ(fermata_forkjoin_create_folding(2, 0, &team), FERMATA_OK);
  std::thread other([team] {
    Work work{};
    EXPECT_EQ(fermata_forkjoin_await(team, 1, 0, &work), FERMATA_ERR_MISMATCH);
  });
  std::string text = "0";
  char open[] = "(";
  EXPECT_EQ(fermata_forkjoin_fold(team, 0, &text, note_fold, open), FERMATA_ERR_MISMATCH);
  other.join();
  EXPECT_EQ(text, "0");
  fermata_forkjoin_destroy(team);
}

// The child has none of the team's other threads.
TEST(ForkJoin, ChildrenAreToldThatTheyAreChildren) {
  fermata_forkjoin* team = nullptr;
  ASSERT_EQ(fermata_forkjoin_create(2, 0, kAwakeUs, &team), FERMATA_OK);
  {
    const Others others(team, 2, [](std::uint32_t, const Work&) { return std::uint64_t{0}; });
    std::uint64_t notes = 0;
    ASSERT_EQ(fermata_forkjoin_join(team, &notes), FERMATA_OK);
    const pid_t child = fork();
    if (child == 0) {
      const bool told = fermata_forkjoin_fork(team, nullptr, 0) == FERMATA_ERR_FORKED &&
                        fermata_forkjoin_join(team, &notes) == FERMATA_ERR_FORKED;
      _exit(told ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(fermata_forkjoin_fork(team, nullptr, 0), FERMATA_OK);
  }
  fermata_forkjoin_destroy(team);
}

}  // namespace
