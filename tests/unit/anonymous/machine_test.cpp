// Localities and the current CPU, as the operating system reports them.
#include "anonymous/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "os/os.hpp"
#include "workers.hpp"

namespace fermata::anonymous {
namespace {

TEST(Machine, EveryCpuHasALocality) {
  std::vector<std::uint8_t> of(4096, 77);
  const std::int32_t count = os::locality_domains(of.data(), 4096);
  ASSERT_GE(count, 1);
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (const std::uint8_t domain : of) {
    ASSERT_LT(domain, count);
    seen[domain] = true;
  }
  for (const bool used : seen) EXPECT_TRUE(used);
  EXPECT_LT(current_domain(), domains());
}

// Writes the files of another machine and reads its localities.
class OtherMachine : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_.path() / "sys/devices/system/cpu" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  void share_cache(int cpu, const std::string& with) {
    write("cpu" + std::to_string(cpu) + "/cache/index3/shared_cpu_list", with + "\n");
  }
  std::vector<int> localities(std::int32_t cpus) {
    std::vector<std::uint8_t> of(static_cast<std::size_t>(cpus), 77);
    count_ = os::locality_domains(of.data(), cpus, folder_.path().c_str());
    return {of.begin(), of.end()};
  }

  const test::OwnFolder folder_;
  std::int32_t count_ = 0;
};

// A thread bound to one CPU still reads the localities of all CPUs that are online.
TEST_F(OtherMachine, CpusThatShareACacheAreALocality) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::int32_t first = 0;
  os::affinity_list(&first, 1);
  ASSERT_EQ(os::pin_thread(first), Status::kOk);
  write("online", "0-5\n");
  share_cache(0, "0,3-4");
  share_cache(1, "1-2");
  share_cache(5, "5");
  // absent CPUs belong to the first locality
  EXPECT_EQ(localities(8), (std::vector<int>{0, 1, 1, 0, 0, 2, 0, 0}));
  EXPECT_EQ(count_, 3);
  write("online", "0-6\n");  // nothing is known of one CPU: no locality can be trusted
  EXPECT_EQ(localities(8), std::vector<int>(8, 0));
  EXPECT_EQ(count_, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST_F(OtherMachine, LocalitiesAreThoseOfTheCpusThatThisThreadMayUse) {
  std::vector<std::int32_t> cpus(1024);
  const std::int32_t count = os::affinity_list(cpus.data(), 1024);
  if (count < 2) GTEST_SKIP() << "one CPU";
  cpus.resize(static_cast<std::size_t>(std::min(count, 1024)));
  for (const std::int32_t cpu : cpus) share_cache(cpu, std::to_string(cpu));
  const std::vector<int> of = localities(4096);
  EXPECT_EQ(count_, count <= 64 ? count : 1);  // with more, all are one: a barrier has no more leaves
  EXPECT_EQ(of[static_cast<std::size_t>(cpus[1])], count <= 64 ? 1 : 0);
}

TEST(Machine, ALeafForEachLocalityThatHasAShare) {
  // few threads: one word
  for (const std::uint32_t domains : {1U, 2U, 64U}) EXPECT_EQ(leaves_for(8, domains), 1U);
  EXPECT_EQ(leaves_for(64, 1), 1U);
  EXPECT_EQ(leaves_for(64, 2), 2U);
  EXPECT_EQ(leaves_for(64, 12), 12U);
  EXPECT_EQ(leaves_for(9, 12), 2U);  // a leaf has at least four threads
  EXPECT_EQ(leaves_for(1U << 30, 1000), kMaxLeaves);
}

TEST(Machine, TheCurrentCpuIsTheOneThatTheThreadIsPinnedTo) {
  std::vector<std::int32_t> cpus(1024);
  const std::int32_t count = os::affinity_list(cpus.data(), 1024);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (std::int32_t i = 0; i < count && i < 4; ++i) {
    ASSERT_EQ(os::pin_thread(cpus[static_cast<std::size_t>(i)]), Status::kOk);
    EXPECT_EQ(os::current_cpu(), cpus[static_cast<std::size_t>(i)]);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Machine, APinnedThreadDoesNotSpeakForTheOthers) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Cpus all = usable_cpus();
  std::int32_t first = 0;
  os::affinity_list(&first, 1);
  ASSERT_EQ(os::pin_thread(first), Status::kOk);
  look_again(os::now_ns() + 3'600'000'000'000);
  EXPECT_LE(usable_cpus().all, all.all);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  look_again(os::now_ns() + 7'200'000'000'000);
  EXPECT_EQ(usable_cpus(), all);
}

// Sets the CPUs of all threads of this process. A sanitizer or an emulator has threads of its own, which may
// end meanwhile.
void set_affinity_of_all(const cpu_set_t& cpus) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int set = sched_setaffinity(std::stoi(task.path().filename()), sizeof cpus, &cpus);
    EXPECT_TRUE(set == 0 || errno == ESRCH) << errno;
  }
}

// Returns the spin count that a thread has learned in a meeting with a long wait.
std::uint32_t looks_learned(Barrier& barrier) {
  std::uint32_t looks = 0;
  std::atomic<bool> comes{false};
  std::thread waiter([&] {
    comes = true;
    meet(barrier);
    EXPECT_EQ(t_spins.barrier, &barrier);
    looks = t_spins.looks;
  });
  while (!comes) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  meet(barrier);
  waiter.join();
  return looks;
}

// When a CPU goes offline, a process's threads lose it. The waiters of an existing barrier adapt.
TEST(Machine, FewerCpusAreNoticedAndMoreAgain) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Cpus all = usable_cpus();
  if (all.all < 2) GTEST_SKIP() << "one CPU";
  const Owned barrier = make(2);
  EXPECT_GT(looks_learned(*barrier), 0U);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(os::current_cpu()), &one);
  set_affinity_of_all(one);
  look_again(os::now_ns() + 3 * kHour);
  EXPECT_EQ(usable_cpus(), (Cpus{1, 1}));
  // more members than CPUs: a spinner keeps another member from running
  EXPECT_EQ(looks_learned(*barrier), 0U);
  set_affinity_of_all(before);
  look_again(os::now_ns() + 4 * kHour);
  EXPECT_EQ(usable_cpus(), all);
  EXPECT_GT(looks_learned(*barrier), 0U);
}

}  // namespace
}  // namespace fermata::anonymous
