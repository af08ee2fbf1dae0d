// Localities and the current CPU, as the system under the test tells them.
#include "anonymous/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

#include "os/os.hpp"

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
  const std::uint32_t all = usable_cpus();
  std::int32_t first = 0;
  os::affinity_list(&first, 1);
  ASSERT_EQ(os::pin_thread(first), Status::kOk);
  look_again(os::now_ns() + 3'600'000'000'000);
  EXPECT_LE(usable_cpus(), all);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  look_again(os::now_ns() + 7'200'000'000'000);
  EXPECT_EQ(usable_cpus(), all);
}

}  // namespace
}  // namespace fermata::anonymous
