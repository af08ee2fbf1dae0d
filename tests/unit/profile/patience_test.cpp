// A probe keeps its time limit where commands take far longer than they should, as on busy CPUs.
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/os.hpp"
#include "profile/probe.hpp"

namespace fermata::probe {
namespace {

constexpr std::int32_t kPoints = 8;

// The number of commands of a probe in which every command takes `sleep_us`.
int commands_of(int sleep_us, double seconds, std::size_t* results) {
  int commands = 0;
  const Setting setting{{os::current_cpu()}, false, seconds};
  *results = sample(setting, kPoints, [&](int, const Command&, Control&) {
               ++commands;
               usleep(static_cast<useconds_t>(sleep_us));
             }).size();
  return commands;
}

TEST(Patience, SlowCommandsGetOneRepeat) {
  std::size_t results = 0;
  // The first command takes more than three times 1 ms: one more follows for each point, and one sample of
  // each.
  EXPECT_LE(commands_of(5000, 0.001, &results), 1 + 2 * kPoints);
  EXPECT_EQ(results, std::size_t{kPoints});
}

TEST(Patience, OthersGetAllTheirRepeats) {
  std::size_t results = 0;
  EXPECT_GE(commands_of(0, 60, &results), 101 * kPoints);
  EXPECT_EQ(results, std::size_t{kPoints});
}

}  // namespace
}  // namespace fermata::probe
