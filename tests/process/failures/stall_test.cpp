// FERMATA_STALL_SECONDS asks for reports in teams of threads and of processes. The configuration has
// precedence.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "forked_members.hpp"

namespace fermata::test {
namespace {

struct Asked {
  const char* by_environment;
  double by_configuration;
  int engine;
  bool reported;
};

class StallSeconds : public ::testing::TestWithParam<Asked> {};
INSTANTIATE_TEST_SUITE_P(Asked, StallSeconds,
                         ::testing::Values(Asked{"0.05", 0, FERMATA_THREADS, true},
                                           Asked{"0.05", 0, FERMATA_PROCESSES, true},
                                           Asked{"60", 0.05, FERMATA_THREADS, true},
                                           Asked{"0.05", 60, FERMATA_THREADS, false},
                                           Asked{"0", 0, FERMATA_THREADS, false}));

// Rank 0 waits until its time-out for rank 1, which has not joined.
int wait_alone(const Asked& asked) {
  setenv("FERMATA_STALL_SECONDS", asked.by_environment, 1);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  config.engine = asked.engine;
  config.stall_seconds = asked.by_configuration;
  fermata_team* team = nullptr;
  fermata_member* m = nullptr;
  if (fermata_team_create(&config, &team) != FERMATA_OK || fermata_team_join(team, 0, &m) != FERMATA_OK)
    return 1;
  fermata_member_set_timeout(m, 0.2);
  return fermata_barrier(m) == FERMATA_ERR_TIMEOUT ? 0 : 2;
}

TEST_P(StallSeconds, Report) {
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], STDERR_FILENO);
    _exit(wait_alone(GetParam()));
  }
  close(out[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(out[0]);
  int how = -1;
  waitpid(pid, &how, 0);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(text.find("rank 0 has waited") != std::string::npos, GetParam().reported) << text;
  EXPECT_EQ(text.find("rank 1 (process 0, thread 0)") != std::string::npos, GetParam().reported) << text;
  if (!GetParam().reported) {
    EXPECT_EQ(text, "");
  }
}

}  // namespace
}  // namespace fermata::test
