// fermata_ranked_*: a barrier by rank and an allreduce with a user's operator, without a planner.
#include <fermata/fermata.h>
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "algo/algorithm.hpp"
#include "exec/program.hpp"
#include "os/os.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

// The tests use none of the machine's saved plans, and leave none.
class Ranked : public ::testing::Test {
 protected:
  test::OwnCache cache_;
};

template <class F>
void in_threads(std::uint32_t members, F&& work) {
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < members; ++rank) threads.emplace_back([&work, rank] { work(rank); });
  for (std::thread& thread : threads) thread.join();
}

// Checks that nobody leaves before all have entered, and that plain data written before is seen after.
void expect_a_barrier(fermata_ranked* barrier, std::uint32_t members, int episodes) {
  std::vector<int> written(members * 64, 0);
  std::atomic<int> wrong{0};
  in_threads(members, [&](std::uint32_t rank) {
    for (int e = 1; e <= episodes; ++e) {
      written[rank * 64] = e;
      if (fermata_ranked_meet(barrier, rank) != FERMATA_OK) ++wrong;
      for (std::uint32_t other = 0; other < members; ++other) wrong += written[other * 64] != e;
      if (fermata_ranked_meet(barrier, rank) != FERMATA_OK) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Ranked, IsABarrier) {
  for (const std::uint32_t members : {1u, 2u, 3u, 4u, 7u, 16u, 33u}) {
    SCOPED_TRACE(members);
    fermata_ranked* barrier = nullptr;
    ASSERT_EQ(fermata_ranked_create(members, &barrier), FERMATA_OK);
    expect_a_barrier(barrier, members, members > 4 ? 200 : 3000 / FERMATA_TEST_SCALE);
    fermata_ranked_destroy(barrier);
  }
}

TEST_F(Ranked, TakesOtherThreadsForARankLater) {
  fermata_ranked* barrier = nullptr;
  ASSERT_EQ(fermata_ranked_create(3, &barrier), FERMATA_OK);
  for (int turn = 0; turn < 20; ++turn) expect_a_barrier(barrier, 3, 20);
  fermata_ranked_destroy(barrier);
}

struct Matrix {
  double at[2][2];
};

// Does not commute. Products of small integers are exact, so any other order gives another result.
void multiply(void* acc, const void* other, void* context) {
  Matrix left;
  Matrix right;
  std::memcpy(&left, acc, sizeof left);
  std::memcpy(&right, other, sizeof right);
  Matrix out{};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) out.at[i][j] += left.at[i][k] * right.at[k][j];
  std::memcpy(acc, &out, sizeof out);
  static_cast<std::atomic<int>*>(context)->fetch_add(1);
}

TEST_F(Ranked, FoldsInRankOrder) {
  for (const std::uint32_t members : {1u, 2u, 3u, 5u, 8u, 9u, 20u}) {
    SCOPED_TRACE(members);
    fermata_ranked* barrier = nullptr;
    ASSERT_EQ(fermata_ranked_create(members, &barrier), FERMATA_OK);
    std::atomic<int> folds{0};
    std::atomic<int> wrong{0};
    const auto mine = [](std::uint32_t rank, int e) {
      return rank % 2 == 0 ? Matrix{{{1, static_cast<double>(e % 3)}, {0, 1}}} : Matrix{{{1, 0}, {1, 1}}};
    };
    in_threads(members, [&](std::uint32_t rank) {
      for (int e = 0; e < 100; ++e) {
        std::atomic<int> ignored{0};
        Matrix expected = mine(0, e);
        for (std::uint32_t r = 1; r < members; ++r) {
          const Matrix next = mine(r, e);
          multiply(&expected, &next, &ignored);
        }
        Matrix data = mine(rank, e);
        if (fermata_ranked_allreduce(barrier, rank, &data, sizeof data, multiply, &folds) != FERMATA_OK)
          ++wrong;
        wrong += std::memcmp(&data, &expected, sizeof data) != 0;
        if (e % 10 == 0 && fermata_ranked_meet(barrier, rank) != FERMATA_OK) ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(folds > 0, members > 1);
    fermata_ranked_destroy(barrier);
  }
}

struct Bytes {
  unsigned char at[56];
};

void add_bytes(void* acc, const void* other, void* context) {
  const std::size_t n = *static_cast<std::size_t*>(context);
  for (std::size_t i = 0; i < n; ++i)
    static_cast<unsigned char*>(acc)[i] += static_cast<const unsigned char*>(other)[i];
}

TEST_F(Ranked, CarriesEverySize) {
  constexpr std::uint32_t kMembers = 3;
  fermata_ranked* barrier = nullptr;
  ASSERT_EQ(fermata_ranked_create(kMembers, &barrier), FERMATA_OK);
  std::atomic<int> wrong{0};
  in_threads(kMembers, [&](std::uint32_t rank) {
    for (std::size_t n = 1; n <= 56; ++n) {
      Bytes data;
      std::memset(data.at, 0x55, sizeof data.at);
      for (std::size_t i = 0; i < n; ++i) data.at[i] = static_cast<unsigned char>(i + rank);
      if (fermata_ranked_allreduce(barrier, rank, data.at, n, add_bytes, &n) != FERMATA_OK) ++wrong;
      for (std::size_t i = 0; i < sizeof data.at; ++i)
        wrong += data.at[i] != (i < n ? static_cast<unsigned char>(3 * i + 3) : 0x55);
    }
  });
  EXPECT_EQ(wrong, 0);
  fermata_ranked_destroy(barrier);
}

TEST_F(Ranked, RefusesWhatIsOutOfRange) {
  fermata_ranked* barrier = nullptr;
  EXPECT_EQ(fermata_ranked_create(0, &barrier), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_ranked_create(4097, &barrier), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_ranked_create(1, nullptr), FERMATA_ERR_ARGUMENT);
  ASSERT_EQ(fermata_ranked_create(1, &barrier), FERMATA_OK);
  EXPECT_EQ(fermata_ranked_meet(barrier, 1), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_ranked_meet(nullptr, 0), FERMATA_ERR_ARGUMENT);
  std::size_t n = 57;
  Bytes data{};
  EXPECT_EQ(fermata_ranked_allreduce(barrier, 0, data.at, 57, add_bytes, &n), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_ranked_allreduce(barrier, 0, data.at, 0, add_bytes, &n), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_ranked_allreduce(barrier, 0, data.at, 8, nullptr, &n), FERMATA_ERR_ARGUMENT);
  fermata_ranked_destroy(barrier);
  fermata_ranked_destroy(nullptr);
}

// ---- Plans saved by `fermata plan`

Plan sense_reversing(std::int32_t members) {
  const auto here = discover_topology();
  Plan plan;
  plan.key.fingerprint = here ? fingerprint(*here) : "";
  plan.key.members = members;
  plan.schedule = find_algorithm("sense_reversing")->build({.members = members});
  return plan;
}

TEST_F(Ranked, PlansOfUnpinnedThreadsAreKeptForTheRunTimeToo) {
  const std::string path = runtime_barrier_path(3);
  ASSERT_FALSE(path.empty());
  Plan plan = sense_reversing(3);
  plan.key.cpus = {0, 1, 0};
  ASSERT_TRUE(save_plan(plan));
  EXPECT_FALSE(std::filesystem::exists(path));
  plan.key.cpus = {};
  ASSERT_TRUE(save_plan(plan));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Ranked, UsesAPlanAndSurvivesABadOne) {
  const std::string path = runtime_barrier_path(3);
  ASSERT_TRUE(save_plan(sense_reversing(3)));
  const auto sound = read_file(path);
  ASSERT_TRUE(sound);
  const auto expect_works = [](const std::string& as) {
    fermata_ranked* barrier = nullptr;
    ASSERT_EQ(fermata_ranked_create(3, &barrier), FERMATA_OK);
    char text[128] = "";
    EXPECT_EQ(fermata_ranked_describe(barrier, text, sizeof text), FERMATA_OK);
    EXPECT_NE(std::string(text).find(as), std::string::npos) << text;
    EXPECT_EQ(std::string(text).find("sense_reversing") == 0, as == "; saved;") << text;
    expect_a_barrier(barrier, 3, 50);
    EXPECT_EQ(fermata_ranked_calls(barrier, 2), 100u);
    EXPECT_EQ(fermata_ranked_calls(barrier, 3), 0u);
    fermata_ranked_destroy(barrier);
  };
  // a plan is saved for the machine's CPUs, which may be more than the process's
  const bool as_planned = (3 > os::process_cpus(3)) == (3 > os::online_cpus());
  expect_works(as_planned ? "; saved;" : "; built-in;");
  for (std::size_t i = 0; i < sound->size(); i += 7) {
    std::string bad = *sound;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    ASSERT_TRUE(write_file_atomically(path, bad));
    expect_works("; built-in;");
  }
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, sizeof(ProgramHeader) - 1, sound->size() - 1}) {
    ASSERT_TRUE(write_file_atomically(path, sound->substr(0, length)));
    expect_works("; built-in;");
  }
}

// Returns the description of a barrier of three.
std::string described() {
  fermata_ranked* barrier = nullptr;
  EXPECT_EQ(fermata_ranked_create(3, &barrier), FERMATA_OK);
  char text[128] = "";
  EXPECT_EQ(fermata_ranked_describe(barrier, text, sizeof text), FERMATA_OK);
  expect_a_barrier(barrier, 3, 50);
  fermata_ranked_destroy(barrier);
  return text;
}

bool is_planned_for_three() { return (3 > os::process_cpus(3)) == (3 > os::online_cpus()); }

// A sound file with a matching hash, as an attacker can write it.
TEST_F(Ranked, RunsNoPlanThatItCannotProve) {
  const std::string path = runtime_barrier_path(3);
  ASSERT_TRUE(save_plan(sense_reversing(3)));
  const auto saved = read_file(path);
  ASSERT_TRUE(saved);
  if (!is_planned_for_three())
    GTEST_SKIP() << "plans aren't used where members outnumber the CPUs of the process alone";
  ASSERT_NE(described().find("; saved;"), std::string::npos);
  const auto header = [](std::string& file) { return reinterpret_cast<ProgramHeader*>(file.data()); };
  const auto steps = [&](std::string& file) {
    return reinterpret_cast<Step*>(file.data() + header(file)->steps_offset);
  };
  const std::uint32_t count = header(const_cast<std::string&>(*saved))->steps;
  for (std::uint32_t i = 0; i <= count; ++i) {
    std::string bad = *saved;
    // One step, or all steps, do nothing.
    for (std::uint32_t k = 0; k < count; ++k) {
      Step& step = steps(bad)[k];
      if (i == count) step = Step{};
      else if (k == i && step.code != Code::kEnd && step.code != Code::kJump)
        step.code = Code::kFlip, step.offset = 0, step.rings = 0;
    }
    header(bad)->hash = program_hash(*header(bad));
    if (bad == *saved) continue;
    ASSERT_TRUE(program_is_sound(bad.data(), bad.size()));
    ASSERT_TRUE(write_file_atomically(path, bad));
    EXPECT_NE(described().find("; built-in;"), std::string::npos) << "step " << i;
  }
}

// A file that another user may have written is not used.
TEST_F(Ranked, ReadsOnlyFilesOfItsOwnUser) {
  namespace fs = std::filesystem;
  const fs::path path = runtime_barrier_path(3);
  ASSERT_TRUE(save_plan(sense_reversing(3)));
  if (!is_planned_for_three())
    GTEST_SKIP() << "plans aren't used where members outnumber the CPUs of the process alone";
  const auto is_used = [] { return described().find("; saved;") != std::string::npos; };
  EXPECT_TRUE(is_used());
  for (const fs::path& what : {path, path.parent_path()})
    for (const fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(what, more, fs::perm_options::add);
      EXPECT_FALSE(is_used()) << what;
      fs::permissions(what, more, fs::perm_options::remove);
      EXPECT_TRUE(is_used()) << what;
    }
  const fs::path elsewhere = path.parent_path() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_FALSE(is_used());
  fs::remove(path);
  fs::rename(elsewhere, path);
  EXPECT_TRUE(is_used());
  if (geteuid() != 0) return;  // only root can change a file's owner
  for (const fs::path& what : {path, path.parent_path()}) {
    ASSERT_EQ(chown(what.c_str(), 1, static_cast<gid_t>(-1)), 0);
    EXPECT_FALSE(is_used()) << what;
    ASSERT_EQ(chown(what.c_str(), 0, static_cast<gid_t>(-1)), 0);
    EXPECT_TRUE(is_used()) << what;
  }
}

// Such folders exist where the umask lets the group write.
TEST_F(Ranked, SavingAPlanKeepsTheFolderToItsOwner) {
  namespace fs = std::filesystem;
  const fs::path path = runtime_barrier_path(3);
  fs::create_directories(path.parent_path());
  fs::permissions(path.parent_path(), fs::perms::group_write, fs::perm_options::add);
  ASSERT_TRUE(save_plan(sense_reversing(3)));
  EXPECT_EQ(fs::status(path.parent_path()).permissions() & (fs::perms::group_write | fs::perms::others_write),
            fs::perms::none);
}

TEST_F(Ranked, OpensWithinAMillisecond) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    fermata_ranked* barrier = nullptr;
    ASSERT_EQ(fermata_ranked_create(2, &barrier), FERMATA_OK);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    fermata_ranked_destroy(barrier);
  }
  EXPECT_LT(best, 1e-3 * FERMATA_TEST_SCALE);
  RecordProperty("microseconds", static_cast<int>(best * 1e6));
}

// Registration later, with other threads running, would take the kernel 11 ms: the first region of each
// OpenMP program would wait for it.
TEST(RankedFence, IsRegisteredWhenTheLibraryIsLoaded) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the run time of ThreadSanitizer starts a thread earlier";
#else
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) <= 0) GTEST_SKIP() << "no membarrier";
  EXPECT_EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), 0) << std::strerror(errno);
#endif
}

TEST_F(Ranked, SeesTheCpusOfAllThreads) { EXPECT_GE(os::process_cpus(1 << 20), os::affinity_count()); }

}  // namespace
}  // namespace fermata
