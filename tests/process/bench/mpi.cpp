// Tests of the worker processes for MPI libraries: two ranks run every collective correctly, a rank sleeps
// while another contestant runs, and nothing is left behind. No timing is asserted. The tests are skipped
// where the build's configuration did not find the library.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/session.hpp"

namespace fermata::bench {
namespace {

class Mpi : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    launch_.name = GetParam();
    launch_.executable = std::string(FERMATA_BENCH_WORKERS "/fermata-bench-worker-") + GetParam();
    if (access(launch_.executable.c_str(), X_OK) != 0)
      GTEST_SKIP() << GetParam() << " was not found when configuring: no worker " << launch_.executable;
    what_.engine = Engine::kProcesses;
    const std::vector<int> cpus = allowed_cpus();
    if (cpus.size() >= 2) what_.cpus = {cpus[0], cpus[1]};
  }
  // Runs a few episodes and checks each.
  static Remote::Outcome turn(Remote& remote) {
    Order order;
    order.episodes = 20;
    return remote.turn(order, 30);
  }
  Launch launch_;
  Case what_;
};
INSTANTIATE_TEST_SUITE_P(Rivals, Mpi, testing::Values("openmpi", "mpich", "openmpi5", "mpich5"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Mpi, EveryCollectiveIsRight) {
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    what_.collective = static_cast<Collective>(collective);
    what_.bytes = what_.collective == Collective::kBarrier ? 0 : collective % 2 == 0 ? 8 : 40000;
    SCOPED_TRACE(name_of(what_.collective));
    Remote remote;
    ASSERT_EQ(remote.start(launch_, what_), "");
    EXPECT_NE(remote.version.find("MPI"), std::string::npos) << remote.version;
    const Remote::Outcome outcome = turn(remote);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.reply.episodes, 21u);
    EXPECT_GT(outcome.reply.value_ns, 0);
  }
}

TEST_P(Mpi, RootsRotate) {
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    what_.collective = collective;
    what_.bytes = 8;
    what_.rotating = true;
    Remote remote;
    ASSERT_EQ(remote.start(launch_, what_), "");
    EXPECT_EQ(turn(remote).error, "") << name_of(collective);
  }
}

TEST_P(Mpi, AnAllreduceGoesOnWhileRanksCompute) {
  what_.collective = Collective::kAllreduce;
  what_.bytes = 40000;
  Remote remote;
  ASSERT_EQ(remote.start(launch_, what_), "");
  Order order;
  order.quantity = Quantity::kOverlap;
  order.episodes = 20;
  order.chunks = 20;
  order.delay_rounds = 1000;
  order.skew_ns = 10'000;
  const Remote::Outcome outcome = remote.turn(order, 30);
  EXPECT_EQ(outcome.error, "");
  EXPECT_GT(outcome.reply.reference_ns, 0);
}

// Finds the processes that run the worker's executable, with the CPU time that each has used.
std::vector<std::pair<pid_t, long>> processes_of(const std::string& executable) {
  std::vector<std::pair<pid_t, long>> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::error_code unreadable;
    if (pid <= 0 || std::filesystem::read_symlink(entry.path() / "exe", unreadable) != executable) continue;
    std::ifstream file(entry.path() / "schedstat");
    long used_ns = 0;
    if (file >> used_ns) found.emplace_back(pid, used_ns);
  }
  return found;
}

TEST_P(Mpi, RanksSleepBetweenTurnsAndEndWithTheWorker) {
  const std::string executable = std::filesystem::canonical(launch_.executable);
  Remote remote;
  ASSERT_EQ(remote.start(launch_, what_), "");
  ASSERT_EQ(turn(remote).error, "");
  const auto before = processes_of(executable);
  EXPECT_EQ(before.size(), 3u) << "a host and two ranks";
  usleep(200'000);
  const auto after = processes_of(executable);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_LT(after[i].second - before[i].second, 20'000'000)
        << "process " << after[i].first << " did not sleep";
  }
  remote.end();
  for (int wait = 0; wait < 100 && !processes_of(executable).empty(); ++wait) usleep(10'000);
  EXPECT_TRUE(processes_of(executable).empty()) << "ranks outlived their worker";
}

// The ranks of `openmpi_preloaded` have the preload library, and their results are right.
TEST_P(Mpi, RanksTakeAPreloadFromTheWorker) {
  const std::string name = std::string("libfermata-mpi-") + GetParam() + ".so";
  const std::string library = FERMATA_BENCH_WORKERS "/../preload/mpi/" + name;
  if (access(library.c_str(), R_OK) != 0) GTEST_SKIP() << "no preload library " << library;
  launch_.environment = {"LD_PRELOAD=" + library};
  Remote remote;
  ASSERT_EQ(remote.start(launch_, what_), "");
  EXPECT_EQ(turn(remote).error, "");
  int ranks = 0;
  for (const auto& [pid, used] : processes_of(std::filesystem::canonical(launch_.executable))) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    if (pid != remote.pid() && text.find(name) != std::string::npos) ++ranks;
  }
  EXPECT_EQ(ranks, 2);
}

TEST_P(Mpi, ARankThatDiesIsReported) {
  const std::string executable = std::filesystem::canonical(launch_.executable);
  Remote remote;
  ASSERT_EQ(remote.start(launch_, what_), "");
  for (const auto& [pid, used] : processes_of(executable)) {
    if (pid != remote.pid()) {
      kill(pid, SIGKILL);
      break;
    }
  }
  EXPECT_NE(turn(remote).error.find("mpirun"), std::string::npos);
}

}  // namespace
}  // namespace fermata::bench
